package receiver

import (
	"context"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Bell rings for everybody who waits for messages of a queue when the store hints at
// some. It watches the queue only while somebody waits, once for all of them. The zero
// Bell is ready to use.
type Bell struct {
	mu      sync.Mutex
	waiting map[chan struct{}]struct{}
	stop    context.CancelFunc
}

// Join returns what is sent to at every hint, from now until leave is called. Hints
// that were missed before are made up for by one at the start. The watch is for all who
// wait, so it does not end with the ctx of the first.
func (b *Bell) Join(
	ctx context.Context, s store.Store, queue string, running *sync.WaitGroup,
) (rung <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		b.stop = stop
		b.waiting = map[chan struct{}]struct{}{}
		running.Go(func() { b.watch(ctx, s, queue) })
	}
	mine := make(chan struct{}, 1)
	mine <- struct{}{}
	b.waiting[mine] = struct{}{}
	return mine, func() { b.leave(mine) }
}

func (b *Bell) leave(mine chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, mine)
	if len(b.waiting) == 0 {
		b.stop()
	}
}

// watch goes on after errors: those who wait also look by themselves, and tell.
func (b *Bell) watch(ctx context.Context, s store.Store, queue string) {
	const again = time.Second
	for ctx.Err() == nil {
		_ = s.Watch(ctx, queue, func(store.Event) { b.ring() })
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
	for mine := range b.waiting {
		select {
		case mine <- struct{}{}:
		default: // rung already
		}
	}
}
