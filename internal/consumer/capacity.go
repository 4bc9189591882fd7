package consumer

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// soon is the aim of prefetching: handlers of held deliveries should start within that time.
const soon = 100 * time.Millisecond

// capacity limits how many deliveries may be held: one for each worker, and as many more as the
// workers are expected to start within soon, by the mean duration of handlers, and as fit into
// prefetchBytes, by the mean size of deliveries. So a consumer with slow handlers holds few
// messages that others could handle, and fast handlers do not wait for claims.
//
// A delivery has a permit from before its claim until the store has its verdict. Partitions can be
// on different servers, so a partition that does not answer must not keep permits from the others:
// while a claim or a verdict of it is late, the permits of its claim and of all its verdicts are
// lent, that is, they count against that partition only. A late claim can still return all
// deliveries that it asked for; then more are held than there are permits, until enough are
// settled.
type capacity struct {
	workers       int          // deliveries that handlers can work on at a time
	batch         int          // the most deliveries of one call of a handler
	prefetch      int          // the most deliveries that may wait for a worker
	prefetchBytes int          // approximate limit of the bodies that wait for a worker
	bytes         atomic.Int64 // of the deliveries that wait for a worker
	share         *Share       // of slots, which handlers need to run; nil: workers need none
	queued        func() int   // how many deliveries wait for a worker; only used with share

	mu         sync.Mutex
	limit      int // of workers in use: lower than their number while the processor is overloaded
	used       int // permits in use, including lent ones
	lent       int
	asking     int           // reserved by claims that are in flight and not late
	mean       time.Duration // time of a worker for a delivery; 0: not measured yet
	size       int           // mean bytes of a delivery
	partitions []usage
	sharers    int       // partitions that the consumer claims from
	idle       int       // workers that wait for deliveries, or are not needed; only counted with batches
	waiting    []*waiter // fetchers, in the order in which they are served
	short      bool      // a waiting fetcher has no permit because slots are missing
	plenty     int       // partitions that are known to have more messages due
	successor  *capacity // of the consumer that succeeds this one; nil: there is none
	before     int       // permits of those that this one succeeds
}

// usage counts the permits of one partition, except those of deliveries that wait for a worker or
// have one.
type usage struct {
	claiming   int // reserved by the claim in flight
	settling   int // of deliveries whose verdict the store does not know yet
	claimLate  bool
	settleLate int // calls with verdicts that are late
	plenty     int // 1: more messages are due than the last claim asked for
}

func (u *usage) lent() int {
	n := 0
	if u.claimLate {
		n += u.claiming
	}
	if u.settleLate > 0 {
		n += u.settling
	}
	return n
}

// asking returns the permits that are reserved by a claim which is not late.
func (u *usage) asking() int {
	if u.claimLate {
		return 0
	}
	return u.claiming
}

// waiter is a fetcher that waits for permits.
type waiter struct {
	partition int
	most      int
	granted   chan int
}

func newCapacity(c *Config) *capacity {
	return &capacity{
		workers: c.workers(), limit: c.workers(), batch: max(1, c.Batch), prefetch: c.Prefetch, prefetchBytes: c.PrefetchBytes,
		share: c.Share, partitions: make([]usage, c.Partitions), sharers: len(c.claimed()), idle: c.Concurrency,
	}
}

