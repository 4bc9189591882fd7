// Package batch joins calls that are made at the same time into one.
package batch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Line joins the calls of many goroutines to one place. One call is under way at a
// time, or as many as AtOnce says; what comes meanwhile waits, and goes together as soon
// as one of them is back. There is no timer: nothing waits for more to come. A caller
// who finds fewer calls under way makes its call in its own goroutine, so a single caller
// pays nothing for the line; with many callers, one goroutine for each call that may be
// under way makes the calls.
//
// Items go in the order they came. With AtOnce above 1 they need not arrive in it.
//
// With Patience a call that takes longer no longer counts as under way, up to a few at a
// time: what waits is not held up by one reply that is stalled, and goes in a call of its
// own.
//
// The line holds no more than its callers do: [Line.Do] blocks, and callers of [Line.Start]
// bound what they start.
//
// Set the exported fields before the first use.
type Line[T, R any] struct {
	// Call makes the call for at least one item and returns a result for each. It may
	// keep items.
	Call func(ctx context.Context, items []T) []R
	// MaxItems and MaxBytes, by Size, are the most that go into one call. A single item
	// may be larger.
	MaxItems, MaxBytes int
	Size               func(item *T) int
	AtOnce             int // how many calls may be under way; 0: 1
	// Patience is how long a call counts as under way; 0: until it is back.
	Patience time.Duration
	// Timeout is how long a caller whose context has no deadline waits in [Line.Do] while
	// calls of others are under way; 0: as long as they take. A call that the caller makes
	// itself is not limited.
	Timeout time.Duration
	// Root returns the context of a call for several callers, made from that of the
	// first: it must not end when that one does.
	Root func(first context.Context) context.Context
	// Done is called with the items of Start that shared a call and their results, from a
	// goroutine that serves the line, and must not block.
	Done func(items []T, results []R)
	// Go runs a goroutine that serves a crowd; nil: a go statement.
	Go func(func())

	mu      sync.Mutex
	busy    int // calls that count as under way, or are about to
	stalled int // calls that have taken longer than Patience
	waiting []*ticket[T, R]
	alarm   chan time.Time // closed when the first of those who got it may have waited for Timeout
	watches sync.Pool      // of *watch
	gone    int            // how many of those waiting have left
	spare   sync.Pool      // of tickets
}

// Fate is what became of an item.
type Fate int

// The fates.
const (
	Answered  Fate = iota // there is a result
	Withdrawn             // the caller left before the call was made: there was none
	Left                  // the caller left while the call was under way
)

// ticket is an item that waits, or is under way.
type ticket[T, R any] struct {
	item   T
	many   []T             // instead of item, if they were started together
	ctx    context.Context // of its caller; nil: it is not waited for
	place  place
	flight *flight // once it is under way
	answer chan R  // to the caller
}

// place is where a ticket is.
type place int

const (
	queued place = iota
	flying
	left
)

// flight is a call for several callers that is under way.
type flight struct {
	awaiting int // callers that are still there
	cancel   context.CancelFunc
}

// Do hands over item and waits for its result, until ctx ends or Timeout is over. An item whose caller
// leaves in time is in no call. A call is cancelled when all its callers have left.
func (l *Line[T, R]) Do(ctx context.Context, item T) (R, Fate) {
	l.mu.Lock()
	if l.enter() {
		l.mu.Unlock()
		w := l.watch()
		defer l.next(w)
		return l.Call(ctx, []T{item})[0], Answered
	}
	t := l.ticket()
	t.item, t.ctx, t.place = item, ctx, queued
	l.waiting = append(l.waiting, t)
	alarm, began := l.alarmFor(ctx)
	l.mu.Unlock()
	for {
		select {
		case r := <-t.answer:
			l.discard(t)
			return r, Answered
		case <-alarm:
			if rest := l.Timeout - time.Since(began); rest > 0 {
				alarm = time.After(rest)
				continue
			}
			return l.leave(t)
		case <-ctx.Done():
			return l.leave(t)
		}
	}
}

// alarmFor returns a channel that is ready when a caller who begins to wait now may have
// waited for Timeout, or a little before; nil if there is no Timeout, or ctx has a deadline. All
// who begin within an eighth of Timeout share it: a timer for each would cost a caller more
// than all else that it does here.
func (l *Line[T, R]) alarmFor(ctx context.Context) (alarm <-chan time.Time, now time.Time) {
	if l.Timeout == 0 {
		return nil, now
	}
	if _, ok := ctx.Deadline(); ok {
		return nil, now
	}
	if l.alarm == nil {
		shared := make(chan time.Time)
		l.alarm = shared
		time.AfterFunc(l.Timeout/8, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.alarm = nil
		})
		time.AfterFunc(l.Timeout, func() { close(shared) })
	}
	return l.alarm, time.Now()
}

// Start hands over an item and returns at once; Done gets the result.
func (l *Line[T, R]) Start(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.ticket()
	t.item = item
	l.start(t)
}

// StartAll is Start for items that share calls, as far as they fit. It keeps items.
func (l *Line[T, R]) StartAll(items []T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(items) > 0 {
		n := l.fitting(items)
		t := l.ticket()
		t.many, items = items[:n:n], items[n:]
		l.start(t)
	}
}

// fitting returns how many of items fit into one call, one at least.
func (l *Line[T, R]) fitting(items []T) int {
	n, bytes := 0, 0
	for n < min(len(items), l.MaxItems) {
		if bytes += l.Size(&items[n]); n > 0 && bytes > l.MaxBytes {
			break
		}
		n++
	}
	return n
}

func (l *Line[T, R]) start(t *ticket[T, R]) {
	t.place = queued
	l.waiting = append(l.waiting, t)
	if l.enter() {
		l.serveAside()
	}
}

// enter reports whether one more call may be under way, and counts it.
func (l *Line[T, R]) enter() bool {
	if l.busy >= max(l.AtOnce, 1) {
		return false
	}
	l.busy++
	return true
}

// Waiting returns how many items wait to be in a call.
func (l *Line[T, R]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) - l.gone
}

// leave is for a caller whose ctx has ended.
func (l *Line[T, R]) leave(t *ticket[T, R]) (R, Fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var none R
	switch {
	case t.place == left:
		return none, Withdrawn
	case t.place == queued:
		t.place = left
		l.gone++
		l.sweep()
		return none, Withdrawn
	case len(t.answer) > 0:
		return <-t.answer, Answered
	}
	t.flight.awaiting--
	if t.flight.awaiting == 0 {
		t.flight.cancel()
	}
	return none, Left
}

// sweep forgets those who left before it is their turn, once they are the majority.
func (l *Line[T, R]) sweep() {
	if l.gone <= len(l.waiting)/2 {
		return
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(t *ticket[T, R]) bool { return t.place == left })
	l.gone = 0
}

// next ends a call, or has somebody serve those who came meanwhile.
func (l *Line[T, R]) next(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unwatch(w) {
		return
	}
	l.pass()
}

// pass gives the right to make a call to those who wait.
func (l *Line[T, R]) pass() {
	if len(l.waiting) == 0 {
		l.busy--
		return
	}
	l.serveAside()
}

func (l *Line[T, R]) serveAside() {
	if l.Go != nil {
		l.Go(l.serve)
		return
	}
	go l.serve()
}
