package consumer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Held is a delivery that this consumer holds.
type Held struct {
	*claimed
	Delivery *store.Delivery
	ID       string // of the message, for its handler; "" until that is called

	reporting sync.Mutex // held while a verdict is reported: one at a time

	mu       sync.Mutex
	deadline time.Duration // after the claim began; the lease cannot have run out before
	until    time.Duration // likewise; the lease is not extended after that; 0: no limit
	index    int32         // in holdings, from 1; 0: not held
	phase    phase
	unknown  bool  // the store has answered that it does not know the lease
	lost     bool  // the lease, to another consumer, before there was a verdict
	cause    error // why the work on it has ended; nil: it has not
	end      context.CancelCauseFunc
	group    *group // of the batch whose handler works on it
}

// claimed has what the deliveries of a claim have in common.
type claimed struct {
	Partition store.Partition
	holder    reporter
	began     time.Time // by the local monotonic clock
	ended     time.Time // from then on its deliveries waited for a worker
}

// size returns the approximate memory of the delivery in bytes.
func (h *Held) size() int { return size(h.Delivery) }

func size(d *store.Delivery) int {
	n := len(d.Body) + len(d.Key)
	for name, value := range d.Headers {
		n += len(name) + len(value)
	}
	return n
}

// crashed reports whether the message may end the process.
func (h *Held) crashed() bool { return h.Delivery.Suspicion == store.Crashed }

// phase is the progress of settling a held delivery.
type phase uint8

const (
	open     phase = iota // no verdict yet
	underWay              // the verdict is in flight
	settled               // the store has the verdict, or has given the delivery to another consumer
)

// reporter reports verdicts and extensions to the store.
type reporter interface {
	settle(ctx context.Context, h *Held, v Verdict) error
	extend(ctx context.Context, h *Held, span int64) error
}

// Settle reports the verdict on the delivery to the store. If a handler has called it, its result
// is ignored.
func (h *Held) Settle(ctx context.Context, v Verdict) error { return h.holder.settle(ctx, h, v) }

// Extend makes the lease end span ms from now at the earliest.
func (h *Held) Extend(ctx context.Context, span int64) error { return h.holder.extend(ctx, h, span) }

// begin makes the context of a handler that starts now. It returns none if the handler must not be
// started: the delivery was stopped, or less than margin is left of its lease, for example because
// this process was suspended. The parent must never end: [Held.stop] ends each context, with a cause.
func (h *Held) begin(parent context.Context, now time.Time, timeout, margin time.Duration) (context.Context, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.mayBegin(now, timeout, margin); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(parent)
	h.end = end
	return ctx, nil
}

// beginIn is begin for a delivery of a batch, whose handler has one context for all deliveries.
func (h *Held) beginIn(g *group, now time.Time, timeout, margin time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.mayBegin(now, timeout, margin); err != nil {
		return err
	}
	h.group = g
	return nil
}

func (h *Held) mayBegin(now time.Time, timeout, margin time.Duration) error {
	if h.cause == nil && h.phase != settled && h.left(now) <= margin {
		h.cause = store.ErrLeaseLost
	}
	if h.cause != nil {
		return h.cause
	}
	if timeout > 0 {
		h.extendUntil(now.Add(timeout))
	}
	return nil
}

// left returns for how long the lease is certain to last.
func (h *Held) left(now time.Time) time.Duration { return h.deadline - now.Sub(h.began) }

// extendUntil ends the extending of the lease at an instant, if it does not end before.
func (h *Held) extendUntil(until time.Time) {
	if after := until.Sub(h.began); h.until == 0 || after < h.until {
		h.until = after
	}
}

// mayExtend reports whether the extending of the lease has not ended.
func (h *Held) mayExtend(now time.Time) bool { return h.until == 0 || now.Sub(h.began) < h.until }

// stop ends the work on the delivery. The cause of the first call is kept.
func (h *Held) stop(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil {
		h.cause = cause
	}
	h.endWork(cause)
}

// endWork ends the context of the handler, or for a batch the work on this delivery.
func (h *Held) endWork(cause error) {
	if h.end != nil {
		h.end(cause)
	}
	if h.group != nil {
		h.group.leave(cause)
		h.group = nil
	}
}

