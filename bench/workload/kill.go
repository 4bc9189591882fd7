package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
)

// Kill ends the consumer with SIGKILL when half of the messages are done, and starts
// another one at once. Handlers take 5 ms, so that about a hundred are running at that moment. A message
// is done when its handler has reported it, before the ack.
func Kill() Workload {
	return Workload{
		Name: "kill", Safety: true,
		Excuse: func(peer.Info) string { return "" },
		Run: func(ctx context.Context, b *Bench) (Values, error) {
			a := newAudit(b.Scale.Safety)
			d, err := b.duo(a.done)
			if err != nil {
				return nil, err
			}
			errRun := b.untilHalf(ctx, d, a)
			if err := d.consumer.Kill(); err != nil {
				return nil, errors.Join(errRun, err)
			}
			killed := time.Now()
			if errRun == nil {
				errRun = b.successor(ctx, a, killed)
			}
			if d.sender != d.consumer {
				errRun = errors.Join(errRun, d.sender.Quit(ctx))
			}
			return b.recovered(a, killed), errRun
		},
	}
}

// untilHalf sends, and waits until half of the messages are done.
func (b *Bench) untilHalf(ctx context.Context, d duo, a *audit) error {
	if _, err := d.consumer.Call(ctx, consume(0, 1, 5)); err != nil {
		return err
	}
	if _, err := b.sendAllAtOnce(ctx, d.sender); err != nil {
		return err
	}
	return a.awaitHalf(ctx, b.Scale.Lead+time.Minute)
}

// successor consumes until all messages have arrived, or the missing ones cannot be expected any more.
func (b *Bench) successor(ctx context.Context, a *audit, from time.Time) error {
	p, err := b.Driver(a.done)
	if err != nil {
		return err
	}
	if _, err = p.Call(ctx, consume(0, 1, 5)); err == nil {
		err = a.wait(ctx, p, from, b.recoveryTimeout())
	}
	return errors.Join(err, p.Quit(ctx))
}

// recoveryTimeout is as long as the design needs, and no longer than the run allows.
func (b *Bench) recoveryTimeout() time.Duration { return min(b.Recovery, b.Scale.Recovery) }

// recovered is verdict with the time until the last message arrived, if it did.
func (b *Bench) recovered(a *audit, from time.Time) Values {
	v := b.verdict(a)
	if all, news := a.state(); all && news.After(from) {
		v["recovery_s"] = news.Sub(from).Seconds()
	}
	return v
}

// verdict adds to the values whether the run was too short to distinguish a lost message from a late
// one.
func (b *Bench) verdict(a *audit) Values {
	v := a.values()
	if v["lost"] > 0 && b.Scale.Recovery < b.Recovery {
		v["cut_short_s"] = b.Scale.Recovery.Seconds()
	}
	return v
}
