package dueq

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Cancel removes a message that is scheduled or ready. After nil the message is gone: it is not
// delivered any more.
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

// Reschedule gives a message that is scheduled or ready a new due time. nil means that it has it.
//
// Errors after which the message is unchanged: [ErrRunning] when the message is leased, [ErrDead]
// for a dead letter (see [Queue.Redrive]), [ErrNotFound] when there is no such message,
// [ErrInvalid], also for a due time more than 10 years ahead. After any other error it may have
// been moved; repeating the call is safe. Costs one round trip.
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
		return 0, 0, negative("delay", s.Delay)
	}
	return toInstant(s.Due), toSpan(s.Delay), nil
}

// move changes one message that must not be leased.
func (q *Queue) move(ctx context.Context, op string, ref Ref, do func(store.Partition, store.Ref) ([]store.Code, error)) error {
	if err := q.guard(ctx); err != nil {
		return fail(op, q.name, ref.String(), err)
	}
	plain, err := ref.plain()
	code := store.CodeNotFound
	if err == nil {
		err = q.ask(ctx, plain, func(homes []store.Partition) (live bool, err error) {
			code, err = moveIn(homes, plain, do)
			return code != store.CodeNotFound && code != store.CodeDead, err
		})
	}
	if err == nil {
		err = code.Err()
	}
	return fail(op, q.name, ref.String(), err)
}

// moveIn changes one message in the first of the partitions that has it. A live one comes before a
// dead one.
func moveIn(homes []store.Partition, ref store.Ref, do func(store.Partition, store.Ref) ([]store.Code, error)) (store.Code, error) {
	code := store.CodeNotFound
	for _, p := range homes {
		codes, err := do(p, ref)
		switch {
		case err != nil:
			return code, err
		case codes[0] == store.CodeDead:
			code = store.CodeDead
		case codes[0] != store.CodeNotFound:
			return codes[0], nil
		}
	}
	return code, nil
}

// Redrive makes dead messages due now, with their failures and TTLs cleared, and returns how
// many: dead -> ready. Without refs it does nothing and returns 0, nil; for every dead message
// see [Queue.RedriveAll].
//
// The error joins an [*Error] for each message that was not redriven, with the ref in Error.ID:
// [ErrNotFound] when there is no such dead message, [ErrDuplicate] when another message has its
// key (Error.Holder). All others are redriven. With [ErrInvalid] for one of the refs nothing is
// done. After any other error the count has those that are known to be redriven; the call can be
// repeated. It costs a call for each partition and 500 messages, and one for each key.
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

// each changes several messages, in calls of at most store.MaxBatch.
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
				refused = append(refused, refusal(op, q.name, found.refs[ids[i]].String(), r))
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

// resolveAll finds the messages that refs name. refused has an error for each key that names
// none; err is an error because of which nothing can be done.
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

// purgeSome removes up to store.MaxBatch messages.
func (q *Queue) purgeSome(ctx context.Context, p store.Partition, r store.PurgeRequest) (int, error) {
	r.Limit = store.MaxBatch
	result, err := numbered(q.client, func(caller string, number uint64) (store.PurgeResult, error) {
		r.Caller, r.Number = caller, number
		return q.client.store.Purge(ctx, p, r)
	})
	return result.Removed, err
}

// Stats are the sizes and counters of a queue, over all its partitions. Each partition is
// read at its own instant.
type Stats struct {
	Queue    string
	Settings Settings

	Scheduled int64 // messages due later
	Ready     int64 // messages due now
	Leased    int64 // messages held by consumers
	Dead      int64 // dead letters
	Done      int64 // messages that have ended and are kept, see Settings.History

	// OldestReady is how long the oldest ready message has been due; 0 if none is ready.
	OldestReady time.Duration
	Consumers   int // that run now, as far as the store knows; each reports every 10 s
	// Remembered is how many messages that are gone are still recognized when they are sent again
	// (see Settings.DedupFor); it can include some whose time has passed.
	Remembered int64
	Counters   Counters
}

