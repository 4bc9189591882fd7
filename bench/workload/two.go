package workload

import (
	"context"
	"errors"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Two runs two consumers, in two processes, on messages that are all due at one instant.
func Two() Workload {
	return Workload{
		Name: "two", Safety: true,
		Excuse: oneProcess,
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

func oneProcess(i peer.Info) string {
	if i.InProcess {
		return "one process only"
	}
	return ""
}

func (b *Bench) together(ctx context.Context, d duo, second *driver.Process, a *audit) error {
	if err := b.both(ctx, d, second, 1); err != nil {
		return err
	}
	due, err := b.sendAllAtOnce(ctx, d.sender)
	if err != nil {
		return err
	}
	return a.wait(ctx, d.consumer, due, b.recoveryTimeout())
}
