package dueq_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// A process that starts while Redis is at maxmemory can consume the queue. Then a sender that was
// running before can send again without a restart.
func TestFullRedis_NewConsumerEmptiesTheQueue(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "noeviction", "--maxmemory", "12mb")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	url := "redis://" + server.Addr()
	sender := open(ctx, t, url)
	sent := 0
	var err error
	for body := make([]byte, 50_000); err == nil && sent < 1000; sent++ {
		_, err = sender.Send(ctx, dueq.Message{Body: body})
	}
	sent-- // the last was refused
	if !errors.Is(err, dueq.ErrQueueFull) {
		t.Fatalf("send number %d: %v, want ErrQueueFull", sent, err)
	}
	// Connections take memory, too: from here on no command that needs memory is accepted.
	if err := server.Client(t).ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	consumer, handled := open(ctx, t, url), 0
	err = consumer.Consume(consuming, func(context.Context, *dueq.Delivery) error {
		if handled++; handled == sent {
			stop()
		}
		return nil
	}, dueq.ConsumeOptions{Concurrency: 1})
	if err != nil || handled != sent {
		t.Fatalf("handled %d of %d, %v", handled, sent, err)
	}
	if err := server.Client(t).ConfigSet(ctx, "maxmemory", "12mb").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := sender.Send(ctx, dueq.Message{Body: make([]byte, 50_000)}); err != nil {
		t.Errorf("send to the empty queue: %v", err)
	}
	stats, err := sender.Stats(ctx)
	if err != nil || stats.Ready != 1 || stats.Counters.Sent != int64(sent+1) {
		t.Errorf("%+v, %v, want 1 ready of %d sent", stats, err, sent+1)
	}
	if report, err := sender.Check(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("check: %v %v", report.Problems, err)
	}
}