// Counters count what happened in a queue since it was made.
type Counters struct {
	Sent         int64 // messages stored
	Delivered    int64 // deliveries, including repeated ones
	Acked        int64
	Nacked       int64 // failures that handlers reported
	Released     int64 // deliveries released without a failure
	Snoozed      int64 // deliveries postponed without a failure
	Repeated     int64 // occurrences that ended and were followed by another
	Rejected     int64
	LeaseLost    int64 // leases that ran out
	DeadLettered int64 // times that a message became a dead letter
	Cancelled    int64 // removed by a cancel
	Replaced     int64 // removed by a send with Replace
	Expired      int64 // removed after their TTL
	Redriven     int64 // dead letters made ready again
	Purged       int64
	DeadExpired  int64 // dead letters removed because of Settings.DeadRetention or MaxDead
	Duplicates   int64 // sends refused because of their key
	Deduplicated int64 // sends that stored nothing because of their DedupID, or the ID of a message that is gone
	Forgotten    int64 // messages that were gone and forgotten before DedupFor had passed (see Settings.DedupFor)
}

// Gone returns how many messages have left the queue. At every instant
// Sent = Gone + live messages, dead letters included.
func (c Counters) Gone() int64 {
	return c.Acked + c.Cancelled + c.Replaced + c.Expired + c.Purged + c.DeadExpired
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

// Stats returns sizes and counters of every queue in the order of their names; none
// is not an error. Costs one read of each partition.
func (c *Client) Stats(ctx context.Context) ([]Stats, error) {
	if err := c.guard(ctx); err != nil {
		return nil, fail("stats", "", "", err)
	}
	found, err := c.store.Stats(ctx, "")
	if err != nil {
		return nil, fail("stats", "", "", err)
	}
	all := make([]Stats, len(found))
	for i := range found {
		all[i] = toStats(&found[i])
	}
	return all, nil
}

func toStats(s *store.Stats) Stats {
	return Stats{
		Queue: s.Queue, Settings: toSettings(s.Settings),
		Scheduled: s.Scheduled, Ready: s.Ready, Leased: s.Leased, Dead: s.Dead, Done: s.Done,
		OldestReady: fromSpan(s.OldestReady), Consumers: s.Consumers, Remembered: s.Remembered, Counters: Counters(s.Counters),
	}
}

// Problem is one inconsistency that [Queue.Check] found.
type Problem struct {
	ID   string // the element, such as the id of a message; "" for a whole partition or queue
	Text string
}

// Report is the result of [Queue.Check].
type Report struct {
	Examined int       // examined elements: messages, leases, keys
	Problems []Problem // none: the queue is consistent
}

// Check audits the whole queue in bounded steps, while it is in use: every message is in exactly
// one state, every reference has a target, the counters add up. It changes nothing. Costs a read
// of every message. Errors: [ErrNotFound] for an unknown queue; with any error the report has the
// results until then.
func (q *Queue) Check(ctx context.Context) (Report, error) {
	if err := q.guard(ctx); err != nil {
		return Report{}, fail("check", q.name, "", err)
	}
	s, err := q.read(ctx)
	if err != nil {
		return Report{}, fail("check", q.name, "", err)
	}
	var report Report
	for index := range s.Partitions {
		if err := q.checkPartition(ctx, q.partition(index), &report); err != nil {
			return report, fail("check", q.name, "", err)
		}
	}
	return report, nil
}

func (q *Queue) checkPartition(ctx context.Context, p store.Partition, report *Report) error {
	cursor := ""
	for {
		found, err := q.client.store.Check(ctx, p, store.CheckRequest{Cursor: cursor, Limit: store.MaxListLimit})
		if err != nil {
			return err
		}
		report.Examined += found.Examined
		report.Problems = append(report.Problems, toProblems(found.Problems)...)
		if cursor = found.Next; cursor == "" {
			return nil
		}
	}
}

func toProblems(found []store.Problem) []Problem {
	problems := make([]Problem, len(found))
	for i, p := range found {
		problems[i] = Problem(p)
	}
	return problems
}
