package embedded

import (
	"context"
	"sync"

	"github.com/dueq-dev/dueq/store"
)

// maxPending bounds the events kept for a slow watcher. One that is further behind
// is notified that it missed some.
const maxPending = 256

// watchers are the calls of Watch, by queue.
type watchers struct {
	mu      sync.Mutex
	byQueue map[string]map[*watcher]struct{}
}

// watcher is one call of Watch. It gets events through a list and a signal, so that sending
// an event never blocks, and its notify runs in the goroutine of Watch.
type watcher struct {
	mu      sync.Mutex
	pending []store.Event
	signal  chan struct{}
}

func newWatcher() *watcher {
	return &watcher{pending: []store.Event{{Kind: store.EventResync}}, signal: make(chan struct{}, 1)}
}

func (w *watcher) notify(e store.Event) {
	w.mu.Lock()
	if len(w.pending) == maxPending {
		w.pending = append(w.pending[:0], store.Event{Kind: store.EventResync})
	} else {
		w.pending = append(w.pending, e)
	}
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default: // it was woken before and has not taken its events yet
	}
}

// take returns what is pending.
func (w *watcher) take() []store.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.pending
	w.pending = nil
	return events
}

// run passes events on until ctx ends, or the store is closed.
func (w *watcher) run(ctx context.Context, closed <-chan struct{}, notify func(store.Event)) error {
	for {
		for _, e := range w.take() {
			notify(e)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-closed:
			return store.ErrClosed
		case <-w.signal:
		}
	}
}

func (all *watchers) add(queue string, w *watcher) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byQueue[queue] == nil {
		all.byQueue[queue] = make(map[*watcher]struct{})
	}
	all.byQueue[queue][w] = struct{}{}
}

func (all *watchers) remove(queue string, w *watcher) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.byQueue[queue], w)
	if len(all.byQueue[queue]) == 0 {
		delete(all.byQueue, queue)
	}
}

// notify passes events on to the watchers of a queue.
func (all *watchers) notify(queue string, events ...store.Event) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for w := range all.byQueue[queue] {
		for _, e := range events {
			w.notify(e)
		}
	}
}

// notifyAll passes an event on to every watcher.
func (all *watchers) notifyAll(e store.Event) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, ws := range all.byQueue {
		for w := range ws {
			w.notify(e)
		}
	}
}
