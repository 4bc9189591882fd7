package dueq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
		err = codes[0].Err()
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

// Redrive makes dead messages due now, with their failures and TTLs forgotten, and returns
// how many: dead -> ready. Without refs it does nothing and returns 0, nil; for every dead
// message see [Queue.RedriveAll].
//
// The error joins an [*Error] for each message that was not redriven, with the ref in
// Error.ID: [ErrNotFound] when there is no such dead message, [ErrDuplicate] when another
// message has its key (Error.Holder). All others are redriven. With [ErrInvalid] for one of
// the refs nothing is done. After any other error the count is of those that are known to
// be redriven; the call can be repeated. Costs a call for each partition and 500 messages,
// and one for each key.
func (q *Queue) Redrive(ctx context.Context, refs ...Ref) (int, error) {
	return q.each(ctx, "redrive", refs, func(p store.Partition, ids []store.ID) ([]store.PushResult, error) {
		items := make([]store.Redrive, len(ids))
		for i, id := range ids {
			items[i].ID = id
		}
		return q.redriveItems(ctx, p, items)
	})
}

// Delete removes messages for good, and returns how many: scheduled, ready and dead ones.
// Without refs it does nothing and returns 0, nil; for every message that a filter chooses see
// [Queue.Purge]. Live ones count as cancelled, dead ones as purged.
//
// The error joins an [*Error] for each message that was not removed, with the ref in
// Error.ID: [ErrRunning] when it is leased, and is cancelled as by [Queue.Cancel];
// [ErrNotFound] when there is no such message. All others are removed. Other errors and costs
// are those of [Queue.Redrive].
func (q *Queue) Delete(ctx context.Context, refs ...Ref) (int, error) {
	return q.each(ctx, "delete", refs, func(p store.Partition, ids []store.ID) ([]store.PushResult, error) {
		r := store.CancelRequest{Dead: true}
		for _, id := range ids {
			r.Refs = append(r.Refs, store.Ref{ID: id})
		}
		codes, err := numbered(q.client, func(caller string, number uint64) ([]store.Code, error) {
			r.Caller, r.Number = caller, number
			return q.client.store.Cancel(ctx, p, r)
		})
		results := make([]store.PushResult, len(codes))
		for i, code := range codes {
			results[i].Code = code
		}
		return results, err
	})
}

// each does something to several messages, in calls of at most store.MaxBatch.
func (q *Queue) each(ctx context.Context, op string, refs []Ref, do func(store.Partition, []store.ID) ([]store.PushResult, error)) (int, error) {
	found, refused, err := q.resolveAll(ctx, op, refs)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, index := range slices.Sorted(maps.Keys(found.parts)) {
		for ids := range slices.Chunk(found.parts[index], store.MaxBatch) {
			results, err := do(q.partition(index), ids)
			if err != nil {
				return total, errors.Join(append(refused, fail(op, q.name, "", err))...)
			}
			for i, r := range results {
				if r.Code == store.CodeOK {
					total++
					continue
				}
				refused = append(refused, q.refusal(op, found.refs[ids[i]].String(), r))
			}
		}
	}
	return total, errors.Join(refused...)
}

// found are messages by partition, each once, and the refs that named them.
type found struct {
	parts map[int][]store.ID
	refs  map[store.ID]Ref
}

// resolveAll finds the messages that refs name. refused has an error for each key that
// names none; err is why nothing can be done at all.
func (q *Queue) resolveAll(ctx context.Context, op string, refs []Ref) (f found, refused []error, err error) {
	if err := q.guard(ctx); err != nil {
		return f, nil, fail(op, q.name, "", err)
	}
	for _, ref := range refs {
		if _, err := ref.plain(); err != nil {
			return f, nil, fail(op, q.name, ref.String(), err)
		}
	}
	f = found{parts: map[int][]store.ID{}, refs: map[store.ID]Ref{}}
	for _, ref := range refs {
		id, err := q.resolve(ctx, ref)
		if errors.Is(err, ErrNotFound) {
			refused = append(refused, fail(op, q.name, ref.String(), err))
			continue
		}
		if err != nil {
			return f, nil, fail(op, q.name, ref.String(), err)
		}
		if _, twice := f.refs[id]; !twice {
			f.refs[id] = ref
			f.parts[id.Partition()] = append(f.parts[id.Partition()], id)
		}
	}
	return f, refused, nil
}

// resolve returns the id of the message that a ref names. One with an id need not exist.
func (q *Queue) resolve(ctx context.Context, ref Ref) (store.ID, error) {
	if ref.by == byID {
		plain, err := ref.plain()
		return plain.ID, err
	}
	r, err := q.get(ctx, ref)
	return r.ID, err
}

func (q *Queue) redriveItems(ctx context.Context, p store.Partition, items []store.Redrive) ([]store.PushResult, error) {
	return numbered(q.client, func(caller string, number uint64) ([]store.PushResult, error) {
		return q.client.store.Redrive(ctx, p, store.RedriveRequest{Caller: caller, Number: number, Items: items})
	})
}

// purgeSome removes up to store.MaxBatch messages.
func (q *Queue) purgeSome(ctx context.Context, p store.Partition, r store.PurgeRequest) (int, error) {
	r.Limit = store.MaxBatch
	result, err := numbered(q.client, func(caller string, number uint64) (store.PurgeResult, error) {
		r.Caller, r.Number = caller, number
		return q.client.store.Purge(ctx, p, r)
	})
	return result.Removed, err
}

// refusal says why the store refused one message.
func (q *Queue) refusal(op, id string, r store.PushResult) error {
	err := r.Code.Err()
	if !r.Holder.IsZero() {
		holder := r.Holder.String()
		err = &Error{Field: "key", Holder: holder, Err: fmt.Errorf("belongs to message %s: %w", holder, ErrDuplicate)}
	}
	return fail(op, q.name, id, err)
}
