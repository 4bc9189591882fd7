package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq"
)

// audit counts the dead letters in the queue, and checks the store.
func (s *show) audit(ctx context.Context) error {
	for dead, err := range s.queue.Messages(ctx, dueq.ListOptions{Filter: dueq.Filter{State: dueq.Dead}}) {
		if err != nil {
			return err
		}
		s.tally.foundDead(dead)
	}
	found, err := s.queue.Check(ctx)
	if err != nil {
		return err
	}
	if len(found.Problems) > 0 {
		return fmt.Errorf("check: found %d problems, the first: %s", len(found.Problems), found.Problems[0].Text)
	}
	return s.tally.broken()
}

// cleanUp empties the queue, also after Ctrl-C.
func (s *show) cleanUp(ctx context.Context) error {
	const timeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	for _, state := range []dueq.State{dueq.Scheduled, dueq.Ready, dueq.Dead} {
		if _, err := s.queue.Purge(ctx, dueq.Filter{State: state}, nil); err != nil && !errors.Is(err, dueq.ErrNotFound) {
			return fmt.Errorf("empty the queue: %w", err)
		}
	}
	return nil
}
