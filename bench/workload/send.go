package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Send sends messages due in an hour, from a number of goroutines, a number in each call.
func Send(name string, producers, batch int) Workload {
	return Workload{
		Name: name,
		Excuse: func(i peer.Info) string {
			if batch > 1 && !i.Batch {
				return "no batches"
			}
			return ""
		},
		Run: func(ctx context.Context, b *Bench) (Values, error) {
			p, err := b.Driver(nil)
			if err != nil {
				return nil, err
			}
			v, err := b.measureSend(ctx, p, peer.Load{Count: b.Scale.sent(batch), Producers: producers, Batch: batch})
			return v, errors.Join(err, p.Quit(ctx))
		},
	}
}

// sent returns how many messages to send: more in batches, because these are faster.
func (s Scale) sent(batch int) int {
	if batch > 1 {
		return s.Batches
	}
	return s.Send
}

func (b *Bench) measureSend(ctx context.Context, p *driver.Process, l peer.Load) (Values, error) {
	l.DueMs, l.SpreadMs, l.BodySize = time.Now().Add(time.Hour).UnixMilli(), 600_000, b.Scale.BodySize
	// A few first, so that connections are open and scripts are loaded.
	warm := l
	warm.From, warm.Count = l.Count, l.Count/10
	if _, err := send(ctx, p, driver.Request{Op: driver.OpSend, Load: warm}); err != nil {
		return nil, err
	}
	before, err := b.Server.CPU(ctx)
	if err != nil {
		return nil, err
	}
	reply, err := send(ctx, p, driver.Request{Op: driver.OpSend, Load: l})
	if err != nil {
		return nil, err
	}
	after, err := b.Server.CPU(ctx)
	n := float64(l.Count)
	return Values{
		"per_s":     n / (time.Duration(reply.WallUs) * time.Microsecond).Seconds(),
		"server_us": float64((after - before).Microseconds()) / n,
		"client_us": float64(reply.CPUUs) / n,
	}, err
}
