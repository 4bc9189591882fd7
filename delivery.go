package dueq

import (
	"context"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Delivery is a message handed to a consumer, who holds it until the lease ends or
// one of the methods settles it. The methods are safe for concurrent use. They are
// fenced: once the delivery is no longer the current one, they change nothing and
// return [ErrLeaseLost]. Repeating one after [ErrUnavailable] is safe.
//
// Inside a handler of [Queue.Consume] none of them is needed: what the handler
// returns settles the delivery, unless the handler has done so itself.
type Delivery struct {
	ID      string // the same over all deliveries of a message
	Queue   string
	Key     string
	Headers map[string]string
	Body    []byte

	Attempt     int       // of this delivery, from 1; grows with every delivery
	Failures    int       // deliveries before this one that failed
	MaxAttempts int       // failures after which the message is dead
	Due         time.Time // by the store's clock
	SentAt      time.Time // by the producer's clock
	ExpiresAt   time.Time // zero: never

	holder holder
}

// holder settles the delivery it belongs to; spans are in ms.
type holder interface {
	Settle(ctx context.Context, verdict store.Verdict, delay int64, failure string) error
}

func newDelivery(queue string, d *store.Delivery, h holder) *Delivery {
	made := makeDelivery(queue, d, h)
	return &made
}

func makeDelivery(queue string, d *store.Delivery, h holder) Delivery {
	id := d.Receipt.ID
	return Delivery{
		ID: id.String(), Queue: queue, Key: d.Key, Headers: d.Headers, Body: d.Body,
		Attempt: d.Receipt.Attempt, Failures: d.Failures, MaxAttempts: d.MaxAttempts,
		Due: fromInstant(d.Due), SentAt: fromInstant(id.Time()), ExpiresAt: fromInstant(d.Expiry),
		holder: h,
	}
}

// Ack says that the message is done: leased -> (gone). Errors: [ErrLeaseLost]. A
// message that is already gone is no error.
func (d *Delivery) Ack(ctx context.Context) error {
	return d.settle(ctx, store.Ack, 0, nil)
}

// Nack says that the delivery failed: leased -> scheduled after delay, or dead if its
// attempts are used up, with the text of reason (may be nil; cut at 1 KiB) as
// Record.LastFailure. If it was cancelled meanwhile, it is removed. Errors:
// [ErrInvalid], [ErrLeaseLost], [ErrCancelled] (removed).
func (d *Delivery) Nack(ctx context.Context, delay time.Duration, reason error) error {
	return d.settle(ctx, store.Nack, delay, reason)
}

// Release gives the message back unharmed: leased -> ready, with no failure counted.
// Errors: [ErrLeaseLost], [ErrCancelled] (removed, as it was cancelled meanwhile).
func (d *Delivery) Release(ctx context.Context) error {
	return d.settle(ctx, store.Release, 0, nil)
}

// Reject makes the message a dead letter, whatever its attempts: leased -> dead, with
// the text of reason (may be nil; cut at 1 KiB) as Record.LastFailure. Errors:
// [ErrLeaseLost], [ErrCancelled] (removed, as it was cancelled meanwhile).
func (d *Delivery) Reject(ctx context.Context, reason error) error {
	return d.settle(ctx, store.Reject, 0, reason)
}

// Extend makes the lease end span from now at the earliest: 1 s to 12 h; it never
// shortens it. Errors: [ErrInvalid]; [ErrLeaseLost], also when the message is gone;
// [ErrCancelled]: extended, but the message was cancelled and should be given up.
func (d *Delivery) Extend(ctx context.Context, span time.Duration) error {
	return d.settle(ctx, store.Extend, span, nil)
}

func (d *Delivery) settle(ctx context.Context, v store.Verdict, delay time.Duration, reason error) error {
	err := ctx.Err()
	switch {
	case err != nil:
	case delay < 0:
		err = invalid("delay", "%s is negative", delay)
	case d.holder == nil:
		err = invalid("delivery", "was not received from a queue")
	default:
		failure := ""
		if reason != nil {
			failure = fmt.Sprint(reason)
		}
		err = d.holder.Settle(ctx, v, toSpan(delay), failure)
	}
	return fail(string(v), d.Queue, d.ID, err)
}
