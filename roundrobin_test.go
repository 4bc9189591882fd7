package dueq_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// distant is a store whose pushes take a while.
type distant struct {
	store.Store
	pushes atomic.Int64
}

func (s *distant) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	s.pushes.Add(1)
	timer := time.NewTimer(time.Millisecond)
	defer timer.Stop()
	<-timer.C
	return s.Store.Push(ctx, p, r)
}

func (s *distant) Close() error { return nil }

// overPartitions returns a queue of the rig's store with n partitions.
func (r *rig) overPartitions(s store.Store, n int) *dueq.Queue {
	q := r.over(s)
	err := q.Create(r.Context(), dueq.Settings{Partitions: n})
	r.must(err)
	return q
}

func (r *rig) partitionOf(id string) int {
	parsed, err := store.ParseID(id)
	r.must(err)
	return parsed.Partition()
}

func TestSend_SingleSenderUsesAllPartitionsEqually(t *testing.T) {
	inBubble(t, func(r *rig) {
		const partitions, each = 4, 10
		q := r.overPartitions(&distant{Store: r.net}, partitions)
		got := make([]int, partitions)
		for range partitions * each {
			id, err := q.Send(r.Context(), dueq.Message{})
			r.must(err)
			got[r.partitionOf(id)]++
		}
		for i, n := range got {
			if n != each {
				t.Errorf("partition %d got %d messages, want %d", i, n, each)
			}
		}
	})
}

func TestSend_ConcurrentSendersShareCalls(t *testing.T) {
	inBubble(t, func(r *rig) {
		const partitions, senders, each = 16, 64, 1000
		s := &distant{Store: r.net}
		q := r.overPartitions(s, partitions)
		var got [partitions]atomic.Int64
		var sending sync.WaitGroup
		for range senders {
			sending.Go(func() {
				for range each {
					id, err := q.Send(r.Context(), dueq.Message{})
					if err != nil {
						t.Error(err)
						return
					}
					got[r.partitionOf(id)].Add(1)
				}
			})
		}
		sending.Wait()
		// 36 messages share a call. With another partition for each message it would be 4, with another
		// as soon as half of the senders have one in flight, 11.
		if pushes, most := s.pushes.Load(), int64(senders*each/24); pushes > most {
			t.Errorf("%d calls for %d messages, want %d at most", pushes, senders*each, most)
		}
		for i := range got {
			if n := got[i].Load(); n < senders*each/partitions/2 {
				t.Errorf("partition %d got %d of %d messages", i, n, senders*each)
			}
		}
	})
}

func TestSendBatch_OneMessageSharesItsCall(t *testing.T) {
	inBubble(t, func(r *rig) {
		const senders = 64
		s := &distant{Store: r.net}
		q := r.overPartitions(s, 1)
		var sending sync.WaitGroup
		for range senders {
			sending.Go(func() {
				results, err := q.SendBatch(r.Context(), []dueq.Message{{}})
				if err != nil || results.FirstErr() != nil {
					t.Error(err, results)
				}
			})
		}
		sending.Wait()
		if pushes := s.pushes.Load(); pushes != 2 { // the first, and one for those that came meanwhile
			t.Errorf("%d calls for %d batches of one message, want 2", pushes, senders)
		}
	})
}
