package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Memory measures the memory for a pending message, in the server or, without one, in the process.
func Memory() Workload {
	return Workload{
		Name: "memory", Steady: true,
		Excuse: func(peer.Info) string { return "" },
		Run: func(ctx context.Context, b *Bench) (Values, error) {
			p, err := b.Driver(nil)
			if err != nil {
				return nil, err
			}
			v, err := b.measureMemory(ctx, p)
			return v, errors.Join(err, p.Quit(ctx))
		},
	}
}

func (b *Bench) measureMemory(ctx context.Context, p *driver.Process) (Values, error) {
	// A few first, so that connections and scripts do not count.
	l := peer.Load{Count: b.Scale.Memory / 100, DueMs: time.Now().Add(time.Hour).UnixMilli(), SpreadMs: 600_000}
	if _, err := send(ctx, p, b.fast(l)); err != nil {
		return nil, err
	}
	before, err := b.memory(ctx, p)
	if err != nil {
		return nil, err
	}
	l.From, l.Count = l.Count, b.Scale.Memory
	if _, err := send(ctx, p, b.fast(l)); err != nil {
		return nil, err
	}
	after, err := b.memory(ctx, p)
	return Values{"bytes": float64(after-before) / float64(b.Scale.Memory)}, err
}

func (b *Bench) memory(ctx context.Context, p *driver.Process) (int64, error) {
	if !b.InProcess {
		return b.Server.Memory(ctx)
	}
	reply, err := p.Call(ctx, driver.Request{Op: driver.OpHeap})
	return reply.Heap, err
}
