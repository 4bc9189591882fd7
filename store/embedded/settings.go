package embedded

import (
	"fmt"
	"sync/atomic"

	"github.com/dueq-dev/dueq/store"
)

// queue is a named stream of messages. Its settings are read under a partition's
// mutex and replaced as a whole without it.
type queue struct {
	name       string
	store      *Store
	settings   atomic.Pointer[store.Settings]
	partitions map[int]*partition // under Store.mu
	home       uint32             // segment of the log with the settings' last frame, under Store.mu
}

func newQueue(name string, s *Store) *queue {
	q := &queue{name: name, store: s, partitions: make(map[int]*partition)}
	q.settings.Store(&store.Settings{Partitions: store.DefaultPartitions, MaxBody: store.DefaultMaxBody, Version: 1})
	return q
}

// partition returns a partition and makes it if it is missing, under the store's mutex.
func (q *queue) partition(index int) *partition {
	if q.partitions[index] == nil {
		q.partitions[index] = newPartition(q, index)
	}
	return q.partitions[index]
}

// makePartitions makes those that the settings name, so that they know it when the
// queue is paused before the first push.
func (q *queue) makePartitions() {
	for i := range q.load().Partitions {
		q.partition(i)
	}
}

func (q *queue) load() store.Settings { return *q.settings.Load() }

// changed returns the settings with a change.
func changed(s store.Settings, c store.Change, exists bool) (store.Settings, error) {
	set(&s.From, c.From)
	set(&s.Drained, c.Drained)
	if c.Partitions != nil && *c.Partitions != s.Partitions {
		if err := grow(&s, *c.Partitions, exists); err != nil {
			return s, err
		}
	}
	set(&s.MaxBody, c.MaxBody)
	set(&s.MaxMessages, c.MaxMessages)
	set(&s.Paused, c.Paused)
	set(&s.DeadRetention, c.DeadRetention)
	set(&s.MaxDead, c.MaxDead)
	set(&s.History, c.History)
	set(&s.MaxHistory, c.MaxHistory)
	set(&s.MaxAttempts, c.MaxAttempts)
	set(&s.Lease, c.Lease)
	set(&s.BackoffBase, c.BackoffBase)
	set(&s.BackoffMost, c.BackoffMost)
	set(&s.DedupFor, c.DedupFor)
	return s, nil
}

// grow changes the number of partitions.
func grow(s *store.Settings, partitions int, exists bool) error {
	switch {
	case exists && partitions < s.Partitions:
		return &store.Error{Field: "partitions", Err: fmt.Errorf("%d is fewer than the queue has, %d: %w",
			partitions, s.Partitions, store.ErrInvalid)}
	case s.From != 0:
		return &store.Error{Field: "partitions", Err: fmt.Errorf("the queue is growing from %d to %d partitions: %w",
			s.From, s.Partitions, store.ErrConflict)}
	case exists:
		s.From, s.Drained = s.Partitions, 0
	}
	s.Partitions = partitions
	return nil
}

// set is for a field of a change, which is nil where nothing changes.
func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

// configure changes a queue's settings under the store's mutex, and writes them down.
func (s *Store) configure(name string, c store.Change) (store.Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, exists := s.queues[name]
	if !exists {
		if !c.Create {
			return store.Settings{}, notFound(name)
		}
		q = newQueue(name, s)
	}
	old := q.load()
	if exists && c.If != 0 && c.If != old.Version {
		if c.Token == old.ChangedBy {
			return old, nil // it is repeated
		}
		return store.Settings{}, fmt.Errorf("version %d: %w", old.Version, store.ErrConflict)
	}
	settings, err := changed(old, c, exists)
	if err != nil {
		return store.Settings{}, err
	}
	if !exists || settings != old {
		settings.Version, settings.ChangedBy = max(old.Version+1, s.clock().ms), c.Token
		q.settings.Store(&settings)
		s.queues[name] = q
		q.writeSettings()
	}
	q.makePartitions()
	return settings, nil
}

// settingsSize is how many bytes writeSettings appends, at most.
const settingsSize = 32 + 2 + store.MaxQueueName + 15*10 + 1 + store.MaxCallerName

// Known returns a queue's settings.
func (s *Store) Known(queue string) (store.Settings, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q := s.queues[queue]
	if q == nil {
		return store.Settings{}, false
	}
	return q.load(), true
}

// writeSettings appends the settings to the log, if there is one, under the store's
// mutex.
func (q *queue) writeSettings() {
	if log := q.store.log; log != nil {
		spot, _ := log.Append(appendSettings(q.name, q.load()))
		q.home = spot.Segment
	}
}

// repeatSettings writes a queue's settings down again, unless that was done in a
// segment behind the oldest.
func (s *Store) repeatSettings(name string, oldest uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[name]; q != nil && q.home <= oldest {
		q.writeSettings()
	}
}

func notFound(queue string) error { return &store.Error{Queue: queue, Err: store.ErrNotFound} }
