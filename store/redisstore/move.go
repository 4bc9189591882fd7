package redisstore

import (
	"context"
	"strconv"

	"github.com/dueq-dev/dueq/store"
)

// Cancel implements store.Store. A batch of messages with more than about 1 MiB of
// records is cancelled in several steps, each of them atomic.
func (s *Store) Cancel(ctx context.Context, p store.Partition, refs []store.Ref) ([]store.Code, error) {
	if err := firstError(p.Validate(), store.ValidateRefs(refs)); err != nil {
		return nil, err
	}
	c := call{op: "cancel", queue: p.Queue, script: s.scripts["cancel"], keys: s.partitionKeys(p, 5)}
	return codes(s.batch(ctx, c, len(refs), store.CodeNotFound, func(from int) []any {
		args := make([]any, 0, 2+len(refs)-from)
		args = append(args, s.eventsChannel(p.Queue), strconv.Itoa(p.Index))
		for _, ref := range refs[from:] {
			args = append(args, refText(ref))
		}
		return args
	}))
}

// Reschedule implements store.Store.
func (s *Store) Reschedule(ctx context.Context, p store.Partition, moves []store.Move) ([]store.Code, error) {
	if err := firstError(p.Validate(), store.ValidateMoves(moves)); err != nil {
		return nil, err
	}
	c := call{op: "reschedule", queue: p.Queue, script: s.scripts["reschedule"], keys: s.partitionKeys(p, 5)}
	return codes(s.batch(ctx, c, len(moves), store.CodeNotFound, func(from int) []any {
		moves, n := moves[from:], len(moves)-from
		args := make([]any, 3+3*n)
		args[0], args[1], args[2] = s.eventsChannel(p.Queue), wakeEvent(p), int64(store.MaxDelay)
		for i, m := range moves {
			args[3+i], args[3+n+i], args[3+2*n+i] = refText(m.Ref), m.Due, m.Delay
		}
		return args
	}))
}

// Redrive implements store.Store.
func (s *Store) Redrive(ctx context.Context, p store.Partition, ids []store.ID) ([]store.PushResult, error) {
	if err := firstError(p.Validate(), store.ValidateIDs(ids)); err != nil {
		return nil, err
	}
	c := call{op: "redrive", queue: p.Queue, script: s.scripts["redrive"], keys: s.partitionKeys(p, 5)}
	return s.batch(ctx, c, len(ids), store.CodeNotFound, func(from int) []any {
		return appendIDs([]any{s.eventsChannel(p.Queue), wakeEvent(p)}, ids[from:])
	})
}

// Purge implements store.Store. Messages with more than about 1 MiB of records are
// removed in several steps, each of them atomic.
func (s *Store) Purge(ctx context.Context, p store.Partition, r store.PurgeRequest) (int, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return 0, err
	}
	c := call{op: "purge", queue: p.Queue, script: s.scripts["purge"], keys: s.partitionKeys(p, 5)}
	ids, removed := r.IDs, 0
	for {
		c.args = appendIDs([]any{string(r.State), r.Limit - removed}, ids)
		got, err := s.run(ctx, c)
		if err != nil {
			return removed, err
		}
		fields, ok := got.([]any)
		if !ok || len(fields) != 2 {
			return removed, fail(c.op, c.queue, unexpected(got))
		}
		n, done := int(number(fields[0])), int(number(fields[1]))
		removed += n
		if removed >= r.Limit || n == 0 || done >= len(ids) && len(r.IDs) > 0 || done == 0 {
			return removed, nil
		}
		if len(ids) > 0 {
			ids = ids[done:]
		}
	}
}

func appendIDs(args []any, ids []store.ID) []any {
	for _, id := range ids {
		args = append(args, id.String())
	}
	return args
}

// refText is how the scripts take a reference. An id has no colon.
func refText(r store.Ref) string {
	if r.ID.IsZero() {
		return "k:" + r.Key
	}
	return r.ID.String()
}
