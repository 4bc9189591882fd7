package consumer

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Slots are the places for running handlers that the consumers of several queues share. A
// free slot is for any of them. When there are more wishes than slots, each queue gets
// slots in proportion to its weight, measured by the time for which it holds them: so long
// handlers of a light queue cannot crowd out short ones of a heavy queue.
//
// That is weighted fair queueing over the time of slots: each queue has a virtual time,
// the time of the slots it has held divided by its weight. A slot goes to the queue whose
// virtual time, with what another handler would add to it, is the least.
type Slots struct {
	mu      sync.Mutex
	free    int
	mean    time.Duration // for which a handler holds a slot
	reached float64       // the virtual time of the queues that get slots; it never goes back
	waiting []*Share
}

const (
	// A queue that was idle is at most slotCredit ahead of the others in its claim to slots,
	// and one that has had more than its share, when nobody else needed them or because its
	// handlers hung, is at most slotDebt behind: in time of one slot.
	slotCredit = time.Second
	slotDebt   = 10 * time.Second
	// minUse is what the use of a slot counts at least, so that handlers that take no time
	// that can be measured take turns, too.
	minUse = time.Microsecond
	// pastUses is what the past weighs in the mean.
	pastUses = 100
)

// NewSlots returns n free slots.
func NewSlots(n int) *Slots { return &Slots{free: n, mean: minUse} }

// Share is what one queue has of the slots: for handlers that run, and reserved for
// deliveries that have been asked for or are about to be handled.
type Share struct {
	slots  *Slots
	weight float64
	most   int
	wake   chan struct{} // holds a token when the dispatcher is to look

	running  int
	reserved int
	wanted   int       // slots more, that are reserved for it as they become free
	virtual  float64   // time, in ns
	since    time.Time // the time of slots before is in virtual
}

// Share returns the share of a queue that may hold up to most slots. One consumer at a
// time uses it.
func (s *Slots) Share(weight, most int) *Share {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Share{
		slots: s, weight: float64(weight), most: most, virtual: s.reached, since: time.Now(),
		wake: make(chan struct{}, 1),
	}
}

// ring makes the dispatcher look.
func (a *Share) ring() {
	select {
	case a.wake <- struct{}{}:
	default: // it is going to look anyway
	}
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

// ask says how many slots the queue needs beside those of its running handlers. As many as
// are free are reserved now, the others when it is the queue's turn. It returns how many are
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

// reserve reserves free slots until n are, or as many as there are for it. It returns how
// many are reserved, and how many the queue holds with those of running handlers.
func (a *Share) reserve(n int) (reserved, held int) {
	s, now := a.slots, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.free > 0 && a.reserved < n && a.held() < a.most {
		a.take(now)
	}
	return a.reserved, a.held()
}

// trim gives up reserved slots for as long as there are more than n.
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

// held is how many slots the queue holds.
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

// claim is the less, the sooner the queue gets a slot: its virtual time, and what the
// handlers that hold slots and one more add to it as a rule.
func (a *Share) claim() float64 {
	return a.virtual + float64(a.slots.mean)*float64(a.held()+1)/a.weight
}

// first returns the queue that is the next to get a slot; nil if none waits that may have
// one.
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

// freed reserves slots, n that were given up and those that are free, for those who wait.
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

// dispatch gives slots that several consumers share to the deliveries of this one, and
// starts a worker for each: only those that have something to do exist. It also asks for the
// slots of claims when fetchers can have none without. It ends when the consumer stops or,
// where deliveries are acked already and cannot be released, when the last has a worker.
func (w *work) dispatch(ctx, life, lasting context.Context) {
	defer w.workers.Done()
	share := w.config.Share
	defer share.trim(0)
	defer share.ask(0)
	if w.config.AtMostOnce {
		ctx = life
	}
	for {
		w.startWaiting(life, lasting)
		if w.backlog.over() {
			return
		}
		if needed, wanted := w.capacity.wanted(); share.ask(wanted) > needed {
			w.capacity.offer()
		}
		select {
		case <-share.wake:
		case <-ctx.Done():
			return
		}
	}
}

// startWaiting starts workers for deliveries that wait, as long as there are slots.
func (w *work) startWaiting(life, lasting context.Context) {
	for w.backlog.len() > 0 && w.config.Share.start() {
		w.workers.Add(1)
		go w.serve(life, lasting, w.backlog.poll())
	}
}

// serve is a worker that has a slot. It ends when the slot goes to another queue, or when
// nothing waits (h is nil). A handler that calls runtime.Goexit ends it, too.
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
