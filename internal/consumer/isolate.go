package consumer

import (
	"errors"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	// isolateFor is how long a handler of a crashed message keeps others of the kind from
	// being started: a message that ends its process does so sooner, as a rule, and long
	// handlers must not hold up the rest for longer.
	isolateFor = 10 * time.Second
	// isolateAgain spreads what finds the place taken over 1.6 s, see [store.CrashDelay].
	isolateAgain = 4
)

// errIsolated is why a crashed message is released.
var errIsolated = errors.New("the handler of another message that may end the process is running")

// Isolation is a place for one handler at a time of a message that is
// [store.Crashed]: of the messages that were worked on when a process ended, one was
// the cause, and the others must not be there when it does it again. All consumers of
// a process share one. The zero value is ready to use.
type Isolation struct {
	mu     sync.Mutex
	holder *Held
	until  time.Time
}

// enter reports whether the handler of h may be started.
func (i *Isolation) enter(h *Held, now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.holder != nil && now.Before(i.until) {
		return false
	}
	i.holder, i.until = h, now.Add(isolateFor)
	return true
}

// leave is called when the handler has returned.
func (i *Isolation) leave(h *Held) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.holder == h {
		i.holder = nil
	}
}

// isolate reports whether the handler of h may be started now, and releases h if not: the
// worker is free for other messages meanwhile, and another process may have the place.
// Call done when the handler has returned.
func (w *work) isolate(h *Held) (done func(), ok bool) {
	if w.config.AtMostOnce || !h.crashed() {
		return func() {}, true
	}
	if w.config.Isolation.enter(h, time.Now()) {
		return func() { w.config.Isolation.leave(h) }, true
	}
	receipt := h.Delivery.Receipt
	w.dropUnstarted(h, errIsolated, store.CrashDelay(receipt.ID, receipt.Attempt, isolateAgain))
	return nil, false
}
