package driver

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/internal/measure"
)

// send sends the load from as many goroutines as it asks for, and measures wall and CPU time.
func send(ctx context.Context, q peer.Queue, l peer.Load) (Reply, error) {
	sendNext, err := sender(q, l)
	if err != nil {
		return Reply{}, err
	}
	before, err := measure.CPU()
	if err != nil {
		return Reply{}, err
	}
	start := time.Now()
	var sent atomic.Int64
	err = measure.Share(ctx, l.Count, max(l.Batch, 1), max(l.Producers, 1), func(ctx context.Context, from, n int) error {
		err := sendNext(ctx, from, n)
		if err == nil {
			sent.Add(int64(n))
		}
		return err
	})
	reply := Reply{Sent: int(sent.Load()), WallUs: time.Since(start).Microseconds()}
	after, errCPU := measure.CPU()
	reply.CPUUs = (after - before).Microseconds()
	return reply, errors.Join(err, errCPU, ctx.Err())
}

// sender returns a function that sends n messages from number from on: one at a time, or a batch.
func sender(q peer.Queue, l peer.Load) (func(ctx context.Context, from, n int) error, error) {
	if l.Batch <= 1 {
		return func(ctx context.Context, from, _ int) error { return q.Send(ctx, l.Message(from)) }, nil
	}
	b, ok := q.(peer.Batcher)
	if !ok {
		return nil, errors.New("this queue sends no batches")
	}
	return func(ctx context.Context, from, n int) error {
		batch := make([]peer.Message, n)
		for i := range batch {
			batch[i] = l.Message(from + i)
		}
		return b.SendBatch(ctx, batch)
	}, nil
}
