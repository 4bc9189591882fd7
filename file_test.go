package dueq_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestOpen_MessagesInADirectoryOutliveTheClient(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"file:%s", "file://%s", "file:%s?sync=100ms", "file:%s?sync=never", "file:%s?sync=always&repair=true"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			url := fmt.Sprintf(form, filepath.Join(t.TempDir(), "data"))
			client, err := dueq.Open(t.Context(), url, nil)
			if err != nil {
				t.Fatal(err)
			}
			id, err := client.Queue("orders").Send(t.Context(), dueq.Message{Key: "order-42", Body: []byte("cancel"), Delay: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dueq.Open(t.Context(), url, nil); !errors.Is(err, dueq.ErrUnavailable) || !strings.Contains(err.Error(), fmt.Sprint("pid ", os.Getpid())) {
				t.Errorf("opened twice: %v", err)
			}
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}
			if client, err = dueq.Open(t.Context(), url, nil); err != nil {
				t.Fatal(err)
			}
			got, err := client.Queue("orders").Get(t.Context(), dueq.Key("order-42"))
			if err != nil || got.ID != id || string(got.Body) != "cancel" {
				t.Errorf("got %+v, %v", got, err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