// ask reserves up to most permits for a claim of the partition, which ends with claimed. If there are
// none, it returns a waiter that is granted some later, unless it leaves.
func (c *capacity) ask(partition, most int) (*waiter, int) {
	w := &waiter{partition: partition, most: most, granted: make(chan int, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, w)
	c.grant()
	select {
	case n := <-w.granted:
		return nil, n
	default:
		return w, 0
	}
}

// leave removes w from the waiting fetchers, and gives back permits that it was granted meanwhile.
func (c *capacity) leave(w *waiter) {
	c.mu.Lock()
	before := len(c.waiting)
	c.waiting = slices.DeleteFunc(c.waiting, func(other *waiter) bool { return other == w })
	granted := len(c.waiting) == before
	c.mu.Unlock()
	if granted {
		c.claimed(w.partition, 0, 0, false)
	}
}

// pastDeliveries is the weight of the past in the moving averages, in deliveries.
const pastDeliveries = 10

// claimed ends a claim that has returned n deliveries, with bodies of bytes in all, and
// frees the other permits that were reserved for it. plenty: more messages are due.
func (c *capacity) claimed(partition, n, bytes int, plenty bool) {
	c.change(partition, func(u *usage) {
		u.plenty = 0
		if plenty {
			u.plenty = 1
		}
		c.used += n - u.claiming
		u.claiming, u.claimLate = 0, false
		if n > 0 {
			c.size += (bytes/n - c.size) * n / (n + pastDeliveries)
		}
	})
	c.trim()
}

// claimLate lends the permits of a claim until it is over.
func (c *capacity) claimLate(partition int) {
	c.change(partition, func(u *usage) { u.claimLate, u.plenty = true, 0 })
	c.trim()
}

// settleLate notes that a call with verdicts is late, or that a late one has ended.
func (c *capacity) settleLate(partition int, late bool) {
	c.change(partition, func(u *usage) {
		if late {
			u.settleLate++
		} else {
			u.settleLate--
		}
	})
}

// settling notes that the verdicts on n deliveries are about to be sent to the store.
func (c *capacity) settling(partition, n int) {
	c.change(partition, func(u *usage) { u.settling += n })
}

// settled notes that n deliveries are not held any more. It follows a call of settling.
func (c *capacity) settled(partition, n int) {
	c.change(partition, func(u *usage) {
		u.settling -= n
		c.used -= n
	})
}

// give returns the permits of n deliveries whose verdicts are not in flight.
func (c *capacity) give(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= n
	c.grant()
}

// idling notes that a worker begins or ends to wait for a full batch.
func (c *capacity) idling(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !yes {
		c.idle--
		return
	}
	c.idle++
	c.grant()
}

func (c *capacity) change(partition int, how func(*usage)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := &c.partitions[partition]
	c.count(u, -1)
	how(u)
	c.count(u, 1)
	c.grant()
}

// count adds the figures of a partition to the sums over all partitions.
func (c *capacity) count(u *usage, sign int) {
	c.lent += sign * u.lent()
	c.asking += sign * u.asking()
	c.plenty += sign * u.plenty
}

// worked notes how long a worker was busy with one delivery.
func (c *capacity) worked(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d = max(d, 1); c.mean == 0 {
		c.mean = d
	}
	c.mean += (d - c.mean) / pastDeliveries
	c.grant()
}

// stalled notes that workers have been busy for a long time. The mean has only handlers that have
// returned and does not show that. Nothing is prefetched until handlers are fast again.
func (c *capacity) stalled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mean = max(c.mean, time.Duration(c.workers)*soon+1)
}

// starved halves the workers in use, because this process gets so little processor time that
// leases could run out before they are extended. At least as many as there are processors remain.
func (c *capacity) starved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = max(c.limit/2, min(runtime.GOMAXPROCS(0)*c.batch, c.workers))
	c.limitSlots()
}

// unstarved puts more workers to use, up to all.
func (c *capacity) unstarved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit == c.workers {
		return
	}
	c.limit = min(c.limit+max(c.limit/4, 1), c.workers)
	c.limitSlots()
	c.grant()
}

// limited reports whether starved has lowered the limit, and unstarved not yet raised it to the full
// number.
func (c *capacity) limited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit < c.workers
}

func (c *capacity) limitSlots() {
	if c.share != nil {
		c.share.limit(c.own())
	}
}

// handOver leaves to another consumer the permits that this one does not use, and those that it gives
// up from now on.
func (c *capacity) handOver(to *capacity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.successor = to
	c.grant()
}

// succeed notes how many permits are left to the consumers before.
func (c *capacity) succeed(before int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before != before {
		c.before = before
		c.limitSlots()
		c.grant()
	}
}

// own returns how many workers may be in use, without those of the consumers before.
func (c *capacity) own() int { return max(0, c.limit-c.before) }

