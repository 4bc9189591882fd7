package consumer

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// soon is what prefetching aims at: what is held should be started within it.
const soon = 100 * time.Millisecond

// capacity is how many deliveries may be held: as many as there are workers, and as
// many more as they are going to start soon, by the mean time they have taken so far, and
// as fit into prefetchBytes, by their mean size so far. A slow handler hoards nothing, a
// fast one never waits for a claim.
//
// A place is taken from before the claim until the store has the verdict. Partitions can
// be on different servers, so a partition that the store does not serve must not keep
// places from the others: while a claim or a verdict of it is late, the places of its
// claim and of all its verdicts are lent. They count against that partition only. A
// late claim can still bring all it asked for; then more is held than there are places,
// until enough has been settled.
type capacity struct {
	workers       int          // deliveries that handlers can work on at a time
	batch         int          // deliveries that a handler takes together, at most
	prefetch      int          // the most of it
	prefetchBytes int          // of bodies, about
	bytes         atomic.Int64 // of what waits for a worker
	share         *Share       // of slots, without which no worker works; nil: each has one
	queued        func() int   // how many deliveries wait for a worker; only used with share

	mu         sync.Mutex
	limit      int // of workers in use: fewer than there are when the processor is overloaded
	used       int // places that are taken, the lent ones too
	lent       int
	asking     int           // reserved by claims under way that are not late
	mean       time.Duration // of the time that a worker takes; 0: not measured yet
	size       int           // mean bytes of a delivery
	partitions []usage
	idle       int     // workers that wait for deliveries, where these are handled in batches
	waiting    []*turn // fetchers, first come first served
	short      bool    // of slots, so that one of waiting has no place
	plenty     int     // of partitions
}

// usage is what one partition has of the places, apart from what waits for a worker or
// has one.
type usage struct {
	claiming   int // reserved by the claim under way
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

// asking is how many places a claim has reserved that has time still.
func (u *usage) asking() int {
	if u.claimLate {
		return 0
	}
	return u.claiming
}

// turn is a fetcher's place in the line.
type turn struct {
	partition int
	most      int
	granted   chan int
}

func newCapacity(c Config) *capacity {
	return &capacity{
		workers: c.places(), limit: c.places(), batch: max(1, c.Batch), prefetch: c.Prefetch, prefetchBytes: c.PrefetchBytes,
		share: c.Share, partitions: make([]usage, c.Partitions),
	}
}

// take waits until there is room, then reserves up to most places for a claim of the
// partition, which ends with claimed; 0 if ctx ended.
func (c *capacity) take(ctx context.Context, partition, most int) int {
	t := &turn{partition: partition, most: most, granted: make(chan int, 1)}
	c.mu.Lock()
	c.waiting = append(c.waiting, t)
	c.grant()
	c.mu.Unlock()
	select {
	case n := <-t.granted:
		return n
	case <-ctx.Done():
		c.leave(t)
		return 0
	}
}

// leave takes t out of the line, and gives back what it was granted meanwhile.
func (c *capacity) leave(t *turn) {
	c.mu.Lock()
	before := len(c.waiting)
	c.waiting = slices.DeleteFunc(c.waiting, func(other *turn) bool { return other == t })
	granted := len(c.waiting) == before
	c.mu.Unlock()
	if granted {
		c.claimed(t.partition, 0, 0, false)
	}
}

// pastDeliveries is what the past weighs in the moving averages.
const pastDeliveries = 10

// claimed ends a claim that has returned n deliveries, with bodies of bytes in all, and
// frees the other places that were reserved for it. plenty: more messages are due.
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

// claimLate lends the places of a claim until it is over.
func (c *capacity) claimLate(partition int) {
	c.change(partition, func(u *usage) { u.claimLate, u.plenty = true, 0 })
	c.trim()
}

// settleLate notes that a call with verdicts is late, or that one that was is over.
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

// settled ends what settling began: n deliveries are not held any more.
func (c *capacity) settled(partition, n int) {
	c.change(partition, func(u *usage) {
		u.settling -= n
		c.used -= n
	})
}

// give returns the places of n deliveries that have no verdict on its way.
func (c *capacity) give(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= n
	c.grant()
}

// idling notes that a worker waits to fill its batch, or that it does not any more.
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

// count adds to the sums over all partitions what one has.
func (c *capacity) count(u *usage, sign int) {
	c.lent += sign * u.lent()
	c.asking += sign * u.asking()
	c.plenty += sign * u.plenty
}

// worked notes for how long a worker was busy with one delivery.
func (c *capacity) worked(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d = max(d, 1); c.mean == 0 {
		c.mean = d
	}
	c.mean += (d - c.mean) / pastDeliveries
	c.grant()
}

// stalled notes that workers have not become free for long, which the mean of those that
// have does not show: nothing is prefetched until they are fast again.
func (c *capacity) stalled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mean = max(c.mean, time.Duration(c.workers)*soon+1)
}

// starved halves the workers in use: this process gets so little of the processor that
// leases could run out before they are extended. As many as there are processors always
// remain.
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

func (c *capacity) limitSlots() {
	if c.share != nil {
		c.share.limit(c.limit)
	}
}

// grant serves those who wait, in their order. Who cannot have anything now does not
// keep the others waiting.
func (c *capacity) grant() {
	c.short = false
	if len(c.waiting) == 0 {
		return
	}
	ahead := c.ahead(c.limit)
	c.waiting = slices.DeleteFunc(c.waiting, func(t *turn) bool {
		n := min(c.room(t.partition, ahead), t.most)
		if n > 0 && c.share != nil {
			n = c.withSlots(n)
			c.short = c.short || n == 0
		}
		if n > 0 {
			u := &c.partitions[t.partition]
			c.used += n
			c.count(u, -1)
			u.claiming = n
			c.count(u, 1)
			t.granted <- n
		}
		return n > 0
	})
	if c.short {
		c.share.ring()
	}
}

// room is how many places a claim of a partition may have: no more than its share, so
// that one claim cannot take all; and none unless that is worth a call: a free worker,
// or half of what may be prefetched, and half of a batch unless a worker waits to fill its
// own, so that busy workers do not cause a call per message.
func (c *capacity) room(partition, ahead int) int {
	total, owed := c.limit+ahead, c.partitions[partition].lent()
	if c.share != nil { // what is settling has given up its slot: another may need a place
		total += c.limit
	}
	free := c.worth(total-c.used+c.lent-owed, ahead)
	if free == 0 {
		return 0
	}
	share := (total + len(c.partitions) - 1) / len(c.partitions)
	return max(0, min(free, share-owed))
}

// worth returns how many of the free places a claim is worth a call for: all or none.
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

// ahead is how many deliveries may wait for one of n workers: whole batches, as a
// worker that becomes free would take fewer although more are due.
func (c *capacity) ahead(workers int) int {
	if c.mean == 0 {
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

// withSlots is how many of n places a claim may have where workers need slots: it reserves
// slots for them if any are free, and what can wait for slots that the queue has comes on top.
func (c *capacity) withSlots(n int) int {
	need := c.needed()
	reserved, held := c.share.reserve(need + n)
	ahead := c.ahead(held)
	return min(n, c.worth(reserved+ahead-need, ahead))
}

// needed is how many slots are needed beside those of running handlers, for deliveries that
// wait for one or have been asked for.
func (c *capacity) needed() int { return c.asking + c.queued() }

// wanted is needed, and how many slots are wanted: for new claims as many as there are while
// more messages are known to be due, else one, to see whether any are.
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

// trim gives up slots that no delivery needs that is held or asked for. While more messages
// are due, the next claim is about to need them.
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
