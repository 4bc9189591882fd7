// Package coalesce combines calls that are made at the same time into one call.
package coalesce

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Config is what a [Coalescer] calls, and how much at a time.
type Config[T, R any] struct {
	// Call makes the call for at least one item and returns a result for each. It may
	// keep items. Required.
	Call func(ctx context.Context, items []T) []R
	// MaxItems is how many items go into one call at most; at least 1.
	MaxItems int
	// MaxBytes is how large the items of one call are together at most, as measured by
	// Size; at least 1. A single item may be larger and is then in a call of its own.
	MaxBytes int
	// Size returns the size of an item. Required.
	Size func(item *T) int
	// MaxInFlight is how many calls may be in flight; 0: 1.
	MaxInFlight int
	// StallAfter is how long a call counts as in flight; 0: until it returns. A call that
	// takes longer is stalled: another call may be made before it returns.
	StallAfter time.Duration
	// Timeout is how long [Coalescer.Do] waits for calls of other callers if its context
	// has no deadline, or up to a 32nd longer; 0: as long as they take. A call that the
	// caller makes in its own goroutine is not limited.
	Timeout time.Duration
	// Context returns the context of a call for several callers, derived from the context
	// of the first caller. It must not end when that one does. Required.
	Context func(first context.Context) context.Context
	// Done is called after a call with those of its items that [Coalescer.Start] was given,
	// and their results. It must not block. Required by Start and StartAll.
	Done func(items []T, results []R)
	// Go runs a function in a new goroutine; nil: a go statement does.
	Go func(func())
}

// Coalescer combines the items of many goroutines into calls. One call is in flight at a
// time, or up to Config.MaxInFlight. Items that arrive meanwhile wait, and the next call has
// all of them that fit. There is no timer, so no item waits for more items to arrive.
//
// A caller of [Coalescer.Do] that finds fewer calls in flight makes its call in its own
// goroutine, so a single caller pays nothing for the coalescer. Items that wait are called
// for by one goroutine for each call that may be in flight.
//
// Calls are made in the order of their items. With MaxInFlight above 1 they may arrive in
// another order.
//
// With StallAfter, a call that takes longer does not delay the items that wait: they go
// into another call beside it. At most [maxStalled] calls are in flight in addition to
// MaxInFlight.
//
// The memory of a coalescer is bounded by its callers: Do blocks, and callers of
// [Coalescer.Start] must bound what they start.
type Coalescer[T, R any] struct {
	config Config[T, R]

	mu        sync.Mutex
	inFlight  int // calls in flight that are not stalled
	stalled   int // calls in flight for longer than StallAfter
	waiting   []*entry[T, R]
	abandoned int           // how many of waiting were left by their callers
	calls     []*call[T, R] // in flight, except those that callers make themselves
	clock     clock
	timers    sync.Pool // of *stallTimer
	entries   sync.Pool // of *entry
}

// New returns a Coalescer. It panics if c lacks a required field or has a limit that is
// out of range, because both are mistakes of the program.
func New[T, R any](c Config[T, R]) *Coalescer[T, R] {
	switch {
	case c.Call == nil || c.Size == nil || c.Context == nil:
		panic("coalesce: Call, Size and Context are required")
	case c.MaxItems < 1 || c.MaxBytes < 1:
		panic("coalesce: MaxItems and MaxBytes must be at least 1")
	case c.MaxInFlight < 0 || c.StallAfter < 0 || c.Timeout < 0:
		panic("coalesce: MaxInFlight, StallAfter and Timeout must not be negative")
	}
	c.MaxInFlight = max(c.MaxInFlight, 1)
	return &Coalescer[T, R]{config: c}
}

// Status is what is known of an item when [Coalescer.Do] returns.
type Status int

// The statuses.
const (
	Completed Status = iota // the call returned a result
	NotCalled               // the caller left before the item was in a call, and it never will be
	Abandoned               // the caller left while the call was in flight: the result is unknown
)

// entry is an item that waits for a call or is in one. Items of StartAll that fit into one
// call share an entry.
type entry[T, R any] struct {
	item   T
	items  []T             // set instead of item by StartAll
	ctx    context.Context // of the caller; nil if no caller waits for the result
	since  int64           // when the caller began to wait, by the clock; 0 if Timeout does not matter
	state  state
	call   *call[T, R]    // once it is in flight
	answer chan answer[R] // to the caller
}

// answer is what a caller of Do waits for.
type answer[R any] struct {
	result R
	status Status
}

