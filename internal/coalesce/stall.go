package coalesce

import "time"

// maxStalled is how many stalled calls are replaced by another call at a time.
const maxStalled = 3

// stallTimer notices when a call takes longer than StallAfter. Timers are reused, because
// most calls are not stalled.
type stallTimer struct {
	timer   *time.Timer
	running bool
	stalled bool // another call was made in place of this one
}

// startTimer begins to time a call. It returns nil if calls are not timed.
func (c *Coalescer[T, R]) startTimer() *stallTimer {
	if c.config.StallAfter == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.timers.Get().(*stallTimer)
	if !ok {
		t = &stallTimer{}
		t.timer = time.AfterFunc(c.config.StallAfter, func() { c.stall(t) })
	} else {
		t.timer.Reset(c.config.StallAfter)
	}
	t.running = true
	return t
}

// stall lets the items that wait go into another call before the stalled one returns.
func (c *Coalescer[T, R]) stall(t *stallTimer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.running || t.stalled || c.stalled == maxStalled {
		return
	}
	t.stalled = true
	c.stalled++
	c.release()
}

// stopTimer ends the timing of a call that has returned, and reports whether another call
// was made in its place. The caller holds mu.
func (c *Coalescer[T, R]) stopTimer(t *stallTimer) (stalled bool) {
	if t == nil {
		return false
	}
	t.timer.Stop()
	stalled = t.stalled
	if stalled {
		c.stalled--
	}
	t.running, t.stalled = false, false
	c.timers.Put(t)
	return stalled
}
