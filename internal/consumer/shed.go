package consumer

import (
	"context"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	shedAfter = time.Second   // how long a delivery may wait for a worker
	shedEvery = shedAfter / 2 // the interval of checks
)

// shed releases deliveries that have waited for a worker for longer than shedAfter, because
// handlers have become slow: another consumer may have free workers. A released message loses no
// attempt and is due at once.
type shed struct{ work *work }

func (w *work) startShed(ctx context.Context) {
	s := &shed{w}
	w.shed = w.claiming.add(func() time.Duration { return s.check(ctx) })
	w.backlog.begun = func() { w.shed.arm(shedEvery) }
}

// check releases deliveries, and returns how long to sleep: forever when none waits.
func (s *shed) check(ctx context.Context) time.Duration {
	if !s.shedOld(ctx) {
		return forever
	}
	return shedEvery
}

// shedOld releases the deliveries that waited for too long, and reports whether others wait.
func (s *shed) shedOld(ctx context.Context) bool {
	old, more := s.work.backlog.takeOlder(time.Now().Add(-shedAfter))
	if len(old) == 0 {
		return more
	}
	s.work.capacity.stalled()
	s.work.config.Log.Debug("dueq: messages released, handlers are too slow to start them soon",
		slog.String("queue", s.work.config.Queue), slog.Int("messages", len(old)))
	for _, h := range old {
		d := s.work.duties[h.Partition.Index]
		d.giveWay()
		s.work.callForHelp(ctx, d)
		s.work.settle(h, Verdict{Verdict: store.Release})
	}
	return more
}
