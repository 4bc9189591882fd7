package dueq

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
)

// ReceiveOptions of one [Queue.Receive].
type ReceiveOptions struct {
	Max   int           // deliveries wanted, up to 500; default 1
	Wait  time.Duration // for a message to become due, up to 1 minute; default 0: not at all
	Lease time.Duration // 1 s to 12 h; default Settings.Lease, 30 s unless it is set
}

const (
	defaultLease = 30 * time.Second
	maxWait      = time.Minute
)

// Receive leases messages that are due: ready -> leased. If none is, it waits for up
// to c.Wait and then returns none and no error. Each delivery must be settled (Ack,
// Nack, Release, Reject) before its lease ends, or extended; else it comes back. For a
// loop with workers, leases that extend themselves and retries, use [Queue.Consume].
//
// Errors: [ErrInvalid], [ErrNotFound] for an unknown queue, which is not made, [ErrPaused] (at once, whatever c.Wait), [ErrUnavailable] (after
// trying for c.Wait; of a queue with several partitions also when one of them does not
// answer and the others have nothing), [ErrClosed], the error of ctx. A message that is handed over after
// ctx has ended is released at once and has lost no attempt. Costs one round trip, and one
// more when a message is on its last attempt or its last lease ran out: the store records
// that it is about to be handled. While waiting, one every 2 s and one for each message
// that comes. The first wait for a queue subscribes to its hints, which is one connection to
// Redis for all that wait, and is kept until nobody has waited for a minute.
func (q *Queue) Receive(ctx context.Context, c ReceiveOptions) ([]*Delivery, error) {
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

func (c ReceiveOptions) complete() (ReceiveOptions, error) {
	c.Max = cmp.Or(c.Max, 1)
	switch {
	case c.Max < 1 || c.Max > store.MaxBatch:
		return c, invalid("max", "%d is outside 1 to %d", c.Max, store.MaxBatch)
	case c.Wait < 0 || c.Wait > maxWait:
		return c, invalid("wait", "%s is outside 0s to %s", c.Wait, maxWait)
	}
	return c, checkLease(cmp.Or(c.Lease, defaultLease))
}

// receive polls, for as long as it is to wait.
func (q *Queue) receive(ctx context.Context, c ReceiveOptions) ([]*Delivery, error) {
	found, err := q.bell.Wait(ctx, c.Wait,
		func() ([]*consumer.Held, time.Duration, error) { return q.poll(ctx, c) },
		func(heard uint64) (<-chan struct{}, func()) {
			return q.bell.Join(q.client.open, &q.client.running, q.client.store, q.name, heard)
		})
	if len(found) == 0 {
		return nil, err
	}
	deliveries := make([]*Delivery, len(found))
	for i, held := range found {
		deliveries[i] = newDelivery(q, held.Delivery, held)
	}
	return deliveries, err
}

// poll asks the partitions that the queue has now.
func (q *Queue) poll(ctx context.Context, c ReceiveOptions) (found []*consumer.Held, wait time.Duration, err error) {
	for range 1 + reroutes {
		var settings store.Settings
		if settings, err = q.find(ctx); err != nil {
			return nil, store.MaxWait, err
		}
		found, wait, err = q.client.receiver.Poll(ctx, &q.client.running, consumer.Poll{
			Queue: q.name, Partitions: settings.Partitions, First: int(q.polled.Add(1) % uint64(settings.Partitions)),
			Max: c.Max, Lease: leaseOr(c.Lease, settings).Milliseconds(), Pass: q.pass,
		})
		if !errors.Is(err, store.ErrRepartitioned) {
			break
		}
	}
	return found, wait, err
}

// pass reports whether a delivery is not for the caller, and has its series go on without it.
// If that fails, the message comes back when its lease has run out.
func (q *Queue) pass(ctx context.Context, held *consumer.Held) bool {
	v, why := consumer.Passed(held.Delivery, 0)
	if v == nil {
		return false
	}
	q.client.log.WarnContext(ctx, "dueq: an occurrence of a recurring message is left out",
		slog.String("queue", q.name), slog.String("key", held.Delivery.Key), slog.Any("cause", why))
	_ = held.Settle(ctx, *v)
	return true
}
