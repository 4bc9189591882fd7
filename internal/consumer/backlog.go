package consumer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// backlog is the deliveries that wait for a worker, in the order they came.
type backlog struct {
	bytes *atomic.Int64 // of them
	begun chan struct{} // holds a token when it is not empty any more

	mu     sync.Mutex
	filled sync.Cond // there is one more, or no more comes
	queue  []*Held
	first  int // index of the oldest
	idle   int // workers that wait for one
	closed bool
	hurry  bool // nobody lingers for more any longer
}

func newBacklog(bytes *atomic.Int64) *backlog {
	b := &backlog{bytes: bytes, begun: make(chan struct{}, 1)}
	b.filled.L = &b.mu
	return b
}

// add does not block.
func (b *backlog) add(all []*Held) {
	if len(all) == 0 {
		return
	}
	bytes := 0
	for _, h := range all {
		bytes += h.size()
	}
	b.bytes.Add(int64(bytes))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == len(b.queue) {
		select {
		case b.begun <- struct{}{}:
		default:
		}
	}
	if b.first > 0 && len(b.queue)+len(all) > cap(b.queue) {
		b.queue = append(b.queue[:0], b.queue[b.first:]...)
		b.first = 0
	}
	b.queue = append(b.queue, all...)
	for range min(len(all), b.idle) {
		b.filled.Signal()
	}
}

// next waits for a delivery and takes it; nil when no more comes.
func (b *backlog) next() *Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.await() {
		return nil
	}
	return b.pop()
}

// poll takes a delivery; nil if none waits.
func (b *backlog) poll() *Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == len(b.queue) {
		return nil
	}
	return b.pop()
}

// len returns how many deliveries wait.
func (b *backlog) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) - b.first
}

// over reports whether nothing waits and no more comes.
func (b *backlog) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed && b.first == len(b.queue)
}

// await waits until there is a delivery, or returns false when no more comes.
func (b *backlog) await() bool {
	for b.first == len(b.queue) {
		if b.closed {
			return false
		}
		b.wait()
	}
	return true
}

func (b *backlog) wait() {
	b.idle++
	b.filled.Wait()
	b.idle--
}

// nextBatch waits for a delivery, then until there are most of them or linger has passed,
// and takes them; none when no more comes. idling is called around the waiting.
func (b *backlog) nextBatch(most int, linger time.Duration, idling func(bool)) []*Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	idling(true)
	defer idling(false)
	if !b.await() {
		return nil
	}
	over := linger == 0
	if !over {
		timer := time.AfterFunc(linger, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			over = true
			b.filled.Broadcast()
		})
		defer timer.Stop()
	}
	all := make([]*Held, 0, min(most, len(b.queue)-b.first))
	for {
		for len(all) < most && b.first < len(b.queue) {
			all = append(all, b.pop())
		}
		if len(all) == most || over || b.hurry || b.closed {
			return all
		}
		b.wait()
	}
}

// stopLingering makes those who wait for more take what they have.
func (b *backlog) stopLingering() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hurry = true
	b.filled.Broadcast()
}

func (b *backlog) pop() *Held {
	h := b.queue[b.first]
	b.queue[b.first] = nil
	if b.first++; b.first == len(b.queue) {
		b.queue, b.first = b.queue[:0], 0
	}
	b.bytes.Add(-int64(h.size()))
	return h
}

// takeOlder takes what came before an instant. It reports whether more waits.
func (b *backlog) takeOlder(than time.Time) (old []*Held, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.first < len(b.queue) && b.queue[b.first].claim.ended.Before(than) {
		old = append(old, b.pop())
	}
	return old, b.first < len(b.queue)
}

// takeAll takes everything that waits.
func (b *backlog) takeAll() []*Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*Held
	for b.first < len(b.queue) {
		all = append(all, b.pop())
	}
	return all
}

// close says that no more comes. What waits is still handed out.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}

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