// lose notes that another consumer may have the lease. It returns false if a verdict is in
// flight: then the verdict may be the reason why the store does not know the lease any more.
func (h *Held) lose() bool {
	h.mu.Lock()
	h.unknown = true
	lost := h.phase == open
	if lost {
		h.phase, h.lost = settled, true
	}
	h.mu.Unlock()
	if lost {
		h.stop(store.ErrLeaseLost)
	}
	return lost
}

// finish ends the context of a handler that has returned. It returns why the context had
// ended before, if it had.
func (h *Held) finish() (cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endWork(nil)
	return h.cause
}

// conclude notes that a verdict is in flight, unless none is needed any more. It returns the
// phase before, and whether the lease was lost before there was a verdict.
func (h *Held) conclude(until time.Time) (before phase, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before = h.phase
	if before != settled {
		h.putUnderWay(until)
	}
	return before, h.lost
}

func (h *Held) setPhase(p phase) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = p
}

// state returns the phase of the delivery and why the work on it has ended, nil if it has not.
func (h *Held) state() (phase, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.phase, h.cause
}

// wanted reports whether the lease is still to be extended or settled, for at most overtime after
// its end. If so, or if a verdict can change that, it also returns when the lease can run out.
func (h *Held) wanted(now time.Time, overtime time.Duration) (deadline time.Time, wanted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == settled || h.unknown || h.left(now) < -overtime {
		return time.Time{}, false
	}
	return h.began.Add(h.deadline), h.phase == underWay || h.mayExtend(now)
}

// extended notes that the lease cannot run out before deadline.
func (h *Held) extended(deadline time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deadline = max(h.deadline, deadline.Sub(h.began))
}

// remaining returns for how long the lease is certain to last.
func (h *Held) remaining(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left(now)
}

// extendable reports whether the lease should be extended if less than below of it is left.
func (h *Held) extendable(now time.Time, below time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.phase != settled && h.left(now) <= below && h.mayExtend(now)
}

// setUnderWay notes that the verdict is in flight. The lease is extended meanwhile, but not after
// until.
func (h *Held) setUnderWay(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.putUnderWay(until)
}

func (h *Held) putUnderWay(until time.Time) {
	h.phase = underWay
	h.extendUntil(until)
}

// holdings are all deliveries that a consumer holds. Each knows its index.
type holdings struct {
	mu   sync.Mutex
	held []*Held
}

func newHoldings() *holdings { return &holdings{} }

func (s *holdings) add(all []*Held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range all {
		s.held = append(s.held, h)
		h.index = int32(len(s.held))
	}
}

func (s *holdings) remove(h *Held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(h)
}

// drop removes h, if it is held, and moves the last delivery to its index.
func (s *holdings) drop(h *Held) {
	if h.index == 0 {
		return
	}
	end := len(s.held) - 1
	last := s.held[end]
	s.held[h.index-1], last.index = last, h.index
	s.held[end], s.held = nil, s.held[:end]
	h.index = 0
}

func (s *holdings) removeSettled(all []settling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		s.drop(all[i].held)
	}
}

func (s *holdings) none() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) == 0
}

func (s *holdings) all() []*Held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.held)
}

// stopAll ends the work on all deliveries.
func (s *holdings) stopAll(cause error) {
	for _, h := range s.all() {
		h.stop(cause)
	}
}

// cancel ends the work on a message after a request to cancel it.
func (s *holdings) cancel(id store.ID) {
	for _, h := range s.all() {
		if phase, _ := h.state(); h.Delivery.Receipt.ID == id && phase != settled {
			h.stop(store.ErrCancelled)
		}
	}
}

// group is the context of a batch's handler. It ends when the work on all its deliveries
// has ended, with the cause of the last.
type group struct {
	ctx  context.Context //nolint:containedctx // it is what a group is for
	end  context.CancelCauseFunc
	left atomic.Int32 // deliveries whose work has not ended
}

// newGroup returns the group of n deliveries.
func newGroup(parent context.Context, n int) *group {
	ctx, end := context.WithCancelCause(parent)
	g := &group{ctx: ctx, end: end}
	g.left.Store(int32(n))
	return g
}

// leave is called when the work on a delivery has ended.
func (g *group) leave(cause error) {
	if g.left.Add(-1) == 0 {
		g.end(cause)
	}
}
