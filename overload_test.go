package dueq_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// compute keeps a processor busy for some 15 ms.
func compute() (sum uint64) {
	for i := range uint64(20_000_000) {
		sum = sum*31 + i
	}
	return sum
}

// TestConsume_OverloadedProcessor runs more computing handlers than cores, so that the goroutines
// which extend their leases do not get a processor in time. The consumer must not put back its own
// leases: its messages would be handled again and again.
//
// It is not parallel: other tests of this process would not get a processor either.
func TestConsume_OverloadedProcessor(t *testing.T) { //nolint:paralleltest // see above
	if testing.Short() {
		t.Skip("SKIPPED with -short: it takes seconds of processor time")
	}
	const messages = 200
	client, err := dueq.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	q := client.Queue("work")
	if _, err = q.SendBatch(t.Context(), make([]dueq.Message, messages)); err != nil {
		t.Fatal(err)
	}
	var seen tally
	var sum atomic.Uint64
	done := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		done <- q.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			sum.Add(compute())
			return nil
		}, dueq.ConsumeOptions{Concurrency: messages, Lease: time.Second})
	}()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for acked := uint64(0); acked < messages; <-poll.C {
		s, err := q.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		acked = uint64(s.Counters.Acked)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if seen.total() > 2*messages {
		t.Errorf("%d messages were handled %d times: want most of them once", messages, seen.total())
	}
}
