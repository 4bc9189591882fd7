package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	// isolateFor is how long the handler of a crashed message prevents the start of handlers of
	// other crashed messages. A message that ends its process usually does so sooner, and long
	// handlers must not delay the others for longer.
	isolateFor = 10 * time.Second
	// isolateAgain makes [store.CrashDelay] spread messages that are refused over 1.6 s.
	isolateAgain = 4
)

// errIsolated is why a crashed message is released.
var errIsolated = errors.New("the handler of another message that may end the process is running")

// Isolation lets one handler of a message that is [store.Crashed] run at a time. Of the messages
// whose handlers ran when a process ended, one was the cause; the others must not run when it
// ends the process again. All consumers of a process share one Isolation. The zero value is ready
// to use.
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

// isolate reports whether the handler of h may be started now, and releases h if not: so the
// worker is free for other messages, and another process may run h. Call done when the handler
// has returned.
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

// recordStart records that the handler of h is about to run, if that is required (see
// [store.Suspicion]). If the store does not confirm it, the handler must not be started.
func (w *work) recordStart(life context.Context, h *Held) {
	if w.config.AtMostOnce || !h.Delivery.NeedsStart() {
		return
	}
	if err := w.settler.recordStart(life, h); err != nil {
		h.stop(err)
	}
}

// recordStart returns nil once the store has recorded the start. Concurrent starts on one
// partition share a call.
func (s *settler) recordStart(ctx context.Context, h *Held) error {
	began := time.Now()
	said := s.do(ctx, target{partition: h.Partition, lease: s.lease.Milliseconds(), start: true}, &settling{held: h})
	if said.err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if said.err != nil {
		return fmt.Errorf("record the start: %w", said.err)
	}
	if said.code == store.CodeOK || said.code == store.CodeCancelled {
		h.extended(began.Add(s.lease))
	} else {
		h.lose()
	}
	return said.code.ExtendErr()
}
