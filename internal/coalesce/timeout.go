package coalesce

import (
	"context"
	"time"
)

// ticks is how many parts the clock divides Timeout into.
const ticks = 32

// clock counts the parts of Timeout while a caller waits that Timeout limits. One timer for
// all callers costs less than one for each, and reading the count less than the time.
type clock struct {
	now     int64 // ticks so far, plus 1
	running bool
}

// clocked returns the time by the clock from which Timeout counts for a caller that begins to
// wait; 0 if Timeout does not limit it.
func (c *Coalescer[T, R]) clocked(ctx context.Context) (since int64) {
	if c.config.Timeout == 0 {
		return 0
	}
	if _, ok := ctx.Deadline(); ok {
		return 0
	}
	if c.clock.running {
		return c.clock.now + 1 // the current part has begun before
	}
	c.clock.running = true
	c.clock.now++
	c.wind()
	return c.clock.now
}

// wind has the clock tick once more.
func (c *Coalescer[T, R]) wind() { time.AfterFunc((c.config.Timeout+ticks-1)/ticks, c.tick) }

// tick ends the wait of the callers whose timeout is over.
func (c *Coalescer[T, R]) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock.now++
	c.clock.running = c.expire(c.waiting)
	for _, call := range c.calls {
		later := c.expire(call.entries)
		c.clock.running = c.clock.running || later
	}
	c.sweep()
	if c.clock.running {
		c.wind()
	}
}

// expire ends the wait for those of entries whose timeout is over, and reports whether there are
// others whose timeout ends later.
func (c *Coalescer[T, R]) expire(entries []*entry[T, R]) (later bool) {
	for _, e := range entries {
		switch {
		case e.since == 0:
		case c.clock.now-e.since >= ticks:
			e.answer <- answer[R]{status: c.abandon(e)}
		default:
			later = true
		}
	}
	return later
}
