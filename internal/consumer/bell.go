package consumer

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// linger is how long a watch continues when no caller waits any more. Callers that receive in a
// loop wait again soon, and on Redis each new watch costs a subscription.
const linger = time.Minute

// Bell lets callers wait for messages of a queue. They are a queue themselves: only the first polls
// the store, when messages become due and at hints. When it has found some it leaves, and the next
// one polls. So the cost of a message does not depend on the number of callers.
//
// All callers share one watch. It begins with the first caller that waits and ends when none has
// waited for linger. It can outlive the callers, so its context is a child of life.
type Bell struct {
	life    context.Context //nolint:containedctx // of the client, whose callers share the watch
	running *sync.WaitGroup
	store   store.Store
	queue   string

	mu      sync.Mutex
	heard   uint64             // the number of hints so far
	waiting list.List          // of *caller
	next    time.Time          // when the first of them polls
	stop    context.CancelFunc // ends the watch; nil while there is none
	rest    *time.Timer        // calls stop
}

// caller is one call of Wait.
type caller struct {
	place *list.Element
	rung  chan struct{} // has an element when the caller is to ask again what it has to do
}

// NewBell returns a bell for a queue. It makes no call before a caller waits.
func NewBell(life context.Context, running *sync.WaitGroup, s store.Store, queue string) *Bell {
	return &Bell{life: life, running: running, store: s, queue: queue}
}

// Wait polls at once. If that finds nothing it waits for up to span, and polls again while it is the
// first of the callers that wait: when a message is announced as due, at hints, and every 2 s. It
// returns the results of the last poll when that found a message or had an error that waiting does
// not end.
func (b *Bell) Wait(ctx context.Context, span time.Duration, poll func() ([]*Held, time.Duration, error)) ([]*Held, error) {
	end := time.Now().Add(span)
	heard := b.hints()
	found, due, err := poll()
	if span == 0 || len(found) > 0 || !worthWaiting(err) {
		return found, err
	}
	c := b.join(heard, rest(due, err)) //nolint:contextcheck // the watch is shared, and outlives this caller
	defer b.leave(c)
	for {
		left := time.Until(end)
		if left <= 0 {
			return nil, err
		}
		wait, first := b.wait(c)
		if !first {
			wait = left
		}
		if wait > 0 {
			if !sleep(ctx, min(wait, left), c.rung) {
				return nil, ctx.Err()
			}
			continue
		}
		heard := b.begin()
		found, due, err = poll()
		if len(found) > 0 || !worthWaiting(err) {
			return found, err // the next caller polls, because more can be due
		}
		b.polled(heard, rest(due, err))
	}
}

// rest returns when to poll again after a poll that found nothing.
func rest(wait time.Duration, err error) time.Duration {
	if err != nil {
		wait = min(wait, retryAfter)
	}
	return min(max(wait, breather), guardPoll)
}

// hints returns the number of hints so far. A caller reads it before it polls, so that no hint in
// between is missed.
func (b *Bell) hints() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.heard
}

// join adds a caller. It polled after heard hints, and found nothing for the next wait.
func (b *Bell) join(heard uint64, wait time.Duration) *caller {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rest != nil {
		b.rest.Stop()
	}
	if b.stop == nil {
		ctx, stop := context.WithCancel(b.life)
		b.stop = stop
		b.running.Go(func() { b.watch(ctx) })
	}
	c := &caller{rung: make(chan struct{}, 1)}
	c.place = b.waiting.PushBack(c)
	next := time.Now()
	if b.heard == heard {
		next = next.Add(wait)
	}
	if b.waiting.Len() == 1 || next.Before(b.next) {
		b.next = next
	}
	b.wakeFirst()
	return c
}

// leave removes a caller.
func (b *Bell) leave(c *caller) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Remove(c.place)
	if b.waiting.Len() == 0 {
		b.rest = time.AfterFunc(linger, b.endWatch)
		return
	}
	b.wakeFirst()
}

// wait returns when a caller has to poll, if it is the first.
func (b *Bell) wait(c *caller) (wait time.Duration, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.next), b.waiting.Front() == c.place
}

// begin begins a poll of the first caller, and returns the number of hints so far. Without a call of
// polled, another one is made at once.
func (b *Bell) begin() (heard uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = time.Now()
	return b.heard
}

// polled notes that a poll after heard hints found nothing for the next wait.
func (b *Bell) polled(heard uint64, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heard == heard {
		b.next = time.Now().Add(wait)
	}
}

// wakeFirst makes the first caller ask what it has to do.
func (b *Bell) wakeFirst() {
	if first := b.waiting.Front(); first != nil {
		select {
		case first.Value.(*caller).rung <- struct{}{}:
		default: // it is going to ask anyway
		}
	}
}

// endWatch ends the watch, unless a caller joined while the timer fired.
func (b *Bell) endWatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting.Len() == 0 && b.stop != nil {
		b.stop()
		b.stop = nil
	}
}

// watch retries after errors without reporting them: callers also poll without hints, and report
// the errors of their polls.
func (b *Bell) watch(ctx context.Context) {
	const again = time.Second
	for ctx.Err() == nil {
		_ = b.store.Watch(ctx, b.queue, func(store.Event) { b.ring() })
		pause(ctx, again)
	}
}

// ring makes the first caller poll.
func (b *Bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard++
	b.next = time.Now()
	b.wakeFirst()
}
