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

// recordStart records that the handler of h is about to run, where the store has to know
// (see [store.Suspicion]). If the store does not confirm it, h is not to be worked on.
func (w *work) recordStart(life context.Context, h *Held) {
	if w.config.AtMostOnce || !h.Delivery.NeedsStart() {
		return
	}
	if err := w.settler.recordStart(life, h); err != nil {
		h.stop(err)
	}
}

// recordStart returns nil once the store has recorded the start. Starts on one partition
// that are recorded at the same time share a call.
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
