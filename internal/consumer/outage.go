package consumer

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// outage sees to it that a store that cannot be reached is logged once, however many
// roles notice, and once more when all of them are served again.
type outage struct {
	log     *slog.Logger
	mu      sync.Mutex
	failing map[string]bool // roles
	since   time.Time
}

// begin notes that a role was refused.
func (o *outage) begin(role string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.failing) == 0 {
		o.since = time.Now()
		o.log.Warn("dueq: store does not serve the consumer, will keep trying", slog.String("role", role), slog.Any("error", err))
	}
	o.failing[role] = true
}

// over notes that a role was served.
func (o *outage) over(role string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.failing[role] {
		return
	}
	delete(o.failing, role)
	if len(o.failing) == 0 {
		o.log.Info("dueq: store serves the consumer again", slog.Duration("after", time.Since(o.since)))
	}
}

// retryDelay is how long to wait after the try-th failure in a row, from 0: longer and
// longer up to about 1 s, with jitter, so that many consumers do not return at once.
func retryDelay(try int) time.Duration {
	const first, doublings = 50 * time.Millisecond, 4
	d := first << min(try, doublings)
	return d + rand.N(d/4)
}

// pause sleeps for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) { sleep(ctx, d, nil) }

// sleep waits for d, or for a hint, of which there are none if it is nil. It returns false when
// ctx has ended.
func sleep(ctx context.Context, d time.Duration, hint <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-hint:
	case <-ctx.Done():
		return false
	}
	return true
}

// Insist asks the store until it answers, with an error only if that cannot change, or
// if ctx ends first: then with no error, and nothing.
func Insist[T any](ctx context.Context, log *slog.Logger, ask func(context.Context) (T, error)) (T, error) {
	o := &outage{log: log, failing: map[string]bool{}}
	for try := 0; ; try++ {
		call, end := context.WithTimeout(ctx, callTimeout)
		answer, err := ask(call)
		end()
		switch {
		case err == nil:
			o.over("start")
			return answer, nil
		case ctx.Err() != nil:
			return answer, nil //nolint:nilerr // as documented: not an outage, the caller wants to stop
		case hopeless(err) || errors.Is(err, store.ErrCorrupt):
			return answer, err
		}
		o.begin("start", err)
		pause(ctx, retryDelay(try))
	}
}

// lendAfter is how long a call may take before it is late. A server that is there
// answers much sooner, also under load.
const lendAfter = 100 * time.Millisecond

// overdue watches calls, of which one is under way at a time, and notes when one is
// late: it has taken lendAfter, or a try of it has failed. Its timer is used again and
// again, because calls are many and late ones are few.
type overdue struct {
	note func(late bool)

	mu    sync.Mutex
	timer *time.Timer
	busy  bool
	late  bool
}

// begin is called before a call, end after it.
func (o *overdue) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = true
	if o.timer == nil {
		o.timer = time.AfterFunc(lendAfter, o.declare)
		return
	}
	o.timer.Reset(lendAfter)
}

func (o *overdue) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	o.timer.Stop()
	if o.late {
		o.late = false
		o.note(false)
	}
}

// declare notes that the call under way is late.
func (o *overdue) declare() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy && !o.late {
		o.late = true
		o.note(true)
	}
}

// hopeless reports whether an error of the store will not pass for this consumer.
func hopeless(err error) bool {
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrFailed) ||
		errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrRepartitioned) ||
		errors.Is(err, store.ErrNotFound)
}
