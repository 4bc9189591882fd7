package consumer

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Slots limit the handlers that the consumers of several queues run at the same time. Any queue
// can use a free slot. When queues want more slots than there are, each gets slots in proportion
// to its weight, measured by the time for which it holds them: so long handlers of a queue with a
// low weight cannot displace short ones of a queue with a high weight.
//
// That is weighted fair queueing over the time of slots. Each queue has a virtual time: the time
// for which it has held slots, divided by its weight. A slot goes to the queue whose virtual time
// would be the least after one more handler.
type Slots struct {
	mu      sync.Mutex
	free    int
	mean    time.Duration // time for which a handler holds a slot
	reached float64       // the virtual time of the queues that get slots; it never decreases
	waiting []*Share
}

const (
	// The virtual time of a queue that was idle is at most slotCredit below that of the others.
	// That of a queue which had more than its share, because no other queue wanted slots or its
	// handlers hung, is at most slotDebt above. Both are times of one slot.
	slotCredit = time.Second
	slotDebt   = 10 * time.Second
	// minUse is the least time that a use of a slot counts, so that queues whose handlers take no
	// measurable time also alternate.
	minUse = time.Microsecond
	// pastUses is the weight of the past in the mean, in uses of slots.
	pastUses = 100
)

// NewSlots returns n free slots.
func NewSlots(n int) *Slots { return &Slots{free: n, mean: minUse} }

// Share is the part of the slots that one queue has: those of running handlers, and those
// reserved for deliveries that claims have asked for or that are about to be handled.
type Share struct {
	slots  *Slots
	weight float64
	most   int
	ring   func() // makes the dispatcher check for work; it does not block

	running  int
	reserved int
	wanted   int       // additional slots, to be reserved for it when they become free
	virtual  float64   // time, in ns
	since    time.Time // virtual has the time of slots before that
}

// Share returns the share of a queue that may hold up to most slots. Only one consumer may use it
// at a time.
func (s *Slots) Share(weight, most int) *Share {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Share{
		slots: s, weight: float64(weight), most: most, virtual: s.reached, since: time.Now(),
		ring: func() {},
	}
}

// onRing sets the function that makes the dispatcher check for work. It must not block.
func (a *Share) onRing(ring func()) {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	a.ring = ring
}

// limit changes how many slots the queue may hold.
func (a *Share) limit(most int) {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	a.most = most
	a.slots.freed(0, time.Now())
}

// start takes a reserved slot for a handler; false if there is none.
func (a *Share) start() bool {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	if a.reserved == 0 {
		return false
	}
	a.reserved--
	a.running++
	return true
}

// ask sets how many slots the queue needs in addition to those of its running handlers. Free ones
// are reserved now, the others when the queue is next to get one. It returns how many are
// reserved.
func (a *Share) ask(n int) (reserved int) {
	s, now := a.slots, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	waited := a.wanted > 0
	a.wanted = max(0, n-a.reserved)
	switch {
	case a.wanted == 0 && waited:
		s.waiting = slices.DeleteFunc(s.waiting, func(other *Share) bool { return other == a })
	case a.wanted > 0 && !waited:
		s.waiting = append(s.waiting, a)
	}
	s.freed(0, now)
	return a.reserved
}

// again is called when a handler that had a slot has returned. It reports whether the slot
// stays with this queue, for another delivery; otherwise it has been given up.
func (a *Share) again(took time.Duration) bool {
	s, now := a.slots, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mean += (max(took, minUse) - s.mean) / pastUses
	a.charge(now)
	a.running--
	rival := s.first(now)
	if rival == nil || a.claim() <= rival.claim() {
		a.running++
		a.begin()
		return true
	}
	s.freed(1, now)
	return false
}

// release gives up the slot of a handler.
func (a *Share) release() {
	s, now := a.slots, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	a.charge(now)
	a.running--
	s.freed(1, now)
}

// reserve reserves free slots until n are reserved, or as many as the queue can get. It returns
// how many are reserved, and how many the queue holds including those of running handlers.
func (a *Share) reserve(n int) (reserved, held int) {
	s, now := a.slots, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.free > 0 && a.reserved < n && a.held() < a.most {
		a.take(now)
	}
	return a.reserved, a.held()
}

