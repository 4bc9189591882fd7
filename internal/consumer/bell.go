package consumer

import (
	"context"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// linger is how long a watch continues when no caller waits any more. Callers that receive in a
// loop wait again soon, and on Redis each new watch costs a connection.
const linger = time.Minute

// Bell notifies all callers that wait for messages of a queue when the store hints that some are
// due. All share one watch. It begins with the first caller that waits and ends when none has
// waited for linger. It can outlive the callers, so its context is a child of life.
type Bell struct {
	life    context.Context //nolint:containedctx // of the client, whose callers share the watch
	running *sync.WaitGroup
	store   store.Store
	queue   string

	mu      sync.Mutex
	heard   uint64 // the number of hints so far
	waiting map[chan struct{}]struct{}
	stop    context.CancelFunc // ends the watch; nil while there is none
	rest    *time.Timer        // calls stop
}

// NewBell returns a bell for a queue. It makes no call before a caller waits.
func NewBell(life context.Context, running *sync.WaitGroup, s store.Store, queue string) *Bell {
	return &Bell{life: life, running: running, store: s, queue: queue}
}

// hints returns the number of hints so far. A caller reads it before it polls for messages, and
// passes it to join, so that it misses no hint in between.
func (b *Bell) hints() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.heard
}

// join returns a channel that receives a value at every hint after the first heard ones, until
// leave is called. If join begins the watch, the channel also receives one as soon as the watch
// listens.
func (b *Bell) join(heard uint64) (rung <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[chan struct{}]struct{}{}
	}
	if b.rest != nil {
		b.rest.Stop()
	}
	if b.stop == nil {
		ctx, stop := context.WithCancel(b.life)
		b.stop = stop
		b.running.Go(func() { b.watch(ctx) })
	}
	mine := make(chan struct{}, 1)
	if b.heard != heard {
		mine <- struct{}{}
	}
	b.waiting[mine] = struct{}{}
	return mine, func() { b.leave(mine) }
}

func (b *Bell) leave(mine chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, mine)
	if len(b.waiting) == 0 {
		b.rest = time.AfterFunc(linger, b.endWatch)
	}
}

// endWatch ends the watch, unless a caller joined while the timer fired.
func (b *Bell) endWatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 && b.stop != nil {
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
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func (b *Bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard++
	for mine := range b.waiting {
		select {
		case mine <- struct{}{}:
		default: // a hint is already in the channel
		}
	}
}
