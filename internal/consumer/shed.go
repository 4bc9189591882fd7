package consumer

import (
	"context"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// shedAfter is how long a delivery may wait for a worker.
const shedAfter = time.Second

// shed releases deliveries that have waited for a worker for too long, because handlers
// have become slow: another consumer may have workers that are free. What is released has
// lost no attempt, and is due at once.
type shed struct{ work *work }

// Run sheds until ctx ends. It sleeps while nothing waits.
func (s *shed) Run(ctx context.Context) {
	for {
		select {
		case <-s.work.backlog.begun:
		case <-ctx.Done():
			return
		}
		for more := true; more && ctx.Err() == nil; {
			pause(ctx, shedAfter/2)
			more = s.shedOld()
		}
	}
}

// shedOld reports whether more waits.
func (s *shed) shedOld() bool {
	old, more := s.work.backlog.takeOlder(time.Now().Add(-shedAfter))
	if len(old) == 0 {
		return more
	}
	s.work.capacity.stalled()
	s.work.config.Log.Debug("dueq: messages released, handlers are too slow to start them soon",
		slog.String("queue", s.work.config.Queue), slog.Int("messages", len(old)))
	for _, h := range old {
		s.work.settle(h, Verdict{Verdict: store.Release})
	}
	return more
}
