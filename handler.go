package dueq

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
)

// Handler does the work that a message asks for. What it returns settles the
// delivery: nil acks it; an error nacks it, to be delivered again after
// [ConsumeOptions].Backoff; [RetryAfter], [Snooze], [Again], [Next], [Reject] and [Drop] choose otherwise,
// also when they are wrapped. A panic, or runtime.Goexit, is a failure like an error.
//
// ctx ends, with this [context.Cause]: [ErrLeaseLost] when the message is or could soon
// be somebody else's; [ErrCancelled] when the message was cancelled; [ErrClosed] when
// the consumer stops and its grace period is over; context.DeadlineExceeded after
// ConsumeOptions.Timeout. A handler should return soon after.
type Handler func(ctx context.Context, d *Delivery) error

// Middleware wraps a handler, to log, measure or prepare each call.
type Middleware func(Handler) Handler

// JSON returns a handler for messages whose bodies are JSON values of type T. A body
// that cannot be decoded is rejected: it becomes a dead letter at once, as no further
// attempt could succeed. [SendJSON] is the other end: it sends such messages.
func JSON[T any](h func(ctx context.Context, v T, d *Delivery) error) Handler {
	return func(ctx context.Context, d *Delivery) error {
		var v T
		if err := json.Unmarshal(d.Body, &v); err != nil {
			return Reject(fmt.Errorf("decode the body: %w", err))
		}
		return h(ctx, v, d)
	}
}

// RetryAfter wraps a handler's error so that the message is delivered again after d
// instead of the backoff. It is a failure, as any error: after the last attempt the
// message is dead.
func RetryAfter(d time.Duration, err error) error {
	return &consumer.RetryError{Delay: toSpan(max(d, 0)), Err: err}
}

// Snooze returns a handler's error that says "not now": the message is delivered again
// after d (negative: 0; at most 10 years), and no failure is counted. Delivery.Snoozes
// counts how often that has happened, and Record.LastFailure has the reason. The effect is that of
// [Delivery.Snooze].
func Snooze(d time.Duration, reason string) error {
	return &consumer.SnoozeError{Delay: toSpan(max(d, 0)), Reason: reason}
}

// AgainOptions of one [Again].
type AgainOptions struct {
	// Body of the next occurrence. nil: as it is; empty and not nil: none. Up to the queue's
	// Settings.MaxBody bytes.
	Body []byte
	// TTL from now after which the next occurrence is no longer delivered but removed, as
	// Message.TTL. Default 0: none, whatever the message had before.
	TTL time.Duration
}

// Again returns a handler's error that says "done, and again later": this occurrence of the
// message is acked, and the same message, with its id, key, headers and body (or another one),
// is scheduled as to says, in one step. So it is never lost and never there twice, and its key
// stays taken. Attempts begin at 1 again, failures and snoozes are forgotten; Delivery.Token
// goes on. o may be nil.
//
// Of a message with [Repeat], it is in the place of the next time of the schedule, once; a TTL is
// a failure then, as it would end all occurrences.
//
// A due time more than 10 years ahead, a TTL that ends before it and a body that is too
// large are failures of the handler, with the reason as Record.LastFailure. A message that was
// cancelled meanwhile is removed. With AtMostOnce the message is gone already: Again is a
// failure. On a store that is full a new body is refused, and tried again until the lease ends.
func Again(to Schedule, o *AgainOptions) error {
	if o == nil {
		o = &AgainOptions{}
	}
	due, delay, err := to.spans()
	if err != nil {
		return fail(string(store.Again), "", "", err)
	}
	next := store.Occurrence{Due: due, TTL: toSpan(o.TTL), Body: o.Body, NewBody: o.Body != nil}
	if err := next.Validate(delay); err != nil {
		return fail(string(store.Again), "", "", err)
	}
	return &consumer.AgainError{Delay: delay, Next: next}
}

// Reject wraps a handler's error so that the message becomes a dead letter at once; of a
// message with [Repeat], this occurrence of it does.
func Reject(err error) error { return &consumer.RejectError{Err: err} }

// Drop wraps a handler's error so that the message is acked in spite of it: it is not
// delivered again, and the error is logged. One with [Repeat] goes on with its next occurrence.
func Drop(err error) error { return &consumer.DropError{Err: err} }

// Backoff returns a [ConsumeOptions].Backoff that doubles: after the n-th failure a
// random span up to base * 2^(n-1), and up to most. The random part ("full jitter")
// keeps messages that failed together from coming back together; see
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
// With a base or most of 0 or less, a message is due again at once.
func Backoff(base, most time.Duration) func(*Delivery, error) time.Duration {
	if base <= 0 || most <= 0 {
		return func(*Delivery, error) time.Duration { return 0 }
	}
	return func(d *Delivery, _ error) time.Duration {
		limit := base
		for range d.Failures {
			if limit >= most/2 {
				limit = most
				break
			}
			limit *= 2
		}
		return rand.N(min(limit, most)) + 1
	}
}

// DefaultBackoff is the [ConsumeOptions].Backoff of a consumer that has none: after the
// n-th failure n^4 + 15 s, 4 days at most, give or take a tenth. The first retries come
// after 16 s, 31 s and 96 s; the 24 waits of a message with the default MaxAttempts of 25
// take about 20 days together (docs/RETRIES.md has the table). The random part keeps
// messages that failed together from coming back together.
func DefaultBackoff(d *Delivery, _ error) time.Duration {
	const part = 10
	wait := consumer.DefaultWait(d.Failures + 1)
	return wait - wait/part + rand.N(2*wait/part)
}