// grant serves the waiting fetchers in their order. One that cannot get a permit now does not
// block the others.
func (c *capacity) grant() {
	c.short = false
	if c.successor != nil {
		c.successor.succeed(c.before + max(0, c.used-c.lent))
	}
	if len(c.waiting) == 0 {
		return
	}
	ahead := c.ahead(c.own())
	c.waiting = slices.DeleteFunc(c.waiting, func(w *waiter) bool {
		n := min(c.available(w.partition, ahead), w.most)
		if n > 0 && c.share != nil {
			n = c.withSlots(n)
			c.short = c.short || n == 0
		}
		if n > 0 {
			u := &c.partitions[w.partition]
			c.used += n
			c.count(u, -1)
			u.claiming = n
			c.count(u, 1)
			w.granted <- n
		}
		return n > 0
	})
	if c.short {
		c.share.ring()
	}
}

// available returns how many permits a claim of a partition may have. It is at most the
// partition's fair share, so that one claim cannot take all permits, or as many as are worth a call
// if that is more: otherwise calls get smaller, and dearer for each message, the more partitions
// there are. It is 0 if the free permits are not worth a call (see worth), so that busy workers do
// not cause a call per message.
func (c *capacity) available(partition, ahead int) int {
	total, owed := c.own()+ahead, c.partitions[partition].lent()
	if c.share != nil { // a delivery that is being settled has given up its slot, so another handler needs a permit
		total += c.own()
	}
	free := c.worth(total-c.used+c.lent-owed, ahead)
	if free == 0 {
		return 0
	}
	fair := max((total+c.sharers-1)/c.sharers, ahead/2)
	return max(0, min(free, fair-owed))
}

// worth returns free if that many permits are worth a call, else 0. They must be at least one and
// half of the deliveries that may wait for workers and, unless a worker waits for a full batch,
// half of a batch.
func (c *capacity) worth(free, ahead int) int {
	least := max(1, ahead/2)
	if c.idle == 0 {
		least = max(least, c.batch/2)
	}
	if free < least {
		return 0
	}
	return free
}

// ahead returns how many deliveries may wait for workers. It is a multiple of a batch, so that a
// worker that becomes free does not take an incomplete batch while more messages are due. None may wait
// while workers of the consumers before are busy: this one would have workers for them.
func (c *capacity) ahead(workers int) int {
	if c.mean == 0 || c.before > 0 {
		return 0
	}
	n := int(min(int64(c.prefetch), int64(workers)*int64(soon)/int64(c.mean)))
	if c.size > 0 {
		n = min(n, c.prefetchBytes/c.size)
	}
	if c.bytes.Load() >= int64(c.prefetchBytes) {
		n = 0
	}
	return n - n%c.batch
}

// withSlots returns how many of n permits a claim may have where handlers need slots. It reserves
// free slots for them, and adds the deliveries that may wait for slots that the queue already
// has.
func (c *capacity) withSlots(n int) int {
	need := c.needed()
	reserved, held := c.share.reserve(need + n)
	ahead := c.ahead(held)
	return min(n, c.worth(reserved+ahead-need, ahead))
}

// needed returns how many slots are needed in addition to those of running handlers: for
// deliveries that wait for one, and for those that claims in flight have asked for.
func (c *capacity) needed() int { return c.asking + c.queued() }

// wanted returns needed, and how many slots are wanted for new claims as well: as many as
// possible while more messages are known to be due, otherwise one, to find out whether any are.
func (c *capacity) wanted() (needed, wanted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	needed = c.needed()
	switch {
	case c.plenty > 0 && (c.short || c.asking > 0):
		return needed, needed + c.limit
	case c.short && c.asking == 0:
		return needed, needed + 1
	}
	return needed, needed
}

// offer is called when more slots are reserved than needed.
func (c *capacity) offer() {
	c.mu.Lock()
	c.grant()
	c.mu.Unlock()
	c.trim()
}

// trim gives up reserved slots that no delivery needs, held or asked for, unless more messages
// are due: then the next claim needs them.
func (c *capacity) trim() {
	if c.share == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plenty == 0 {
		c.share.trim(c.needed())
	}
}
