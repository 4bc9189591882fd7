package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Survivor kills one of two consumers when half of the messages are done, and does not replace it: the
// other one has to finish the work.
func Survivor() Workload {
	return Workload{
		Name: "survivor", Safety: true,
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
			killed, err := b.leaveOne(ctx, d, second, a)
			err = errors.Join(err, second.Quit(ctx), d.sender.Quit(ctx))
			return b.recovered(a, killed), err
		},
	}
}

// leaveOne kills the consumer of the duo; the second one continues.
func (b *Bench) leaveOne(ctx context.Context, d duo, second *driver.Process, a *audit) (killed time.Time, err error) {
	err = b.both(ctx, d, second, 5)
	if err == nil {
		_, err = b.sendAllAtOnce(ctx, d.sender)
	}
	if err == nil {
		err = a.awaitHalf(ctx, b.Scale.Lead+time.Minute)
	}
	err = errors.Join(err, d.consumer.Kill())
	killed = time.Now()
	if err != nil {
		return killed, err
	}
	return killed, a.wait(ctx, second, killed, b.recoveryTimeout())
}

// both starts both consumers; each gets its index and their number.
func (b *Bench) both(ctx context.Context, d duo, second *driver.Process, workMs int) error {
	for i, p := range []*driver.Process{d.consumer, second} {
		if _, err := p.Call(ctx, consume(i, 2, workMs)); err != nil {
			return err
		}
	}
	return nil
}

// sendAllAtOnce sends messages that are all due at one instant, and returns the instant.
func (b *Bench) sendAllAtOnce(ctx context.Context, sender *driver.Process) (time.Time, error) {
	due := time.Now().Add(b.Scale.Lead)
	_, err := send(ctx, sender, b.fast(peer.Load{Count: b.Scale.Safety, DueMs: due.UnixMilli()}))
	return due, err
}
