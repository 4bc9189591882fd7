package dueq_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
)

func TestRecord_HolderIsTheProcessOrTheConsumer(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("n", 32)
	for name, want := range map[string]string{"": "-" + strconv.Itoa(os.Getpid()) + "-", "web-1": "web-1-", longest: longest + "-"} {
		client := opened(t)(dueq.NewMemory(&dueq.Options{Name: name}))
		t.Cleanup(func() { _ = client.Close() })
		q := client.Queue("work")
		received := receivedHolder(t, q)
		if !strings.Contains(received, want) {
			t.Errorf("name %q: received by %q, want %q in it", name, received, want)
		}
		if got := consumedHolder(t, q, dueq.ConsumeOptions{}); !strings.Contains(got, want) || got == received {
			t.Errorf("name %q: consumed by %q, want %q in it and not %q", name, got, want, received)
		}
		if got := consumedHolder(t, q, dueq.ConsumeOptions{Name: "mailer"}); !strings.HasPrefix(got, "mailer-") {
			t.Errorf("consumed by %q, want mailer", got)
		}
	}
}

// receivedHolder returns the holder of a message that Receive has returned.
func receivedHolder(t *testing.T, q *dueq.Queue) string {
	t.Helper()
	id, err := q.Send(t.Context(), dueq.Message{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := q.Receive(t.Context(), dueq.ReceiveOptions{})
	if err != nil || len(got) != 1 {
		t.Fatalf("%d deliveries, %v", len(got), err)
	}
	record, err := q.Get(t.Context(), dueq.ID(id))
	if err != nil {
		t.Fatal(err)
	}
	if err := got[0].Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	return record.Holder
}

// consumedHolder returns the holder of a message whose handler runs.
func consumedHolder(t *testing.T, q *dueq.Queue, o dueq.ConsumeOptions) (holder string) {
	t.Helper()
	if _, err := q.Send(t.Context(), dueq.Message{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	err := q.Consume(ctx, func(ctx context.Context, d *dueq.Delivery) error {
		defer stop()
		record, err := q.Get(ctx, dueq.ID(d.ID))
		holder = record.Holder
		return err
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return holder
}
