package measure

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
)

// Share spreads n things over goroutines: each calls do for the next size of them, or for
// what is left, until all are done. from counts from 0. When ctx ends or a call has failed,
// no further call is made. Calls are never broken off, so nothing is under way when Share
// returns. It returns the errors of all calls, and none for the end of ctx.
func Share(ctx context.Context, n, size, goroutines int, do func(ctx context.Context, from, n int) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	calls := context.WithoutCancel(ctx)
	var taken atomic.Int64
	var running sync.WaitGroup
	errs := make([]error, goroutines)
	for g := range goroutines {
		running.Go(func() {
			for ctx.Err() == nil && errs[g] == nil {
				from := int(taken.Add(int64(size))) - size
				if from >= n {
					return
				}
				errs[g] = do(calls, from, min(size, n-from))
			}
			stop() // the others need not continue when one has failed
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// Rotate yields subjects with their indexes, beginning with another subject in each round, so
// that what changes on the machine during a run affects all subjects equally.
func Rotate[S any](round int, subjects []S) iter.Seq2[int, S] {
	return func(yield func(int, S) bool) {
		for n := range subjects {
			i := (n + round) % len(subjects)
			if !yield(i, subjects[i]) {
				return
			}
		}
	}
}