// state is the state of an entry.
type state int

const (
	pending state = iota
	called
	left // by its caller, before it was in a call
)

// call is a call for several entries that is in flight.
type call[T, R any] struct {
	entries []*entry[T, R]
	callers int // that have not left
	cancel  context.CancelFunc
}

// Do has a call made for a copy of item and waits for its result, until ctx ends or the
// timeout is over. If the caller leaves before the call is made, item is not in it. A call is
// cancelled when all its callers have left.
func (c *Coalescer[T, R]) Do(ctx context.Context, item *T) (R, Status) {
	c.mu.Lock()
	if c.acquire() {
		c.mu.Unlock()
		t := c.startTimer()
		defer c.finish(t)
		return c.config.Call(ctx, []T{*item})[0], Completed
	}
	e := c.newEntry()
	e.item, e.ctx, e.state, e.since = *item, ctx, pending, c.clocked(ctx)
	c.waiting = append(c.waiting, e)
	c.mu.Unlock()
	a := c.wait(e)
	if a.status == Completed { // else its call may still refer to it
		c.recycle(e)
	}
	return a.result, a.status
}

// wait waits for an entry's answer. Without a context that can end, a plain receive does,
// which costs less than a select.
func (c *Coalescer[T, R]) wait(e *entry[T, R]) answer[R] {
	done := e.ctx.Done()
	if done == nil {
		return <-e.answer
	}
	select {
	case a := <-e.answer:
		return a
	case <-done:
		return c.leave(e)
	}
}

// Start has a call made for item and returns at once. Config.Done gets the result.
func (c *Coalescer[T, R]) Start(item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.newEntry()
	e.item = item
	c.start(e)
}

// StartAll is Start for several items, which share calls as far as they fit. It keeps items.
func (c *Coalescer[T, R]) StartAll(items []T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(items) > 0 {
		n := c.fitting(items)
		e := c.newEntry()
		e.items, items = items[:n:n], items[n:]
		c.start(e)
	}
}

// fitting returns how many of the first items fit into one call; at least 1.
func (c *Coalescer[T, R]) fitting(items []T) int {
	n, bytes := 0, 0
	for n < min(len(items), c.config.MaxItems) {
		if bytes += c.config.Size(&items[n]); n > 0 && bytes > c.config.MaxBytes {
			break
		}
		n++
	}
	return n
}

func (c *Coalescer[T, R]) start(e *entry[T, R]) {
	e.state = pending
	c.waiting = append(c.waiting, e)
	if c.acquire() {
		c.spawn()
	}
}

// acquire reports whether one more call may be in flight, and counts it.
func (c *Coalescer[T, R]) acquire() bool {
	if c.inFlight >= c.config.MaxInFlight {
		return false
	}
	c.inFlight++
	return true
}

// Waiting returns how many entries wait for a call.
func (c *Coalescer[T, R]) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) - c.abandoned
}

// leave ends a caller's wait before it has the answer.
func (c *Coalescer[T, R]) leave(e *entry[T, R]) answer[R] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(e.answer) > 0 {
		return <-e.answer
	}
	status := c.abandon(e)
	c.sweep()
	return answer[R]{status: status}
}

// abandon takes an entry out of what waits, or its caller out of those of its call.
func (c *Coalescer[T, R]) abandon(e *entry[T, R]) Status {
	e.since = 0
	switch e.state {
	case pending:
		e.state = left
		c.abandoned++
		return NotCalled
	case called:
		e.call.callers--
		if e.call.callers == 0 {
			e.call.cancel()
		}
		return Abandoned
	default:
		return NotCalled
	}
}

// sweep removes the entries that their callers have left, once they are the majority: so
// the list stays short and each removal is paid for by as many arrivals.
func (c *Coalescer[T, R]) sweep() {
	if c.abandoned <= len(c.waiting)/2 {
		return
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(e *entry[T, R]) bool { return e.state == left })
	c.abandoned = 0
}

// finish ends a call that a caller has made in its own goroutine.
func (c *Coalescer[T, R]) finish(t *stallTimer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopTimer(t) {
		return // another call was made in place of this one
	}
	c.release()
}

// release lets a goroutine make the next call, or counts one call less if no item waits.
func (c *Coalescer[T, R]) release() {
	if len(c.waiting) == 0 {
		c.inFlight--
		return
	}
	c.spawn()
}

func (c *Coalescer[T, R]) spawn() {
	if c.config.Go != nil {
		c.config.Go(c.run)
		return
	}
	go c.run()
}
