package receiver

import (
	"context"
	"errors"
	"sync"

	"github.com/dueq-dev/dueq/internal/lane"
	"github.com/dueq-dev/dueq/store"
)

// Leave has the partitions drop the long answers that they keep for the receiver's lanes:
// it makes no more claims. One call for each partition, at the same time.
func (r *Receiver) Leave(ctx context.Context) error {
	var calls sync.WaitGroup
	var mu sync.Mutex
	var failed error
	r.sources.All(func(p store.Partition, from *source) {
		names := from.longAnswered()
		if len(names) == 0 {
			return
		}
		calls.Go(func() {
			err := r.store.Leave(ctx, p, store.LeaveRequest{Consumers: names})
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	})
	calls.Wait()
	return failed
}

// longAnswered returns the names of lanes with long answers.
func (s *source) longAnswered() []string {
	lanes := s.lanes.Where(func(l *lane.Lane[claims]) bool { return l.State.most > store.ShortAnswer })
	names := make([]string, len(lanes))
	for i, l := range lanes {
		names[i] = l.Name
	}
	return names
}
