package dueq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/internal/receiver"
	"github.com/dueq-dev/dueq/internal/series"
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
	// guardPoll is the longest sleep of a Receive that waits: hints can get lost.
	guardPoll = 2 * time.Second
	// breather keeps a Receive from asking all the time.
	breather = time.Millisecond
	// retryAfter is the longest sleep after an error.
	retryAfter = 200 * time.Millisecond
	// claimPatience is how long one of several partitions may take to answer. What it hands
	// out later is released. A partition that has not answered lately gets suspectPatience.
	claimPatience   = time.Second
	suspectPatience = 50 * time.Millisecond
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

// receive asks, and if it is to wait, asks again when something may be due.
func (q *Queue) receive(ctx context.Context, c ReceiveOptions) ([]*Delivery, error) {
	end := time.Now().Add(c.Wait)
	heard := q.bell.Heard()
	deliveries, wait, err := q.claim(ctx, c)
	if c.Wait == 0 || len(deliveries) > 0 || !worthWaiting(err) {
		return deliveries, err
	}
	rung, leave := q.bell.Join(q.client.open, &q.client.running, q.client.store, q.name, heard) //nolint:contextcheck // shared with others, so it outlives the caller
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
func worthWaiting(err error) bool {
	return err == nil || errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrFailed)
}

// claim is claimOf the partitions that the queue has now.
func (q *Queue) claim(ctx context.Context, c ReceiveOptions) (found []*Delivery, wait time.Duration, err error) {
	for range 1 + reroutes {
		var settings store.Settings
		if settings, err = q.find(ctx); err != nil {
			return nil, retryAfter, err
		}
		found, wait, err = q.claimOf(ctx, c, settings)
		if !errors.Is(err, store.ErrRepartitioned) {
			break
		}
	}
	return found, wait, err
}

// claimOf asks one partition after the other until c.Max messages are found. It tells
// how long to wait if there is none. A partition that has not answered lately, as its
// server may be gone, is asked last, and only if the others have nothing. The error of
// a partition counts only then, too.
func (q *Queue) claimOf(ctx context.Context, c ReceiveOptions, settings store.Settings) ([]*Delivery, time.Duration, error) {
	var suspects []int
	c.Lease = leaseOr(c.Lease, settings)
	p := &poll{queue: q, config: c, of: settings.Partitions, wait: store.MaxWait}
	first := int(q.polled.Add(1) % uint64(settings.Partitions))
	patience := time.Duration(0)
	if settings.Partitions > 1 {
		patience = claimPatience
	}
	for i := range settings.Partitions {
		index := (first + i) % settings.Partitions
		if settings.Partitions > 1 && q.client.receiver.Suspect(q.partition(index)) {
			suspects = append(suspects, index)
		} else if p.ask(ctx, index, patience) {
			break
		}
	}
	if len(p.found) > 0 || p.paused || ctx.Err() != nil {
		suspects = nil
	}
	for _, index := range suspects {
		if p.ask(ctx, index, suspectPatience) {
			break
		}
	}
	return p.outcome(ctx)
}

// poll is one round of questions to the partitions of a queue.
type poll struct {
	queue  *Queue
	config ReceiveOptions
	of     int // partitions
	found  []*Delivery
	wait   time.Duration
	paused bool
	served bool  // by a partition at least
	failed error // the first
}

// ask claims what is still wanted from a partition, and reports whether that is all.
func (p *poll) ask(ctx context.Context, index int, patience time.Duration) (enough bool) {
	from, client := p.queue.partition(index), p.queue.client
	request := store.ClaimRequest{Max: p.config.Max - len(p.found), Lease: p.config.Lease.Milliseconds(), Of: p.of}
	result, err := client.receiver.Claim(ctx, &client.running, from, request, patience)
	switch {
	case errors.Is(err, store.ErrRepartitioned):
		p.failed = err
		return true
	case err != nil && p.failed == nil:
		p.failed = err
		fallthrough
	case err != nil:
		p.wait = min(p.wait, retryAfter)
		return ctx.Err() != nil
	case result.Paused:
		p.paused = true
		return true
	}
	p.served = true
	passed := false
	for i := range result.Deliveries {
		d := &result.Deliveries[i]
		h := &received{client.receiver, from, d.Receipt, series.Of(d)}
		if p.pass(ctx, d, h) {
			passed = true
			continue
		}
		p.found = append(p.found, newDelivery(p.queue, d, h))
	}
	p.wait = min(p.wait, result.Wait)
	if passed && len(p.found) < p.config.Max {
		return p.ask(ctx, index, patience) // what comes next is due as well
	}
	return len(p.found) == p.config.Max
}

// pass reports whether a delivery is not for the caller, and has its series go on without it.
// If that fails, the message comes back when its lease has run out.
func (p *poll) pass(ctx context.Context, d *store.Delivery, h *received) bool {
	v, why := consumer.Passed(d, 0)
	if v == nil {
		return false
	}
	p.queue.client.log.WarnContext(ctx, "dueq: an occurrence of a recurring message is left out",
		slog.String("queue", p.queue.name), slog.String("key", d.Key), slog.Any("cause", why))
	_ = h.Settle(ctx, *v)
	return true
}

// outcome returns what was found; an error only if that is nothing.
func (p *poll) outcome(ctx context.Context) ([]*Delivery, time.Duration, error) {
	switch {
	case len(p.found) > 0:
		return p.found, 0, nil
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case p.paused:
		return nil, 0, ErrPaused
	case p.failed != nil && p.served: // whatever it is, it is worth waiting for the others
		return nil, p.wait, fmt.Errorf("%w: %w", ErrUnavailable, p.failed)
	}
	return nil, p.wait, p.failed
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
	part      *series.Part
}

// Settle asks the store once.
func (r *received) Settle(ctx context.Context, v consumer.Verdict) error {
	item := receiver.Item{
		Settlement: store.Settlement{Receipt: r.receipt, Delay: v.Delay, Failure: consumer.Cut(v.Failure), Next: v.Next}, Part: r.part,
	}
	code, err := r.receiver.Settle(ctx, r.partition, v.Verdict, item)
	if err != nil {
		return err
	}
	return consumer.CodeError(v.Verdict, code)
}
