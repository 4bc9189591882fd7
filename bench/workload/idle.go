package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/host"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Idle measures the cost of a consumer without messages.
func Idle() Workload {
	return Workload{
		Name:   "idle",
		Excuse: func(peer.Info) string { return "" },
		Run: func(ctx context.Context, b *Bench) (Values, error) {
			p, err := b.Driver(nil)
			if err != nil {
				return nil, err
			}
			v, err := b.measureIdle(ctx, p)
			return v, errors.Join(err, p.Quit(ctx))
		},
	}
}

func (b *Bench) measureIdle(ctx context.Context, p *driver.Process) (Values, error) {
	if _, err := p.Call(ctx, consume(0, 1, 0)); err != nil {
		return nil, err
	}
	if err := sleepUntil(ctx, time.Now().Add(b.Scale.Settle)); err != nil {
		return nil, err
	}
	before, err := b.cpu(ctx, p)
	if err != nil {
		return nil, err
	}
	count, err := b.watch(ctx)
	if err != nil {
		return nil, err
	}
	after, err := b.cpu(ctx, p)
	seconds := b.Scale.Idle.Seconds()
	v := Values{
		"server_ms_per_s": (after.server - before.server).Seconds() * 1000 / seconds,
		"client_ms_per_s": (after.client - before.client).Seconds() * 1000 / seconds,
	}
	if b.Redis != nil {
		v["sent_per_s"] = float64(count.Sent) / seconds
		v["executed_per_s"] = float64(count.Executed) / seconds
	}
	return v, err
}

// watch waits while the commands to Redis are counted.
func (b *Bench) watch(ctx context.Context) (host.Commands, error) {
	if b.Redis != nil {
		return b.Redis.Monitor(ctx, b.Scale.Idle)
	}
	return host.Commands{}, sleepUntil(ctx, time.Now().Add(b.Scale.Idle))
}

// consume asks for a report of every message.
func consume(index, of, workMs int) driver.Request {
	return driver.Request{Op: driver.OpConsume, Consume: driver.Consume{
		Concurrency: concurrency, Index: index, Of: of, WorkMs: workMs, Stream: true,
	}}
}
