package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/internal/measure"
)

// Lateness sends messages that fall due one by one, about 500 a second, out of order,
// and measures from the due time to the start of the handler.
func Lateness() Workload {
	return Workload{
		Name:   "lateness",
		Excuse: func(peer.Info) string { return "" },
		Run: func(ctx context.Context, b *Bench) (Values, error) {
			a := newAudit(b.Scale.Late)
			d, err := b.duo(a.done)
			if err != nil {
				return nil, err
			}
			err = b.trickle(ctx, d, a)
			if err = errors.Join(err, d.quit(ctx)); err != nil {
				return nil, err
			}
			return lateness(a), nil
		},
	}
}

// trickle sends while the consumer runs, and waits for all messages to arrive.
func (b *Bench) trickle(ctx context.Context, d duo, a *audit) error {
	if _, err := d.consumer.Call(ctx, consume(0, 1, 0)); err != nil {
		return err
	}
	first := time.Now().Add(b.Scale.Lead)
	_, err := send(ctx, d.sender, b.fast(peer.Load{
		Count: b.Scale.Late, DueMs: first.UnixMilli(), SpreadMs: b.Scale.Spread.Milliseconds(),
	}))
	if err != nil {
		return err
	}
	if time.Now().After(first) {
		return errors.New("sending took so long that messages were late before they were sent")
	}
	// The slowest by design look every 5 s, or hold back a message for the whole spread.
	return a.wait(ctx, d.consumer, first.Add(b.Scale.Spread), 10*time.Second)
}

func lateness(a *audit) Values {
	v := a.values()
	late := a.lateness()
	if len(late) == 0 {
		return v
	}
	s := measure.SpreadOf(late)
	v["min_ms"], v["p50_ms"], v["p99_ms"], v["max_ms"] = s.Min, s.P50, s.P99, s.Max
	return v
}
