package consumer

import (
	"sync"
	"sync/atomic"
	"time"
)

// backlog is the queue of deliveries that wait for a worker, oldest first.
type backlog struct {
	bytes *atomic.Int64 // of the waiting deliveries
	begun func()        // called when a delivery was added to an empty backlog

	mu     sync.Mutex
	filled sync.Cond // signalled when a delivery is added, and at close
	queue  []*Held
	first  int // index of the oldest delivery
	idle   int // workers that wait for a delivery
	staff  staff
	closed bool
	hurry  bool // workers do not wait for more deliveries any more
}

func newBacklog(bytes *atomic.Int64) *backlog {
	b := &backlog{bytes: bytes, begun: func() {}}
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
		b.begun()
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

// next waits for a delivery and takes it. It returns nil once the backlog is closed and empty, or
// when the worker is dismissed.
func (b *backlog) next() *Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.await() {
		return nil
	}
	return b.pop()
}

// poll takes a delivery without waiting, nil if there is none.
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

// over reports whether the backlog is closed and empty.
func (b *backlog) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed && b.first == len(b.queue)
}

// await waits until there is a delivery. It returns false once the backlog is closed and empty, or
// when the worker is dismissed.
func (b *backlog) await() bool {
	for b.first == len(b.queue) {
		if b.closed || b.staff.dismissed() {
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
	b.staff.spare = min(b.staff.spare, b.idle)
}

// nextBatch waits for a delivery, then until there are most deliveries or linger has passed, and
// takes them. It returns none once the backlog is closed and empty, or when the worker is dismissed.
// idling is called before and after the wait.
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

// stopLingering makes workers that wait for a full batch take the deliveries that there are.
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

// takeOlder takes the deliveries that were added before an instant, and reports whether others
// wait.
func (b *backlog) takeOlder(than time.Time) (old []*Held, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.first < len(b.queue) && b.queue[b.first].ended.Before(than) {
		old = append(old, b.pop())
	}
	return old, b.first < len(b.queue)
}

// takeAll takes all deliveries.
func (b *backlog) takeAll() []*Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*Held
	for b.first < len(b.queue) {
		all = append(all, b.pop())
	}
	return all
}

// close ends the adding of deliveries. Those that wait are still handed out.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}
