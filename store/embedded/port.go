package embedded

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// The methods of the port: each validates its request, finds the partition and runs one
// step on it. A partition that does not exist answers like an empty one.

// Push stores messages and makes the queue, with default settings, and the
// partition where they are missing. O(n log N) for n messages and a backlog of N.
func (s *Store) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	for {
		results, err := s.pushTo(ctx, s.makePartition(p), r)
		if err != errVanished { //nolint:errorlint // it is never wrapped
			return results, err
		}
	}
}

func (s *Store) pushTo(ctx context.Context, part *partition, r store.PushRequest) (results []store.PushResult, err error) {
	var refused error
	err = s.change(ctx, part, pushEffort(&r), func(now instant) { results, refused = part.push(r, now) })
	if err := cmp.Or(refused, err); err != nil {
		return nil, err
	}
	return results, nil
}

// Claim hands out messages that are due, after it has put back at most 100 whose
// leases ran out. O(n log N).
func (s *Store) Claim(ctx context.Context, p store.Partition, r store.ClaimRequest) (store.ClaimResult, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return store.ClaimResult{}, err
	}
	part := s.partition(p)
	if part == nil && r.Of != 0 && s.missing(p.Queue) {
		return store.ClaimResult{}, &store.Error{Queue: p.Queue, Err: fmt.Errorf("the queue was deleted: %w", store.ErrNotFound)}
	}
	if part == nil {
		return store.ClaimResult{Wait: store.MaxWait}, nil
	}
	if err := part.repartitioned(r.Of); err != nil {
		return store.ClaimResult{}, err
	}
	result, err := s.claimDurably(ctx, part, r)
	if err != nil {
		return store.ClaimResult{}, err
	}
	return result, nil
}

// Settle ends deliveries. O(n log N).
func (s *Store) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	part := s.partition(p)
	switch {
	case part == nil && r.Verdict == store.Next: // whose messages are not stored
		return slices.Repeat([]store.Code{store.CodeLeaseLost}, len(r.Items)), nil
	case part == nil:
		return slices.Repeat([]store.Code{store.CodeGone}, len(r.Items)), nil
	case r.Verdict == store.Next:
		return s.nextDurably(ctx, part, r)
	}
	r.Items = s.affordable(r.Items)
	return s.settleDurably(ctx, part, r)
}

