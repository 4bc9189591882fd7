package receiver

import (
	"context"
	"errors"
	"sync"

	"github.com/dueq-dev/dueq/store"
)

// Leave has the partitions drop the long answers that they keep for the receiver's lanes:
// it makes no more claims. One call for each partition, at the same time.
func (r *Receiver) Leave(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var calls sync.WaitGroup
	errs := make(chan error, len(r.sources))
	for p, from := range r.sources {
		if names := from.longAnswered(); len(names) > 0 {
			calls.Go(func() { errs <- r.store.Leave(ctx, p, names) })
		}
	}
	calls.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// longAnswered returns the names of lanes with long answers.
func (s *source) longAnswered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, l := range s.free {
		if l.most > store.ShortAnswer {
			names = append(names, l.name)
		}
	}
	return names
}
