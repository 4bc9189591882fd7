package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
)

// Away stops the consumer gracefully, as a deploy does. Messages are sent and become due while there is
// none; then another one starts.
func Away() Workload {
	return Workload{
		Name: "away", Safety: true,
		Excuse: func(peer.Info) string { return "" },
		Run: func(ctx context.Context, b *Bench) (Values, error) {
			a := newAudit(b.Scale.Safety)
			d, err := b.duo(a.done)
			if err != nil {
				return nil, err
			}
			back, err := b.leave(ctx, d)
			if err != nil {
				return nil, errors.Join(err, d.quit(ctx))
			}
			if d.sender != d.consumer {
				defer func() { _ = d.sender.Quit(ctx) }() // it is not needed any more
			}
			if err := sleepUntil(ctx, back); err != nil {
				return nil, err
			}
			err = b.successor(ctx, a, back)
			return b.recovered(a, back), err
		},
	}
}

// leave stops the consumer and sends messages that become due while there is none. To a queue in the
// process of its consumer they are sent before that process ends.
func (b *Bench) leave(ctx context.Context, d duo) (back time.Time, err error) {
	if _, err := d.consumer.Call(ctx, consume(0, 1, 1)); err != nil {
		return back, err
	}
	if !b.InProcess {
		if err := d.consumer.Quit(ctx); err != nil {
			return back, err
		}
	}
	back = time.Now().Add(b.Scale.Away)
	third := b.Scale.Away / 3
	_, err = send(ctx, d.sender, b.fast(peer.Load{
		Count: b.Scale.Safety, DueMs: time.Now().Add(third).UnixMilli(), SpreadMs: third.Milliseconds(),
	}))
	if b.InProcess {
		err = errors.Join(err, d.consumer.Quit(ctx))
	}
	return back, err
}
