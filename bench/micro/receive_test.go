package micro

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// BenchmarkDrainBatch consumes messages that are all due, alternately with the defaults of Consume and
// with ConsumeBatch of 500 messages. `dueq bench` has the rate of
// Consume with other settings.
func BenchmarkDrainBatch(b *testing.B) {
	const messages = 50_000
	r := newRig(b)
	var singly, batches cost
	for b.Loop() {
		r.fill(messages)
		singly.add(r, messages, func() { r.consume(messages) })
		r.fill(messages)
		batches.add(r, messages, func() { r.consumeBatches(messages) })
	}
	singly.report(b, "singly-")
	batches.report(b, "batches-")
	b.ReportMetric(float64(singly.took)/float64(batches.took), "rate-ratio")
	b.ReportMetric(float64(batches.client)/float64(singly.client), "client-cpu-ratio")
}

func (r *rig) consume(n int) {
	r.Helper()
	ctx, note := r.until(n)
	err := r.queue.Consume(ctx, func(context.Context, *dueq.Delivery) error {
		note(1)
		return nil
	}, dueq.ConsumeOptions{})
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) consumeBatches(n int) {
	r.Helper()
	ctx, note := r.until(n)
	err := r.queue.ConsumeBatch(ctx, func(_ context.Context, batch []*dueq.Delivery) error {
		note(len(batch))
		return nil
	}, dueq.BatchOptions{Max: 500})
	if err != nil {
		r.Fatal(err)
	}
}

// until returns a context that ends when n messages have been noted.
func (r *rig) until(n int) (ctx context.Context, note func(some int)) {
	ctx, stop := context.WithCancel(context.Background())
	r.Cleanup(stop)
	var handled atomic.Int64
	return ctx, func(some int) {
		if handled.Add(int64(some)) == int64(n) {
			stop()
		}
	}
}

// BenchmarkReceive receives 100 messages at a time and acks them, all at once.
func BenchmarkReceive(b *testing.B) {
	r := newRig(b)
	r.fill(b.N)
	var received cost
	b.ResetTimer()
	received.add(r, b.N, func() {
		for n := 0; n < b.N; {
			deliveries, err := r.queue.Receive(context.Background(), dueq.ReceiveOptions{Max: 100, Wait: time.Second})
			if err != nil {
				b.Fatal(err)
			}
			if err := dueq.AckAll(context.Background(), deliveries); err != nil {
				b.Error(err)
			}
			n += len(deliveries)
		}
	})
	received.report(b, "")
}
