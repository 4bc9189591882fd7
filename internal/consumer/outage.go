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

// outage logs once that a store cannot be reached, however many roles notice it, and once more
// when the store serves all of them again.
type outage struct {
	log     *slog.Logger
	mu      sync.Mutex
	failing map[string]bool // roles
	since   time.Time
}

func newOutage(log *slog.Logger) *outage { return &outage{log: log, failing: map[string]bool{}} }

// begin notes that a call of a role has failed.
func (o *outage) begin(role string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.failing) == 0 {
		o.since = time.Now()
		o.log.Warn("dueq: store does not serve the consumer, will keep trying", slog.String("role", role), slog.Any("error", err))
	}
	o.failing[role] = true
}

// over notes that a call of a role has succeeded.
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

// retryDelay returns how long to wait after the try-th failure in a row, from 0. It grows to
// about 1 s, with jitter, so that many consumers do not retry at the same time.
func retryDelay(try int) time.Duration {
	const first, doublings = 50 * time.Millisecond, 4
	d := first << min(try, doublings)
	return d + rand.N(d/4)
}

// pause sleeps for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) { sleep(ctx, d, nil) }

// sleep waits for d, or for a hint; the channel may be nil. It returns false when ctx has ended.
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

// Insist retries a call until the store answers or ctx ends. It returns an error only if retries
// cannot help. If ctx ends first it returns the zero value and no error.
func Insist[T any](ctx context.Context, log *slog.Logger, ask func(context.Context) (T, error)) (T, error) {
	o := newOutage(log)
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

// lendAfter is how long a call may take before it is late. A reachable server answers much
// sooner, also under load.
const lendAfter = 100 * time.Millisecond

// overdue watches calls, of which one is in flight at a time, and notes when one is late: it has
// taken lendAfter, or a try of it has failed. The timer is reused, because calls are many and
// late ones are few.
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

// declare notes that the call in flight is late.
func (o *overdue) declare() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy && !o.late {
		o.late = true
		o.note(true)
	}
}

// hopeless reports whether an error of the store is permanent for this consumer.
func hopeless(err error) bool {
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrFailed) ||
		errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrRepartitioned) ||
		errors.Is(err, store.ErrNotFound)
}