// trim gives up reserved slots until at most n are left.
func (a *Share) trim(n int) {
	s, now := a.slots, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if surplus := a.reserved - n; surplus > 0 {
		a.charge(now)
		a.reserved -= surplus
		s.freed(surplus, now)
	}
}

// held returns how many slots the queue holds.
func (a *Share) held() int { return a.running + a.reserved }

// take reserves a free slot.
func (a *Share) take(now time.Time) {
	a.charge(now)
	a.slots.free--
	a.reserved++
	a.begin()
}

// begin notes that a handler gets a slot.
func (a *Share) begin() {
	a.slots.reached = max(a.slots.reached, a.virtual)
	a.virtual += float64(minUse) / a.weight
}

// charge adds the time for which the queue has held slots since the last charge, within the
// limits of credit and debt. It is called before the number of slots held changes.
func (a *Share) charge(now time.Time) {
	a.virtual += float64(a.held()) * float64(now.Sub(a.since)) / a.weight
	a.since = now
	least, most := a.slots.reached-float64(slotCredit)/a.weight, a.slots.reached+float64(slotDebt)/a.weight
	a.virtual = min(max(a.virtual, least), most)
}

// claim returns the expected virtual time of the queue after the handlers that hold slots and one
// more. The queue with the least claim gets the next slot.
func (a *Share) claim() float64 {
	return a.virtual + float64(a.slots.mean)*float64(a.held()+1)/a.weight
}

// first returns the queue that is next to get a slot, nil if no queue that waits may have one.
func (s *Slots) first(now time.Time) *Share {
	var first *Share
	least := math.Inf(1)
	for _, a := range s.waiting {
		if a.held() >= a.most {
			continue
		}
		a.charge(now)
		if claim := a.claim(); claim < least {
			first, least = a, claim
		}
	}
	return first
}

// freed reserves n slots that were given up, and those that are free, for the queues that wait.
func (s *Slots) freed(n int, now time.Time) {
	s.free += n
	for s.free > 0 {
		next := s.first(now)
		if next == nil {
			return
		}
		next.take(now)
		next.ring()
		if next.wanted--; next.wanted == 0 {
			s.waiting = slices.DeleteFunc(s.waiting, func(a *Share) bool { return a == next })
		}
	}
}

// startDispatch prepares the dispatcher. It ends when the consumer stops or, with Config.AtMostOnce,
// when the last delivery has a worker: those deliveries are acked and cannot be released.
func (w *work) startDispatch(ctx, life context.Context) {
	share, lasting := w.config.Share, context.WithoutCancel(life)
	var r *runner
	r = newRunner(func() time.Duration {
		w.dispatch(life, lasting)
		if w.backlog.over() {
			r.end()
		}
		return forever
	}, func() {
		share.ask(0)
		share.trim(0)
		w.workers.Done()
	})
	w.workers.Add(1)
	share.onRing(r.ring)
	if w.config.AtMostOnce {
		ctx = life
	}
	context.AfterFunc(ctx, r.end)
	r.ring()
}

// dispatch gives shared slots to the deliveries of this consumer, and starts a worker for each,
// so that no worker is idle. It also asks for slots that claims need when fetchers wait for them.
func (w *work) dispatch(life, lasting context.Context) {
	w.startWaiting(life, lasting)
	if needed, wanted := w.capacity.wanted(); w.config.Share.ask(wanted) > needed {
		w.capacity.offer()
	}
}

// startWaiting starts workers for deliveries that wait, as long as there are slots.
func (w *work) startWaiting(life, lasting context.Context) {
	for w.backlog.len() > 0 && w.config.Share.start() {
		w.workers.Add(1)
		go w.serve(life, lasting, w.backlog.poll())
	}
}

// serve is a worker that has a slot. It ends when the slot goes to another queue, when no
// delivery waits (h is nil), or when a handler calls runtime.Goexit.
func (w *work) serve(life, lasting context.Context, h *Held) {
	defer w.workers.Done()
	has := true
	defer func() {
		if has {
			w.config.Share.release()
		}
	}()
	for h != nil {
		began := time.Now()
		w.handle(life, lasting, h)
		if has = w.config.Share.again(time.Since(began)); !has {
			return
		}
		h = w.backlog.poll()
	}
}
