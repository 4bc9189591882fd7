package dueq_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// When a store has stopped, Consume and Receive return its error; they do not wait.
func TestConsume_ReturnsWhenTheStoreHasFailed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	client, err := dueq.Open(t.Context(), "file:"+dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	queue := client.Queue("orders")
	if _, err := queue.Send(t.Context(), dueq.Message{}); err != nil {
		t.Fatal(err)
	}
	handled := make(chan struct{})
	done := make(chan error)
	go func() {
		done <- queue.Consume(t.Context(), func(context.Context, *dueq.Delivery) error {
			close(handled)
			return nil
		}, dueq.ConsumeOptions{})
	}()
	<-handled
	if err := os.RemoveAll(dir); err != nil {
		t.Skipf("SKIPPED: files in use cannot be removed on this system: %v", err)
	}
	if err := <-done; !errors.Is(err, dueq.ErrFailed) {
		t.Errorf("Consume: %v", err)
	}
	if _, err := queue.Receive(t.Context(), dueq.ReceiveOptions{Wait: time.Minute}); !errors.Is(err, dueq.ErrFailed) {
		t.Errorf("Receive: %v", err)
	}
	if _, err := queue.Send(t.Context(), dueq.Message{}); !errors.Is(err, dueq.ErrFailed) || !errors.Is(err, dueq.ErrUnavailable) {
		t.Errorf("Send: %v", err)
	}
}
