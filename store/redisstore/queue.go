package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/dueq-dev/dueq/store"
)

func optional[T int | int64](v *T) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}

func optionalBit(v *bool) string {
	if v == nil {
		return ""
	}
	return bit(*v)
}

// Configure implements store.Store. The settings are changed first, then taken over by
// each partition; after an error in between, repeating the call completes it. Of two
// changes at a time the later one wins in every partition.
func (s *Store) Configure(ctx context.Context, queue string, c store.Change) (store.Settings, error) {
	if err := store.ValidateQueue(queue); err != nil {
		return store.Settings{}, err
	}
	if err := c.Validate(); err != nil {
		return store.Settings{}, err
	}
	if c.Reads() || c == (store.Change{Create: true}) {
		settings, err := s.read(ctx, "configure", queue)
		if err == nil || !c.Create || !errors.Is(err, store.ErrNotFound) {
			return settings.Settings, err
		}
	}
	settings, err := s.configure(ctx, queue, c)
	return settings.Settings, err
}

// configure makes a change and repeats it as long as a partition turns out to have later
// settings than those it was made to.
func (s *Store) configure(ctx context.Context, queue string, c store.Change) (queueSettings, error) {
	settings, changed, err := s.change(ctx, "configure", queue, c, false)
	if err != nil || !changed && c == (store.Change{Create: true}) {
		return settings, err
	}
	for range reconciliations {
		found, err := s.spread(ctx, queue, settings)
		if err != nil || found.Version <= settings.Version {
			return settings, err
		}
		settings, _, err = s.meta(ctx, "configure", queue)
		if err == nil && settings.Version < found.Version {
			// The queue had lost later settings, and the change was not made to these.
			settings, _, err = s.change(ctx, "configure", queue, c, false)
		}
		if err != nil {
			return queueSettings{}, err
		}
	}
	return queueSettings{}, fail("configure", queue, errUnsettled)
}

// spread gives all partitions the queue's settings, until one has later ones, which it
// returns.
func (s *Store) spread(ctx context.Context, queue string, settings queueSettings) (queueSettings, error) {
	for i := range settings.Partitions {
		found, err := s.configurePartition(ctx, "configure", store.Partition{Queue: queue, Index: i}, settings)
		if err != nil || found.Version > settings.Version {
			return found, err
		}
	}
	return settings, nil
}

// configurePartition makes a partition if it is missing and gives it settings, or returns
// those it has if they are later.
func (s *Store) configurePartition(ctx context.Context, op string, p store.Partition, settings queueSettings) (queueSettings, error) {
	got, err := s.run(ctx, call{
		op: op, queue: p.Queue, script: s.scripts["configure"], keys: s.partitionKeys(p, allKeys),
		args: append([]any{
			s.eventsChannel(p), wakeEvent(p), settings.Version, settings.Partitions, settings.ChangedBy, settings.LivePerPartition(),
			kept(settings), keptDone(settings),
		}, settingsValues(settings)...),
	})
	if err != nil {
		return queueSettings{}, err
	}
	fields, ok := got.([]any)
	if !ok {
		return queueSettings{}, fail(op, p.Queue, unexpected(got))
	}
	if len(fields) == 0 {
		return settings, nil
	}
	found, _, err := readCopy(fields)
	if err != nil {
		return queueSettings{}, fail(op, p.Queue, err)
	}
	if found.gone() {
		s.forget(p.Queue, found.Version)
	} else {
		s.remember(p.Queue, found)
	}
	return found, nil
}

// kept is what the scripts read of a partition that removes dead messages in time, "" of
// one that does not.
func kept(s queueSettings) string {
	if s.DeadRetention == 0 && s.MaxDead == 0 {
		return ""
	}
	return fmt.Sprintf("%d %d", s.DeadRetention, s.DeadPerPartition())
}

// keptDone is what the scripts read of a partition that keeps done messages, "" of one that
// does not.
func keptDone(s queueSettings) string {
	if s.History == 0 {
		return ""
	}
	return fmt.Sprintf("%d %d", s.History, s.DonePerPartition())
}

// Leave implements store.Store. Calls of several partitions that are made at the same time
// share pipelines.
func (s *Store) Leave(ctx context.Context, p store.Partition, r store.LeaveRequest) error {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return err
	}
	const calls = 5
	c := call{op: "leave", queue: p.Queue, script: s.scripts["leave"], keys: s.partitionKeys(p, calls+1)[calls:], joint: true}
	for _, name := range r.Consumers {
		c.args = append(c.args, name)
	}
	_, err := s.run(ctx, c)
	return err
}
