package consumer

import "sync"

// backlog is the deliveries that wait for a worker, in the order they came.
type backlog struct {
	mu     sync.Mutex
	filled sync.Cond // there is one more, or no more comes
	queue  []*Held
	first  int // index of the oldest
	idle   int // workers that wait for one
	closed bool
}

func newBacklog() *backlog {
	b := &backlog{}
	b.filled.L = &b.mu
	return b
}

// add does not block.
func (b *backlog) add(all []*Held) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
	for b.first == len(b.queue) {
		if b.closed {
			return nil
		}
		b.idle++
		b.filled.Wait()
		b.idle--
	}
	h := b.queue[b.first]
	b.queue[b.first] = nil
	if b.first++; b.first == len(b.queue) {
		b.queue, b.first = b.queue[:0], 0
	}
	return h
}

// takeAll takes everything that waits.
func (b *backlog) takeAll() []*Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.queue[b.first:]
	b.queue, b.first = nil, 0
	return all
}

// close says that no more comes. What waits is still handed out.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}
