package driver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
)

// send sends the load with as many goroutines as it asks for, each of which takes the
// next messages that nobody has taken, and measures wall and CPU time.
func send(ctx context.Context, q peer.Queue, l peer.Load) (Reply, error) {
	sendNext, err := sender(q, l)
	if err != nil {
		return Reply{}, err
	}
	before, err := cpuTime()
	if err != nil {
		return Reply{}, err
	}
	start := time.Now()
	sent, err := spread(ctx, l, sendNext)
	reply := Reply{Sent: sent, WallUs: time.Since(start).Microseconds()}
	after, errCPU := cpuTime()
	reply.CPUUs = (after - before).Microseconds()
	return reply, errors.Join(err, errCPU)
}

// spread runs sendNext on l.Producers goroutines until all is sent or one fails.
func spread(ctx context.Context, l peer.Load, sendNext func(context.Context, int) (int, error)) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, sent atomic.Int64
	var running sync.WaitGroup
	for range max(l.Producers, 1) {
		running.Go(func() {
			step := int64(max(l.Batch, 1))
			for ctx.Err() == nil {
				i := next.Add(step) - step
				if i >= int64(l.Count) {
					return
				}
				n, err := sendNext(ctx, int(i))
				sent.Add(int64(n))
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	return int(sent.Load()), context.Cause(ctx)
}

// sender returns what sends the messages from i on: one, or a batch.
func sender(q peer.Queue, l peer.Load) (func(ctx context.Context, i int) (int, error), error) {
	if l.Batch <= 1 {
		return func(ctx context.Context, i int) (int, error) {
			if err := q.Send(ctx, l.Message(i)); err != nil {
				return 0, err
			}
			return 1, nil
		}, nil
	}
	b, ok := q.(peer.Batcher)
	if !ok {
		return nil, errors.New("this queue sends no batches")
	}
	return func(ctx context.Context, i int) (int, error) {
		batch := make([]peer.Message, 0, l.Batch)
		for ; i < l.Count && len(batch) < l.Batch; i++ {
			batch = append(batch, l.Message(i))
		}
		if err := b.SendBatch(ctx, batch); err != nil {
			return 0, err
		}
		return len(batch), nil
	}, nil
}
