package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Two lets two consumers, in two processes, take messages that are due all at once.
func Two() Workload {
	return Workload{
		Name: "two", Safety: true,
		Excuse: func(i peer.Info) string {
			if i.InProcess {
				return "one process only"
			}
			return ""
		},
		Run: func(ctx context.Context, b *Bench) (Values, error) {
			a := newAudit(b.Scale.Safety)
			d, err := b.duo(a.done)
			if err != nil {
				return nil, err
			}
			second, err := b.Driver(a.done)
			if err != nil {
				return nil, errors.Join(err, d.quit(ctx))
			}
			err = b.together(ctx, d, second, a)
			err = errors.Join(err, second.Quit(ctx), d.quit(ctx))
			return b.verdict(a), err
		},
	}
}

func (b *Bench) together(ctx context.Context, d duo, second *driver.Process, a *audit) error {
	for i, p := range []*driver.Process{d.consumer, second} {
		if _, err := p.Call(ctx, consume(i, 2, 1)); err != nil {
			return err
		}
	}
	due := time.Now().Add(b.Scale.Lead)
	if _, err := send(ctx, d.sender, b.fast(peer.Load{Count: b.Scale.Safety, DueMs: due.UnixMilli()})); err != nil {
		return err
	}
	return a.wait(ctx, d.consumer, due, b.patience())
}
