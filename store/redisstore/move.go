package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dueq-dev/dueq/store"
)

// The first arguments of reschedule.lua and redrive.lua, whose calls are numbered and done in steps.
const (
	numberedChannel = iota
	numberedWake
	numberedCaller
	numberedNumber
	numberedFrom
	numberedCount
)

func (s *Store) setNumbered(args []any, p store.Partition, caller string, number uint64, from int) {
	args[numberedChannel], args[numberedWake] = s.eventsChannel(p), wakeEvent(p)
	args[numberedCaller], args[numberedNumber], args[numberedFrom] = caller, sequence(number), from
}

// Cancel implements store.Store. A batch of messages with more than about 1 MiB of
// records is cancelled in several steps, each of them atomic.
func (s *Store) Cancel(ctx context.Context, p store.Partition, r store.CancelRequest) ([]store.Code, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	c := call{op: "cancel", queue: p.Queue, script: s.scripts["cancel"], keys: s.partitionKeys(p, allKeys)}
	return codes(s.steps(ctx, c, len(r.Refs), store.CodeNotFound, func(from int) []any {
		args := make([]any, 0, 6+len(r.Refs)-from)
		args = append(args, s.eventsChannel(p), strconv.Itoa(p.Index), r.Caller, sequence(r.Number), from, bit(r.Dead))
		for _, ref := range r.Refs[from:] {
			args = append(args, refText(ref))
		}
		return args
	}))
}

// Reschedule implements store.Store.
func (s *Store) Reschedule(ctx context.Context, p store.Partition, r store.RescheduleRequest) ([]store.Code, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	c := call{op: "reschedule", queue: p.Queue, script: s.scripts["reschedule"], keys: s.partitionKeys(p, 6)}
	args := func(from int) []any { return s.rescheduleArgs(p, r, from) }
	return codes(s.steps(ctx, c, len(r.Moves), store.CodeNotFound, args))
}

func (s *Store) rescheduleArgs(p store.Partition, r store.RescheduleRequest, from int) []any {
	const farthest, before = numberedCount + 1, numberedCount + 2
	moves, n := r.Moves[from:], len(r.Moves)-from
	args := make([]any, before+3*n)
	s.setNumbered(args, p, r.Caller, r.Number, from)
	args[numberedCount], args[farthest] = n, int64(store.MaxDelay)
	for i, m := range moves {
		args[before+i], args[before+n+i], args[before+2*n+i] = refText(m.Ref), m.Due, m.Delay
	}
	return args
}

// Redrive implements store.Store. A batch of messages with more than about 1 MiB of
// records is redriven in several steps, each of them atomic.
func (s *Store) Redrive(ctx context.Context, p store.Partition, r store.RedriveRequest) ([]store.PushResult, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	c := call{op: "redrive", queue: p.Queue, script: s.scripts["redrive"], keys: s.partitionKeys(p, 6)}
	args := func(from int) []any { return s.redriveArgs(p, r, from) }
	return s.steps(ctx, c, len(r.Items), store.CodeNotFound, args)
}

func (s *Store) redriveArgs(p store.Partition, r store.RedriveRequest, from int) []any {
	const of, before = numberedCount + 1, numberedCount + 2
	items, n := r.Items[from:], len(r.Items)-from
	args := make([]any, before+2*n)
	s.setNumbered(args, p, r.Caller, r.Number, from)
	args[numberedCount], args[of] = n, r.Of
	for i, item := range items {
		args[before+i], args[before+n+i] = item.ID.String(), item.Delay
	}
	return args
}

// Purge implements store.Store. Messages with more than about 1 MiB of records are
// removed in several steps, each of them atomic.
func (s *Store) Purge(ctx context.Context, p store.Partition, r store.PurgeRequest) (store.PurgeResult, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return store.PurgeResult{}, err
	}
	c := call{op: "purge", queue: p.Queue, script: s.scripts["purge"], keys: s.partitionKeys(p, allKeys)}
	for now := (purged{more: true}); ; {
		c.args = []any{string(r.State), r.Limit, r.Caller, sequence(r.Number), now.steps, now.looked, now.removed}
		if !r.All {
			c.args = appendIDs(c.args, r.IDs[now.looked:])
		}
		got, err := s.run(ctx, c)
		if err != nil {
			return store.PurgeResult{Removed: now.removed}, err
		}
		before := now.steps
		if now, err = readPurged(got, len(r.IDs)); err != nil {
			return store.PurgeResult{}, fail(c.op, c.queue, err)
		}
		switch {
		case now.steps == noPartition:
			return store.PurgeResult{}, nil
		case now.steps == staleCall:
			return store.PurgeResult{Stale: true}, nil
		case now.steps <= before:
			return store.PurgeResult{}, fail(c.op, c.queue, unexpected(got))
		case !now.more || now.removed >= r.Limit:
			return store.PurgeResult{Removed: now.removed}, nil
		}
	}
}

// purged is how far a purge has got.
type purged struct {
	steps   int
	looked  int // at ids
	removed int
	more    bool
}

// readPurged reads {steps, "looked removed more"}.
func readPurged(reply any, ids int) (purged, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields) != 2 {
		return purged{}, unexpected(reply)
	}
	steps, err := numberIn("purge", "steps", fields[0])
	if err != nil {
		return purged{}, err
	}
	p := purged{steps: int(steps)}
	if p.steps < 0 {
		return p, nil
	}
	more := 0
	if _, err := fmt.Sscanf(text(fields[1]), "%d %d %d", &p.looked, &p.removed, &more); err != nil || p.looked < 0 || p.looked > ids {
		return purged{}, unexpected(reply)
	}
	p.more = more == 1
	return p, nil
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
