package dueq

import (
	"context"
	"errors"
	"fmt"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
)

// Cancel removes a message that is scheduled or ready. With nil it is gone: it was not and
// will not be delivered.
//
// Errors: [ErrRunning] when the message is leased: its holder has been asked to stop (the
// context of its handler ends with [ErrCancelled]) and may still finish it, but it is never
// delivered again, as a dead letter neither. [ErrDead] for a dead letter, which stays (see
// [Queue.Delete]). [ErrNotFound] when there is no such message, for example because it was
// acknowledged. [ErrInvalid]. After any other error it may have been cancelled; repeating
// the call is safe, and may return ErrNotFound then. Costs one round trip.
func (q *Queue) Cancel(ctx context.Context, ref Ref) error {
	return q.move(ctx, "cancel", ref, func(p store.Partition, ref store.Ref) ([]store.Code, error) {
		return numbered(q.client, func(caller string, number uint64) ([]store.Code, error) {
			return q.client.store.Cancel(ctx, p, store.CancelRequest{Caller: caller, Number: number, Refs: []store.Ref{ref}})
		})
	})
}

// Reschedule gives a message that is scheduled or ready a new due time. With nil it has it.
//
// Errors, after which it is as it was: [ErrRunning] when the message is leased, [ErrDead]
// for a dead letter (see [Queue.Redrive]), [ErrNotFound] when there is no such message,
// [ErrInvalid], also for a due time more than 10 years ahead. After any other error it may
// have been moved; repeating the call is safe. Costs one round trip.
func (q *Queue) Reschedule(ctx context.Context, ref Ref, to Schedule) error {
	return q.move(ctx, "reschedule", ref, func(p store.Partition, ref store.Ref) ([]store.Code, error) {
		due, delay, err := to.spans()
		if err != nil {
			return nil, err
		}
		return numbered(q.client, func(caller string, number uint64) ([]store.Code, error) {
			moves := []store.Move{{Ref: ref, Due: due, Delay: delay}}
			return q.client.store.Reschedule(ctx, p, store.RescheduleRequest{Caller: caller, Number: number, Moves: moves})
		})
	})
}

// spans returns the schedule in ms.
func (s Schedule) spans() (due, delay int64, err error) {
	if s.Delay < 0 {
		return 0, 0, invalid("delay", "%s is negative", s.Delay)
	}
	return toInstant(s.Due), toSpan(s.Delay), nil
}

// move does something to one message that needs it not to be leased.
func (q *Queue) move(ctx context.Context, op string, ref Ref, do func(store.Partition, store.Ref) ([]store.Code, error)) error {
	if err := q.guard(ctx); err != nil {
		return fail(op, q.name, ref.String(), err)
	}
	p, plain, err := q.locate(ctx, ref)
	if err != nil {
		return fail(op, q.name, ref.String(), err)
	}
	codes, err := do(p, plain)
	if err == nil && codes[0] == store.CodeNotFound {
		var moved bool
		if p, moved, err = q.relocate(ctx, p, plain); moved {
			codes, err = do(p, plain)
		}
	}
	if err == nil {
		err = codeError(codes[0])
	}
	return fail(op, q.name, ref.String(), err)
}

// Stats returns the queue's sizes and counters; each partition is read at its own
// instant. Errors: [ErrNotFound] for an unknown queue.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	if err := q.guard(ctx); err != nil {
		return Stats{}, fail("stats", q.name, "", err)
	}
	all, err := q.client.store.Stats(ctx, q.name)
	if err != nil {
		return Stats{}, fail("stats", q.name, "", err)
	}
	return toStats(&all[0]), nil
}

// codeError is the one place where the codes of a store become errors.
func codeError(code store.Code) error {
	switch code {
	case store.CodeOK:
		return nil
	case store.CodeDuplicate, store.CodeConflict, store.CodeFull, store.CodeTooFar, store.CodeExpires:
		return consumer.Refusal(code)
	case store.CodeStale:
		return fmt.Errorf("overtaken by a later call: %w", ErrUnavailable)
	case store.CodeNotFound, store.CodeGone:
		return ErrNotFound
	case store.CodeRunning:
		return ErrRunning
	case store.CodeDead:
		return ErrDead
	case store.CodeLeaseLost:
		return ErrLeaseLost
	case store.CodeCancelled:
		return ErrCancelled
	default:
		return fmt.Errorf("code %s: %w", code, errors.ErrUnsupported)
	}
}
