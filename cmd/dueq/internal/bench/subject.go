package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/rawredis"
)

// subject is measured: dueq or the floor. Its calls are not cancelled, so that the server does no
// work for it after it has returned; it ends between two calls.
type subject interface {
	// send stores n messages in batches, from several goroutines.
	send(ctx context.Context, n int, due time.Time) error
	// single stores n messages one by one, from several goroutines.
	single(ctx context.Context, n, producers int, due time.Time) error
	// drain receives and acks the n messages that are due.
	drain(ctx context.Context, n int) error
}

// callers is how many goroutines send batches, and drain the floor.
const callers = 4

// library is dueq as a subject.
type library struct {
	queue       *dueq.Queue
	body        []byte
	concurrency int
}

func (l library) send(ctx context.Context, n int, due time.Time) error {
	return measure.Share(ctx, n, batch, callers, func(ctx context.Context, _, n int) error {
		messages := make([]dueq.Message, n)
		for i := range messages {
			messages[i] = dueq.Message{Body: l.body, Due: due}
		}
		results, err := l.queue.SendBatch(ctx, messages)
		if err != nil {
			return err
		}
		for _, sent := range results {
			if sent.Err != nil {
				return sent.Err
			}
		}
		return nil
	})
}

func (l library) single(ctx context.Context, n, producers int, due time.Time) error {
	return measure.Share(ctx, n, 1, producers, func(ctx context.Context, _, _ int) error {
		_, err := l.queue.Send(ctx, dueq.Message{Body: l.body, Due: due})
		return err
	})
}

// stallTimeout is how long a drain may make no progress: longer than a lease, which has to run
// out if a reply is lost.
const stallTimeout = time.Minute

// drain ends when all messages are acked, so stopping the consumer is a part of it.
func (l library) drain(ctx context.Context, n int) error {
	before, err := l.queue.Stats(ctx)
	if err != nil {
		return err
	}
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	stalled := time.AfterFunc(stallTimeout, stop)
	defer stalled.Stop()
	var handled atomic.Int64
	err = l.queue.Consume(consuming, func(context.Context, *dueq.Delivery) error {
		switch done := handled.Add(1); {
		case done == int64(n):
			stop()
		case done%batch == 0:
			stalled.Reset(stallTimeout)
		}
		return nil
	}, dueq.ConsumeOptions{Concurrency: l.concurrency})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	after, err := l.queue.Stats(ctx)
	if acked := after.Counters.Acked - before.Counters.Acked; err == nil && acked != int64(n) {
		err = fmt.Errorf("drain: %d of %d messages were acked, %d deliveries", acked, n, handled.Load())
	}
	return err
}

// minimal is the floor as a subject.
type minimal struct {
	floor *rawredis.Floor
	body  []byte
}

func (m minimal) send(ctx context.Context, n int, due time.Time) error {
	return measure.Share(ctx, n, batch, callers, func(ctx context.Context, _, n int) error {
		return m.floor.Push(ctx, due.UnixMilli(), n, m.body)
	})
}

func (m minimal) single(ctx context.Context, n, producers int, due time.Time) error {
	return measure.Share(ctx, n, 1, producers, func(ctx context.Context, _, n int) error {
		return m.floor.Push(ctx, due.UnixMilli(), n, m.body)
	})
}

func (m minimal) drain(ctx context.Context, n int) error {
	var acked atomic.Int64
	err := measure.Share(ctx, n, batch, callers, func(ctx context.Context, _, n int) error {
		ids, err := m.floor.Claim(ctx, n)
		if err != nil {
			return err
		}
		acked.Add(int64(len(ids)))
		return m.floor.Ack(ctx, ids)
	})
	if err = errors.Join(err, ctx.Err()); err == nil && acked.Load() != int64(n) {
		err = fmt.Errorf("drain of the floor: %d of %d messages were there", acked.Load(), n)
	}
	return err
}

// text returns a body of letters and digits.
func text(size int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, size)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return b
}
