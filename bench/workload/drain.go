package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Drain hands out messages that were delayed and have all become due, to a handler that
// does nothing. The consumer starts when they are due, so the rate is that of catching up. For a queue
// that loses messages without a consumer it starts before, and the rate counts from the due time.
func Drain() Workload {
	return Workload{
		Name:   "drain",
		Excuse: func(peer.Info) string { return "" },
		Run: func(ctx context.Context, b *Bench) (Values, error) {
			d, err := b.duo(nil)
			if err != nil {
				return nil, err
			}
			v, err := b.measureDrain(ctx, d)
			return v, errors.Join(err, d.quit(ctx))
		},
	}
}

func (b *Bench) measureDrain(ctx context.Context, d duo) (Values, error) {
	consume := driver.Request{Op: driver.OpConsume, Consume: driver.Consume{
		Concurrency: concurrency, Expect: b.Scale.Drain,
	}}
	if b.Listener {
		if _, err := d.consumer.Call(ctx, consume); err != nil {
			return nil, err
		}
	}
	start := time.Now().Add(b.Scale.Pile)
	if _, err := send(ctx, d.sender, b.fast(peer.Load{Count: b.Scale.Drain, DueMs: start.UnixMilli()})); err != nil {
		return nil, err
	}
	if time.Now().After(start) {
		return nil, errors.New("sending took so long that the last messages were due before they were sent")
	}
	before, err := b.cpu(ctx, d.consumer)
	if err != nil {
		return nil, err
	}
	if !b.Listener {
		// Half a second more, for a broker that moves due messages on a timer of its own.
		if err := sleepUntil(ctx, start.Add(500*time.Millisecond)); err != nil {
			return nil, err
		}
		start = time.Now()
		if _, err := d.consumer.Call(ctx, consume); err != nil {
			return nil, err
		}
	}
	end, err := d.consumer.Reached(ctx)
	if err != nil {
		return nil, err
	}
	return b.drained(ctx, d, before, end.Sub(start))
}

// drained stops the consumer before it reads the CPU time, because acks may follow after the last
// message was handed out.
func (b *Bench) drained(ctx context.Context, d duo, before cpu, took time.Duration) (Values, error) {
	if _, err := d.consumer.Call(ctx, driver.Request{Op: driver.OpStop}); err != nil {
		return nil, err
	}
	after, err := b.cpu(ctx, d.consumer)
	v := Values{"per_s": float64(b.Scale.Drain) / took.Seconds()}
	v.perMessage(before, after, b.Scale.Drain)
	return v, err
}
