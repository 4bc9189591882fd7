package embedded

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Config of a Store. The zero value is ready to use.
type Config struct {
	// Now is the store's clock; nil is time.Now. It is called with locks held and
	// must not call the store. It may go backwards: then things become due later.
	Now func() time.Time
}

// Store is a store.Store inside the process. All methods are safe for concurrent
// use and none but Watch blocks. What is handed in may be changed afterwards, and
// what is handed out belongs to the caller.
type Store struct {
	clock     func() instant
	members   members
	watchers  watchers
	closed    chan struct{}
	closeOnce sync.Once

	mu     sync.RWMutex // guards queues and queue.partitions
	queues map[string]*queue
}

var _ store.Store = (*Store)(nil)

// NewMemory returns an empty store whose messages live as long as the process. It
// starts nothing: a store that is dropped without Close leaks nothing.
func NewMemory(c Config) *Store {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	return &Store{
		clock:    func() instant { return instantOf(now()) },
		members:  members{byQueue: make(map[string]map[string]int64)},
		watchers: watchers{byQueue: make(map[string]map[*watcher]struct{})},
		closed:   make(chan struct{}),
		queues:   make(map[string]*queue),
	}
}

// ClockMoved tells every watcher to look at its queue again. For tests whose
// Config.Now is moved by hand: no timer of a waiting consumer notices that.
func (s *Store) ClockMoved() { s.watchers.tellAll(store.Event{Kind: store.EventResync}) }

// Close makes all methods return store.ErrClosed, those that are waiting too.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { close(s.closed) })
	return nil
}

// usable returns why no call can be made: the request is invalid, the caller has
// given up, the store is closed.
func (s *Store) usable(ctx context.Context, invalid ...error) error {
	for _, err := range invalid {
		if err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
		return nil
	}
}

// partition returns a partition, nil when it was never made.
func (s *Store) partition(p store.Partition) *partition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if q := s.queues[p.Queue]; q != nil {
		return q.partitions[p.Index]
	}
	return nil
}

// makePartition returns a partition and makes it, and its queue, where they are missing.
func (s *Store) makePartition(p store.Partition) *partition {
	if part := s.partition(p); part != nil {
		return part
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[p.Queue]
	if q == nil {
		q = newQueue()
		s.queues[p.Queue] = q
	}
	return q.partition(p.Index)
}

// step runs one atomic step on a partition.
func (s *Store) step(part *partition, do func(now instant)) {
	part.mu.Lock()
	defer part.mu.Unlock()
	do(s.clock()) // read under the lock: steps that follow each other see time in that order
}

// wakingStep is step for operations that may give a partition an earlier first
// message: then it wakes those who wait for the one they know of.
func (s *Store) wakingStep(p store.Partition, part *partition, do func(now instant)) {
	var sooner bool
	s.step(part, func(now instant) {
		known := part.waiting.firstAt()
		do(now)
		sooner = part.waiting.firstAt() < known
	})
	if sooner {
		s.watchers.tell(p.Queue, store.Event{Kind: store.EventWake, Partition: p.Index})
	}
}

// known returns the queues of that name, or all when it is empty, in order.
func (s *Store) known(name string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if name == "" {
		return slices.Sorted(maps.Keys(s.queues)), nil
	}
	if s.queues[name] == nil {
		return nil, notFound(name)
	}
	return []string{name}, nil
}

// shards returns a queue's settings and partitions.
func (s *Store) shards(name string) (store.Settings, []*partition) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q := s.queues[name]
	return q.load(), slices.Collect(maps.Values(q.partitions))
}
