package dueq_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// partlySilent is a store in which some partitions leave calls without an answer.
type partlySilent struct {
	store.Store
	mu     sync.Mutex
	silent map[int]bool
	asked  atomic.Int64 // calls that found a partition silent
}

func (s *partlySilent) set(index int, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent[index] = silent
}

// answers waits until a partition answers or ctx ends.
func (s *partlySilent) answers(ctx context.Context, index int) error {
	for try := 0; ; try++ {
		s.mu.Lock()
		silent := s.silent[index]
		s.mu.Unlock()
		if !silent {
			return nil
		}
		if try == 0 {
			s.asked.Add(1)
		}
		timer := time.NewTimer(10 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (s *partlySilent) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	if err := s.answers(ctx, p.Index); err != nil {
		return nil, err
	}
	return s.Store.Push(ctx, p, r)
}

func (s *partlySilent) Now(ctx context.Context, p store.Partition) (int64, error) {
	if err := s.answers(ctx, p.Index); err != nil {
		return 0, err
	}
	return s.Store.Now(ctx, p)
}

func (s *partlySilent) Close() error { return nil }

const silentPartition = 1

// sendOver sends keyless messages one after the other, each with a deadline, and returns how many each
// partition stored and how many sends failed.
func (r *rig) sendOver(q *dueq.Queue, partitions, messages int) (stored []int, failed int) {
	stored = make([]int, partitions)
	for range messages {
		ctx, end := context.WithTimeout(r.Context(), time.Second)
		id, err := q.Send(ctx, dueq.Message{})
		end()
		if err != nil {
			failed++
			continue
		}
		stored[r.partitionOf(id)]++
	}
	return stored, failed
}

func TestSend_KeylessMessagesAvoidAPartitionThatDoesNotAnswer(t *testing.T) {
	inBubble(t, func(r *rig) {
		const partitions, messages = 4, 120
		s := &partlySilent{Store: r.net, silent: map[int]bool{}}
		q := r.overPartitions(s, partitions)
		s.set(silentPartition, true)
		stored, failed := r.sendOver(q, partitions, messages)
		if failed != 1 {
			t.Errorf("%d of %d sends failed, want 1: the first to the silent partition", failed, messages)
		}
		for index, n := range stored {
			if index != silentPartition && n < messages/partitions {
				t.Errorf("partition %d got %d of %d messages", index, n, messages)
			}
		}
		s.set(silentPartition, false)
		r.sleep(11 * time.Second) // the push that was given up is repeated until then
		synctest.Wait()
		_, _ = r.sendOver(q, partitions, 1) // makes the partition be asked
		synctest.Wait()
		stored, failed = r.sendOver(q, partitions, messages)
		if failed != 0 || stored[silentPartition] != messages/partitions {
			t.Errorf("afterwards the partition got %d of %d messages, %d sends failed", stored[silentPartition], messages, failed)
		}
	})
}

func TestSend_SilentPartitionIsAskedOnceASecond(t *testing.T) {
	inBubble(t, func(r *rig) {
		const partitions = 2
		s := &partlySilent{Store: r.net, silent: map[int]bool{}}
		q := r.overPartitions(s, partitions)
		s.set(silentPartition, true)
		defer s.set(silentPartition, false)
		_, _ = r.sendOver(q, partitions, 2)
		r.sleep(11 * time.Second) // until the push to it has failed
		before := s.asked.Load()
		for range 50 {
			_, failed := r.sendOver(q, partitions, 1)
			if failed > 0 {
				t.Error("a message went to the silent partition")
			}
			r.sleep(100 * time.Millisecond)
		}
		if n := s.asked.Load() - before; n < 4 || n > 6 {
			t.Errorf("asked %d times in 5 s, want 5", n)
		}
	})
}

func TestSend_AllPartitionsSilent(t *testing.T) {
	inBubble(t, func(r *rig) {
		const partitions = 2
		s := &partlySilent{Store: r.net, silent: map[int]bool{}}
		q := r.overPartitions(s, partitions)
		s.set(0, true)
		s.set(1, true)
		var sending sync.WaitGroup
		for range 4 {
			sending.Go(func() {
				if _, err := q.Send(r.Context(), dueq.Message{}); err != nil {
					t.Error(err)
				}
			})
			r.sleep(time.Second)
		}
		s.set(0, false)
		s.set(1, false)
		sending.Wait() // none fails
	})
}
