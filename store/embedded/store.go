package embedded

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// Config of a Store. The zero value is ready to use.
type Config struct {
	// Now is the store's clock; nil is time.Now. It is called with locks held and
	// must not call the store. It may go backwards: then messages become due later.
	Now func() time.Time

	// The rest is for Open.

	// SyncEvery makes calls return before their changes are on disk, and is how often
	// changes are synced: a power cut, though not the end of the process, may undo the last
	// ones. 0: every call whose effect must last waits for the disk.
	SyncEvery time.Duration
	// NeverSync lets the operating system decide when changes are written to the disk.
	NeverSync bool
	// Repair opens a damaged store: what cannot be read is skipped, see Store.Damage.
	Repair bool
	// MustExist makes Open fail where there is no store, instead of making one.
	MustExist bool
	// Logger reports torn ends that were cut off, damage, a full disk; nil is
	// slog.Default().
	Logger *slog.Logger
}

// Store is a store.Store inside the process. All methods are safe for concurrent
// use and none but Watch blocks. The store keeps no reference to its arguments and results,
// so the caller may change them.
type Store struct {
	clock     func() instant
	members   members
	watchers  watchers
	closed    chan struct{}
	closeOnce sync.Once

	mu     sync.RWMutex // guards queues, queue.partitions and queue.home
	queues map[string]*queue

	// Of a store on disk; nil and unused in memory.
	unsorted bool // its log is being read, see sort.go
	log      *wal.Log
	flight   flight // of calls that change something
	live     usage
	frames   pool
	care     *caretaker
	syncs    syncs
	path     string       // of its directory; "": there is none
	finish   func() error // ends what Open began
	damage   []Damage
}

var _ store.Store = (*Store)(nil)

// NewMemory returns an empty store whose messages live as long as the process. It
// starts nothing: a store that is dropped without Close leaks nothing.
func NewMemory(c Config) *Store { return newStore(c) }

// Dir returns the directory of the store as it was opened; "" if it is in memory.
func (s *Store) Dir() string { return s.path }

func newStore(c Config) *Store {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	return &Store{
		clock:    func() instant { return instantOf(now()) },
		members:  newMembers(),
		watchers: watchers{byQueue: make(map[string]map[*watcher]struct{})},
		closed:   make(chan struct{}),
		queues:   make(map[string]*queue),
	}
}

// ClockMoved makes every watcher look at its queue again. For tests whose
// Config.Now is moved by hand: no timer of a waiting consumer notices that.
func (s *Store) ClockMoved() { s.watchers.notifyAll(store.Event{Kind: store.EventResync}) }

// Close makes all methods return store.ErrClosed, those that are waiting too.
func (s *Store) Close() error {
	var err error
	s.closeOnce.Do(func() {
		close(s.closed)
		if s.finish != nil {
			err = s.finish()
		}
	})
	return err
}

// usable returns an error if the request is invalid, ctx has ended or the store is closed.
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

// partition returns a partition, nil if there is none.
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
	return s.queue(p.Queue).partition(p.Index)
}

// repartitioned returns an error if a request was routed with a number of partitions that
// differs from the queue's; 0 is not checked.
func (p *partition) repartitioned(of int) error {
	if of == 0 || of == p.queue.load().Partitions {
		return nil
	}
	return &store.Error{Queue: p.queue.name, Err: store.ErrRepartitioned}
}

// queue returns a queue and makes it if it is missing, under the store's mutex.
func (s *Store) queue(name string) *queue {
	q := s.queues[name]
	if q == nil {
		q = newQueue(name, s)
		q.makePartitions()
		s.queues[name] = q
	}
	return q
}

// allPartitions returns the partitions of all queues.
func (s *Store) allPartitions() []*partition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*partition
	for _, q := range s.queues {
		all = slices.AppendSeq(all, maps.Values(q.partitions))
	}
	return all
}

// step runs one atomic step on a partition.
func (s *Store) step(part *partition, do func(now instant)) {
	part.mu.Lock()
	defer part.mu.Unlock()
	do(s.clock()) // read under the lock: steps that follow each other see time in that order
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

// queueCount returns how many queues there are.
func (s *Store) queueCount() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.queues)
}

// shards returns a queue's settings and partitions, zeros if there is no such queue.
func (s *Store) shards(name string) (store.Settings, []*partition) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q := s.queues[name]
	if q == nil {
		return store.Settings{}, nil
	}
	return q.load(), slices.Collect(maps.Values(q.partitions))
}

// missing reports whether there is no such queue.
func (s *Store) missing(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.queues[name] == nil
}
