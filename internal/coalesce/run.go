package coalesce

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// run makes calls until no item waits.
func (c *Coalescer[T, R]) run() {
	current := &call[T, R]{}
	for {
		ctx, items := c.next(current)
		if len(items) == 0 {
			return
		}
		t := c.startTimer()
		results := c.config.Call(ctx, items)
		stalled := c.returned(current, t)
		c.deliver(current.entries, items, results)
		current.cancel()
		if stalled {
			return
		}
		// Let the callers that have just got results hand over their next items, so that
		// these share a call.
		runtime.Gosched()
	}
}

// returned ends a call, and reports whether another call was made in its place. From then on
// Timeout does not end the wait of its callers: once deliver has answered them, their entries
// are used again.
func (c *Coalescer[T, R]) returned(current *call[T, R], t *stallTimer) (stalled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = slices.DeleteFunc(c.calls, func(other *call[T, R]) bool { return other == current })
	return c.stopTimer(t)
}

// next takes the entries of the next call, and returns its context and items.
// If none waits, it returns no items, and one call less is in flight.
func (c *Coalescer[T, R]) next(current *call[T, R]) (context.Context, []T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	current.entries = current.entries[:0]
	n, total := 0, size{}
	for _, e := range c.waiting {
		if e.state == left {
			c.abandoned--
			n++
			continue
		}
		if e.ctx != nil && e.ctx.Err() != nil {
			e.state = left // its caller is about to notice
			n++
			continue
		}
		more := c.size(e)
		if len(current.entries) > 0 && (total.items+more.items > c.config.MaxItems || total.bytes+more.bytes > c.config.MaxBytes) {
			break
		}
		total.items += more.items
		total.bytes += more.bytes
		n++
		e.state, e.call = called, current
		current.entries = append(current.entries, e)
	}
	c.waiting = slices.Delete(c.waiting, 0, n)
	if len(current.entries) == 0 {
		c.inFlight--
		return nil, nil
	}
	c.calls = append(c.calls, current)
	return c.begin(current), itemsOf(current.entries, total.items)
}

// size is what an entry adds to a call.
type size struct{ items, bytes int }

func (c *Coalescer[T, R]) size(e *entry[T, R]) size {
	if e.items == nil {
		return size{1, c.config.Size(&e.item)}
	}
	bytes := 0
	for i := range e.items {
		bytes += c.config.Size(&e.items[i])
	}
	return size{len(e.items), bytes}
}

// itemsOf returns the n items of entries.
func itemsOf[T, R any](entries []*entry[T, R], n int) []T {
	if len(entries) == 1 && entries[0].items != nil {
		return entries[0].items
	}
	items := make([]T, 0, n)
	for _, e := range entries {
		if e.items == nil {
			items = append(items, e.item)
		} else {
			items = append(items, e.items...)
		}
	}
	return items
}

// begin sets current up for a call and returns the call's context. It ends when all callers have
// left, and at the latest of their deadlines if all have one.
func (c *Coalescer[T, R]) begin(current *call[T, R]) context.Context {
	entries := current.entries
	first := context.Background()
	if entries[0].ctx != nil {
		first = entries[0].ctx
	}
	var ctx context.Context
	current.callers = len(entries)
	if end, ok := latestDeadline(entries); ok {
		ctx, current.cancel = context.WithDeadline(c.config.Context(first), end) //nolint:gosec // run cancels it
	} else {
		ctx, current.cancel = context.WithCancel(c.config.Context(first)) //nolint:gosec // run cancels it
	}
	return ctx
}

// latestDeadline returns the latest deadline of the callers, if all have one.
func latestDeadline[T, R any](entries []*entry[T, R]) (time.Time, bool) {
	var end time.Time
	for _, e := range entries {
		if e.ctx == nil {
			return end, false
		}
		deadline, ok := e.ctx.Deadline()
		if !ok {
			return end, false
		}
		if deadline.After(end) {
			end = deadline
		}
	}
	return end, true
}

// deliver passes results to the callers that wait for them, and the rest to Done. A caller
// that has its answer recycles the entry, so deliver must not touch the entry after that.
func (c *Coalescer[T, R]) deliver(entries []*entry[T, R], items []T, results []R) {
	waited, at := 0, 0
	for i, e := range entries {
		if e.ctx != nil {
			waited++
			e.answer <- answer[R]{result: results[at]}
			entries[i] = nil
			at++
		} else {
			at += max(1, len(e.items))
		}
	}
	if waited == len(entries) {
		return
	}
	if waited > 0 {
		items, results = started(entries, items, results)
	}
	for _, e := range entries {
		if e != nil {
			c.recycle(e)
		}
	}
	c.config.Done(items, results)
}

// started returns the items that Start was given, and their results. An entry that a caller
// waited for is nil and has one item.
func started[T, R any](entries []*entry[T, R], items []T, results []R) ([]T, []R) {
	var itsItems []T
	var itsResults []R
	at := 0
	for _, e := range entries {
		if e == nil {
			at++
			continue
		}
		end := at + max(1, len(e.items))
		itsItems, itsResults = append(itsItems, items[at:end]...), append(itsResults, results[at:end]...)
		at = end
	}
	return itsItems, itsResults
}

// newEntry returns an entry to be filled in.
func (c *Coalescer[T, R]) newEntry() *entry[T, R] {
	if e, ok := c.entries.Get().(*entry[T, R]); ok {
		e.since = 0
		return e
	}
	return &entry[T, R]{answer: make(chan answer[R], 1)}
}

// recycle takes back an entry that nothing else refers to.
func (c *Coalescer[T, R]) recycle(e *entry[T, R]) {
	var none T
	e.item, e.items, e.ctx, e.call = none, nil, nil, nil
	c.entries.Put(e)
}