// Extend makes leases last longer. O(n log N).
func (s *Store) Extend(ctx context.Context, p store.Partition, r store.ExtendRequest) ([]store.Code, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	part := s.partition(p)
	if part == nil {
		return slices.Repeat([]store.Code{store.CodeGone}, len(r.Receipts)), nil
	}
	var codes []store.Code
	err := s.change(ctx, part, extendEffort(len(r.Receipts)), func(now instant) { codes = part.extendAll(r, now) })
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// Cancel removes messages that are not leased and notifies the holders of the others.
// O(n log N).
func (s *Store) Cancel(ctx context.Context, p store.Partition, r store.CancelRequest) ([]store.Code, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	part := s.partition(p)
	if part == nil {
		return slices.Repeat([]store.Code{store.CodeNotFound}, len(r.Refs)), nil
	}
	var codes []store.Code
	var stopped []store.Event
	err := s.change(ctx, part, moveEffort(len(r.Refs)), func(now instant) { codes, stopped = part.cancel(r, now) })
	s.watchers.notify(p.Queue, stopped...)
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// Reschedule gives waiting messages another due time. O(n log N).
func (s *Store) Reschedule(ctx context.Context, p store.Partition, r store.RescheduleRequest) ([]store.Code, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	part := s.partition(p)
	if part == nil {
		return slices.Repeat([]store.Code{store.CodeNotFound}, len(r.Moves)), nil
	}
	var codes []store.Code
	err := s.change(ctx, part, moveEffort(len(r.Moves)), func(now instant) { codes = part.reschedule(r, now) })
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// Get returns one message with its whole body.
func (s *Store) Get(ctx context.Context, p store.Partition, ref store.Ref) (store.Record, error) {
	if err := s.usable(ctx, p.Validate(), ref.Validate()); err != nil {
		return store.Record{}, err
	}
	var record store.Record
	err := store.ErrNotFound
	if part := s.partition(p); part != nil {
		s.reading(part, func(now instant) { record, err = part.get(ref, now) })
	}
	if err != nil {
		return store.Record{}, about(p, ref, err)
	}
	return record, nil
}

func about(p store.Partition, ref store.Ref, err error) error {
	e := &store.Error{Queue: p.Queue, Err: err}
	if !ref.ID.IsZero() {
		e.ID = ref.ID.String()
	}
	return e
}

// List returns a page of the messages in a state. It may be shorter than r.Limit
// although there are more: it ends when its bodies reach store.MaxBatchBytes.
func (s *Store) List(ctx context.Context, p store.Partition, r store.ListRequest) (store.Page, error) {
	from, invalid := listFrom(r)
	if err := s.usable(ctx, p.Validate(), invalid); err != nil {
		return store.Page{}, err
	}
	var page store.Page
	if part := s.partition(p); part != nil {
		s.reading(part, func(now instant) { page = part.list(r, from, now) })
	}
	return page, nil
}

// Stats returns sizes and counters. Its cost grows only with the messages that have
// become ready since the last call; they are counted in steps between which other calls run.
func (s *Store) Stats(ctx context.Context, queue string) ([]store.Stats, error) {
	var invalid error
	if queue != "" {
		invalid = store.ValidateQueue(queue)
	}
	if err := s.usable(ctx, invalid); err != nil {
		return nil, err
	}
	names, err := s.known(queue)
	if err != nil {
		return nil, err
	}
	all := make([]store.Stats, len(names))
	for i, name := range names {
		settings, shards := s.shards(name)
		all[i] = store.Stats{Queue: name, Settings: settings, Consumers: len(s.members.live(name, s.clock()))}
		for _, part := range shards {
			part.addTo(&all[i], s.clock)
		}
	}
	all = slices.DeleteFunc(all, func(st store.Stats) bool { return st.Settings.Version == 0 }) // deleted meanwhile
	if queue != "" && len(all) == 0 {
		return nil, notFound(queue)
	}
	return all, nil
}

// Queues returns the names of all queues in order.
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.known("")
}

// Redrive makes dead letters due again. O(n log N).
func (s *Store) Redrive(ctx context.Context, p store.Partition, r store.RedriveRequest) ([]store.PushResult, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	part := s.partition(p)
	if part == nil {
		return slices.Repeat([]store.PushResult{{Code: store.CodeNotFound}}, len(r.Items)), nil
	}
	var results []store.PushResult
	err := s.change(ctx, part, moveEffort(len(r.Items)), func(now instant) { results = part.redriveAll(r, now) })
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Purge removes messages that are not leased. O(n log N).
func (s *Store) Purge(ctx context.Context, p store.Partition, r store.PurgeRequest) (store.PurgeResult, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return store.PurgeResult{}, err
	}
	part := s.partition(p)
	if part == nil {
		return store.PurgeResult{}, nil
	}
	var result store.PurgeResult
	if err := s.change(ctx, part, moveEffort(r.Limit), func(now instant) { result = part.purge(r, now) }); err != nil {
		return store.PurgeResult{}, err
	}
	return result, nil
}

// Restore stores messages of another store. O(n log N).
func (s *Store) Restore(ctx context.Context, p store.Partition, r store.RestoreRequest) ([]store.Code, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	for {
		if s.missing(p.Queue) {
			return nil, notFound(p.Queue)
		}
		codes, err := s.restoreTo(ctx, s.makePartition(p), r)
		if err != errVanished { //nolint:errorlint // it is never wrapped
			return codes, err
		}
	}
}

func (s *Store) restoreTo(ctx context.Context, part *partition, r store.RestoreRequest) (codes []store.Code, err error) {
	if err := part.repartitioned(r.Of); err != nil {
		return nil, err
	}
	var refused error
	err = s.change(ctx, part, restoreEffort(&r), func(now instant) { codes, refused = part.restore(r, now) })
	if err := cmp.Or(refused, err); err != nil {
		return nil, err
	}
	return codes, nil
}

// Configure changes or reads a queue's settings. Claims that begin after it returned
// obey them.
func (s *Store) Configure(ctx context.Context, queue string, c store.Change) (store.Settings, error) {
	if err := s.usable(ctx, store.ValidateQueue(queue), c.Validate()); err != nil {
		return store.Settings{}, err
	}
	settings, err := s.configureDurably(ctx, queue, c)
	if err != nil {
		return store.Settings{}, err
	}
	if c.Partitions != nil || c.Paused != nil && !*c.Paused { // consumers look at once
		for i := range settings.Partitions {
			s.watchers.notify(queue, store.Event{Kind: store.EventWake, Partition: i})
		}
	}
	return settings, nil
}

// Beat keeps a client's consumers alive. Their queues need not exist and are not created.
func (s *Store) Beat(ctx context.Context, r store.BeatRequest) (store.BeatResult, error) {
	if err := s.usable(ctx, r.Validate()); err != nil {
		return store.BeatResult{}, err
	}
	return s.members.beat(r, s.clock), nil
}

// Duties returns the duties of consumers.
func (s *Store) Duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	if err := s.usable(ctx, store.ValidateDuties(r)); err != nil {
		return nil, err
	}
	all := make([]store.Duties, len(r))
	for i := range r {
		all[i] = s.members.duties(r[i])
	}
	return all, nil
}

// Members returns the live consumers of a queue in order.
func (s *Store) Members(ctx context.Context, queue string) ([]store.LiveMember, error) {
	if err := s.usable(ctx, store.ValidateQueue(queue)); err != nil {
		return nil, err
	}
	return s.members.live(queue, s.clock()), nil
}

// Notify notifies the watchers of a queue.
func (s *Store) Notify(ctx context.Context, queue string, e store.Event) error {
	if err := s.usable(ctx, store.ValidateQueue(queue), e.ValidateNotice()); err != nil {
		return err
	}
	s.watchers.notify(queue, e)
	return nil
}

// Now returns the store's clock, which is the same for all partitions.
func (s *Store) Now(ctx context.Context, p store.Partition) (int64, error) {
	if err := s.usable(ctx, p.Validate()); err != nil {
		return 0, err
	}
	return s.clock().ms, nil
}

// Leave does nothing: what is remembered of a consumer is small, and forgotten in time.
func (s *Store) Leave(ctx context.Context, p store.Partition, r store.LeaveRequest) error {
	return s.usable(ctx, p.Validate(), r.Validate())
}

// Watch calls notify, in the goroutine of the caller, for the events of a queue,
// which need not exist. It returns nil when ctx ends, also before it began, and
// store.ErrClosed when the store is closed. A watcher more than 256 events behind gets a Resync instead.
func (s *Store) Watch(ctx context.Context, queue string, notify func(store.Event)) error {
	if err := s.usable(context.WithoutCancel(ctx), store.ValidateQueue(queue)); err != nil {
		return err
	}
	w := newWatcher()
	s.watchers.add(queue, w)
	defer s.watchers.remove(queue, w)
	return w.run(ctx, s.closed, notify)
}

// Check compares a partition's indexes with each other.
func (s *Store) Check(ctx context.Context, p store.Partition, r store.CheckRequest) (store.CheckResult, error) {
	letter, from, invalid := checkFrom(r)
	if err := s.usable(ctx, p.Validate(), invalid); err != nil {
		return store.CheckResult{}, err
	}
	var result store.CheckResult
	if part := s.partition(p); part != nil {
		s.reading(part, func(instant) { result = part.check(letter, from, r.Limit) })
	}
	return result, nil
}
