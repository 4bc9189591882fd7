package embedded

import (
	"container/list"
	"context"
	"sync"
)

// inFlightMost bounds the bytes of the log that calls in flight have written or may still
// write, so that with a slow disk calls wait and memory does not grow.
const inFlightMost = 64 << 20

// flight bounds the bytes of calls in flight. Calls enter in the order in which they
// arrive. A call that is larger than the bound enters when no other call is in flight.
type flight struct {
	most int

	mu      sync.Mutex
	used    int
	waiting list.List // of *flightWaiter
}

type flightWaiter struct {
	bytes int
	begun chan struct{} // closed when the call may continue
}

// enter waits until a call that writes bytes may begin, or returns ctx's error.
func (f *flight) enter(ctx context.Context, bytes int) error {
	bytes = min(bytes, f.most)
	f.mu.Lock()
	if f.waiting.Len() == 0 && f.used+bytes <= f.most {
		f.used += bytes
		f.mu.Unlock()
		return nil
	}
	w := &flightWaiter{bytes, make(chan struct{})}
	element := f.waiting.PushBack(w)
	f.mu.Unlock()
	select {
	case <-w.begun:
		return nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-w.begun: // it has entered just before ctx ended
		f.used -= bytes
	default:
		f.waiting.Remove(element)
	}
	f.admit()
	return ctx.Err()
}

// leave ends a call that has entered.
func (f *flight) leave(bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= min(bytes, f.most)
	f.admit()
}

// admit lets waiting calls enter, first come first served. The caller holds mu.
func (f *flight) admit() {
	for first := f.waiting.Front(); first != nil; first = f.waiting.Front() {
		w := first.Value.(*flightWaiter) //nolint:forcetypeassert // all are
		if f.used+w.bytes > f.most {
			return
		}
		f.used += w.bytes
		f.waiting.Remove(first)
		close(w.begun)
	}
}
