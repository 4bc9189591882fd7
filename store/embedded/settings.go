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
	q.settings.Store(&store.Settings{Partitions: store.DefaultPartitions, MaxBody: store.DefaultMaxBody})
	return q
}

// partition returns a partition and makes it if it is missing, under the store's mutex.
func (q *queue) partition(index int) *partition {
	if q.partitions[index] == nil {
		q.partitions[index] = newPartition(q, index)
	}
	return q.partitions[index]
}

// makePartitions makes those that the settings tell of, so that they know it when the
// queue is paused before the first push.
func (q *queue) makePartitions() {
	for i := range q.load().Partitions {
		q.partition(i)
	}
}

func (q *queue) load() store.Settings { return *q.settings.Load() }

// changed returns the settings with a change. The number of partitions can only be
// chosen when a queue is made, because a key's partition depends on it.
func changed(s store.Settings, c store.Change, exists bool) (store.Settings, error) {
	if c.Partitions != nil && *c.Partitions != s.Partitions {
		if exists {
			return s, &store.Error{Field: "partitions", Err: fmt.Errorf(
				"%d is not what the queue was made with, %d: %w", *c.Partitions, s.Partitions, store.ErrInvalid)}
		}
		s.Partitions = *c.Partitions
	}
	if c.MaxBody != nil {
		s.MaxBody = *c.MaxBody
	}
	if c.MaxMessages != nil {
		s.MaxMessages = *c.MaxMessages
	}
	if c.Paused != nil {
		s.Paused = *c.Paused
	}
	return s, nil
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
	settings, err := changed(q.load(), c, exists)
	if err != nil {
		return store.Settings{}, err
	}
	if !exists || settings != q.load() {
		q.settings.Store(&settings)
		s.queues[name] = q
		q.writeSettings()
	}
	q.makePartitions()
	return settings, nil
}

// settingsSize is how many bytes writeSettings appends, at most.
const settingsSize = 32 + 2 + store.MaxQueueName + 3*10

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
	if q := s.queues[name]; q.home <= oldest {
		q.writeSettings()
	}
}

func notFound(queue string) error { return &store.Error{Queue: queue, Err: store.ErrNotFound} }
