package consumer

import (
	"context"
	"sync"
	"time"
)

// soon is what prefetching aims at: what is held should be started within it.
const soon = 100 * time.Millisecond

// capacity is how many deliveries may be held: as many as there are workers, and as
// many more as they are going to start soon, by the mean time they have taken so far.
// A slow handler hoards nothing, a fast one never waits for a claim.
type capacity struct {
	workers  int
	prefetch int // the most of it
	share    int // the most one fetcher gets at a time

	mu      sync.Mutex
	used    int
	mean    time.Duration // 0: not measured yet
	waiting []*turn       // fetchers, first come first served
}

// turn is a fetcher's place in the line.
type turn struct{ granted chan int }

func newCapacity(c Config) *capacity {
	total := c.Concurrency + c.Prefetch
	return &capacity{
		workers: c.Concurrency, prefetch: c.Prefetch,
		share: (total + c.Partitions - 1) / c.Partitions,
	}
}

// take waits until there is room, then reserves up to most places; 0 if ctx ended.
func (c *capacity) take(ctx context.Context, most int) int {
	t := &turn{granted: make(chan int, 1)}
	c.mu.Lock()
	c.waiting = append(c.waiting, t)
	c.grant()
	c.mu.Unlock()
	select {
	case n := <-t.granted:
		return c.keep(n, most)
	case <-ctx.Done():
		return c.leave(t)
	}
}

func (c *capacity) keep(n, most int) int {
	if n > most {
		c.give(n - most)
		n = most
	}
	return n
}

// leave takes t out of the line, and gives back what it was granted meanwhile.
func (c *capacity) leave(t *turn) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.waiting {
		if c.waiting[i] == t {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			return 0
		}
	}
	c.used -= <-t.granted
	c.grant()
	return 0
}

// give returns n places.
func (c *capacity) give(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= n
	c.grant()
}

// worked tells for how long a worker was busy with one delivery.
func (c *capacity) worked(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const weight = 10 // of the past, in a moving average
	if d = max(d, 1); c.mean == 0 {
		c.mean = d
	}
	c.mean += (d - c.mean) / weight
	c.grant()
}

// grant serves the line while there is room worth a call: a free worker, or half of
// what may be prefetched, so that busy workers do not cause a call per message.
func (c *capacity) grant() {
	if len(c.waiting) == 0 {
		return
	}
	ahead := c.ahead()
	for len(c.waiting) > 0 {
		free := c.workers + ahead - c.used
		if free < max(1, ahead/2) {
			return
		}
		n := min(free, c.share)
		c.used += n
		c.waiting[0].granted <- n
		c.waiting = c.waiting[1:]
	}
}

// ahead is how many deliveries may wait for a worker.
func (c *capacity) ahead() int {
	if c.mean == 0 {
		return 0
	}
	return int(min(int64(c.prefetch), int64(c.workers)*int64(soon)/int64(c.mean)))
}
