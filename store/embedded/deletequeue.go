package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// errVanished is the error of a push to a partition whose queue was deleted after it was
// looked up. The push is made again, to a new queue.
var errVanished = errors.New("the queue was deleted")

// DeleteQueue removes a queue with all that it holds, in one step. The space on the disk is
// given back by merges. O(1) under locks; O(N) without, for N messages.
func (s *Store) DeleteQueue(ctx context.Context, queue string, r store.DeleteRequest) error {
	if err := s.usable(ctx, store.ValidateQueue(queue)); err != nil {
		return err
	}
	if s.log != nil {
		if err := s.log.Admit(deletedSize, wal.Drain); err != nil {
			return admitError(err, wal.Drain)
		}
		defer s.log.Release(deletedSize)
	}
	remains, err := s.takeOut(queue, r.Force)
	if err != nil {
		return err
	}
	for index := range remains {
		s.watchers.notify(queue, store.Event{Kind: store.EventReset, Partition: index})
	}
	if s.log == nil {
		return nil
	}
	for _, all := range remains {
		all.each(s.live.drop)
	}
	return logError(s.log.Kept(ctx, s.log.End()))
}

// takeOut removes a queue unless it has messages, which only force removes. It returns the
// messages of each partition, which no other call can find any more. It holds the mutexes of
// all partitions at a time, so that none gets a message after it was found to be empty.
func (s *Store) takeOut(name string, force bool) (map[int]stock, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[name]
	if q == nil {
		return nil, notFound(name)
	}
	order, messages := slices.Sorted(maps.Keys(q.partitions)), 0
	for _, i := range order {
		p := q.partitions[i]
		p.mu.Lock()
		defer p.mu.Unlock()
		messages += p.byID.len()
	}
	if messages > 0 && !force {
		return nil, &store.Error{Queue: name, Err: fmt.Errorf("it has %d messages: %w", messages, store.ErrNotEmpty)}
	}
	delete(s.queues, name)
	if s.log != nil {
		s.log.Append(appendDeleted(name))
	}
	remains := make(map[int]stock, len(order))
	for _, i := range order {
		remains[i] = q.partitions[i].vanish()
	}
	return remains, nil
}

// stock is all messages of a partition, including done ones.
type stock struct{ live, done index }

func (p *partition) stock() stock { return stock{p.byID, p.done.byID} }

func (k stock) each(visit func(*entry)) {
	k.live.each(visit)
	k.done.each(visit)
}

// vanish empties a partition, for calls that have already looked it up, and returns what it
// had. From then on the partition writes nothing to the log.
func (p *partition) vanish() stock {
	all := p.stock()
	p.empty()
	p.vanished = true
	if p.journal != nil {
		p.journal.vanished = true
	}
	return all
}

// deleted replays the frame of a queue's deletion.
func (s *Store) deleted(name string) {
	q := s.queues[name]
	if q == nil {
		return // merges have dropped its other frames
	}
	for _, p := range q.partitions {
		p.stock().each(s.live.drop)
	}
	delete(s.queues, name)
}
