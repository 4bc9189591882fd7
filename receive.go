package dueq

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/internal/receiver"
	"github.com/dueq-dev/dueq/store"
)

// ReceiveConfig of one [Queue.Receive].
type ReceiveConfig struct {
	Max   int           // deliveries wanted, up to 500; default 1
	Wait  time.Duration // for a message to become due, up to 1 minute; default 0: not at all
	Lease time.Duration // 1 s to 12 h; default 30 s
}

const (
	defaultLease = 30 * time.Second
	maxWait      = time.Minute
	// guardPoll is the longest sleep of a Receive that waits: hints can get lost.
	guardPoll = 2 * time.Second
	// breather keeps a Receive from asking all the time.
	breather = time.Millisecond
)

// Receive leases messages that are due: ready -> leased. If none is, it waits for up
// to c.Wait and then returns none and no error. Each delivery must be settled (Ack,
// Nack, Release, Reject) before its lease ends, or extended; else it comes back. For a
// loop with workers, leases that extend themselves and retries, use [Queue.Consume].
//
// Errors: [ErrInvalid], [ErrPaused] (at once, whatever c.Wait), [ErrUnavailable] (after
// trying for c.Wait), [ErrClosed], the error of ctx. A message that is handed over after
// ctx has ended is released at once and has lost no attempt. Costs one round trip; while
// waiting, one every 2 s.
func (q *Queue) Receive(ctx context.Context, c ReceiveConfig) ([]*Delivery, error) {
	if err := q.guard(ctx); err != nil {
		return nil, fail("receive", q.name, "", err)
	}
	c, err := c.complete()
	if err != nil {
		return nil, fail("receive", q.name, "", err)
	}
	ctx, leave, err := q.client.enter(ctx)
	if err != nil {
		return nil, fail("receive", q.name, "", err)
	}
	defer leave()
	deliveries, err := q.receive(ctx, c)
	if err != nil && q.client.open.Err() != nil {
		err = ErrClosed
	}
	return deliveries, fail("receive", q.name, "", err)
}

func (c ReceiveConfig) complete() (ReceiveConfig, error) {
	c.Max = cmp.Or(c.Max, 1)
	c.Lease = cmp.Or(c.Lease, defaultLease)
	switch {
	case c.Max < 1 || c.Max > store.MaxBatch:
		return c, invalid("max", "%d is outside 1 to %d", c.Max, store.MaxBatch)
	case c.Wait < 0 || c.Wait > maxWait:
		return c, invalid("wait", "%s is outside 0s to %s", c.Wait, maxWait)
	}
	return c, checkLease(c.Lease)
}

// receive asks, and if it is to wait, asks again when something may be due.
func (q *Queue) receive(ctx context.Context, c ReceiveConfig) ([]*Delivery, error) {
	end := time.Now().Add(c.Wait)
	deliveries, wait, err := q.claim(ctx, c)
	if c.Wait == 0 || len(deliveries) > 0 || !worthWaiting(err) {
		return deliveries, err
	}
	rung, leave := q.bell.Join(ctx, q.client.store, q.name, &q.client.running)
	defer leave()
	for {
		left := time.Until(end)
		if left <= 0 {
			return nil, err
		}
		if !sleep(ctx, min(max(wait, breather), guardPoll, left), rung) {
			return nil, ctx.Err()
		}
		deliveries, wait, err = q.claim(ctx, c)
		if len(deliveries) > 0 || !worthWaiting(err) {
			return deliveries, err
		}
	}
}

// worthWaiting reports whether a Receive that got nothing may get something later.
func worthWaiting(err error) bool { return err == nil || errors.Is(err, ErrUnavailable) }

// claim asks one partition after the other until c.Max messages are found. It tells
// how long to wait if there is none.
func (q *Queue) claim(ctx context.Context, c ReceiveConfig) ([]*Delivery, time.Duration, error) {
	const retry = 200 * time.Millisecond // after an error
	settings, err := q.learn(ctx)
	if err != nil {
		return nil, retry, err
	}
	var found []*Delivery
	wait, first := store.MaxWait, int(q.polled.Add(1)%uint64(settings.Partitions))
	for i := range settings.Partitions {
		p := q.partition((first + i) % settings.Partitions)
		result, err := q.client.receiver.Claim(ctx, &q.client.running, p, c.Max-len(found), c.Lease.Milliseconds())
		switch {
		case len(found) > 0 && err != nil:
			return found, 0, nil //nolint:nilerr // the error will show at the next call
		case err != nil:
			return nil, retry, err
		case result.Paused:
			return nil, 0, ErrPaused
		}
		for i := range result.Deliveries {
			d := &result.Deliveries[i]
			found = append(found, newDelivery(q.name, d, &received{q.client.receiver, p, d.Receipt}))
		}
		if len(found) == c.Max {
			break
		}
		wait = min(wait, result.Wait)
	}
	return found, wait, nil
}

// sleep waits for d or a hint. It returns false when ctx has ended.
func sleep(ctx context.Context, d time.Duration, rung <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-rung:
	case <-ctx.Done():
		return false
	}
	return true
}

// received is the holder of a delivery that Receive has returned.
type received struct {
	receiver  *receiver.Receiver
	partition store.Partition
	receipt   store.Receipt
}

// Settle asks the store once.
func (r *received) Settle(ctx context.Context, v store.Verdict, delay int64, failure string) error {
	item := store.Settlement{Receipt: r.receipt, Delay: delay, Failure: consumer.Cut(failure)}
	code, err := r.receiver.Settle(ctx, r.partition, v, item)
	if err != nil {
		return err
	}
	return consumer.CodeError(v, code)
}
