package consumer

import (
	"context"
	"time"
)

// staffEvery is the interval at which workers are dismissed that had nothing to do meanwhile.
const staffEvery = 10 * time.Second

// staff are the workers of a consumer without slots: as many as were needed lately. So a consumer of
// an idle queue has none. The lock of the backlog, where workers wait, guards it.
type staff struct {
	count   int // workers that there are
	spare   int // the fewest that waited at a time since the last check
	leaving int // workers that are to end when they wait
}

// dismissed reports whether a worker that has nothing to do is to end.
func (s *staff) dismissed() bool {
	if s.leaving == 0 {
		return false
	}
	s.leaving--
	s.count--
	return true
}

// hire returns how many workers to start, each for up to batch of the deliveries that wait. There will
// be at most most.
func (b *backlog) hire(most, batch int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, waiting := &b.staff, len(b.queue)-b.first
	n := min((waiting+batch-1)/batch-b.idle, most-s.count)
	if n <= 0 {
		return 0
	}
	s.leaving, s.spare = 0, 0
	s.count += n
	return n
}

// dismiss makes the workers end that had nothing to do since the last call, and reports whether there
// are others.
func (b *backlog) dismiss() (others bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.staff
	s.leaving = min(s.spare, b.idle)
	s.spare = b.idle - s.leaving
	if s.leaving > 0 {
		b.filled.Broadcast()
	}
	return s.count > s.leaving
}

// hire starts workers for the deliveries that wait.
func (w *work) hire(life context.Context) {
	n := w.backlog.hire(w.config.Concurrency, max(1, w.config.Batch))
	for range n {
		w.workers.Add(1)
		go w.worker(life)
	}
	if n > 0 {
		w.staff.arm(staffEvery)
	}
}

// reduce dismisses workers, and returns how long to sleep.
func (w *work) reduce() time.Duration {
	if w.backlog.dismiss() {
		return staffEvery
	}
	return forever
}
