package consumer

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Outcome is the end of a delivery.
type Outcome struct {
	Held    *Held
	Handled bool // a handler was called with it; else no handler gets it
	Verdict Verdict
	Result  error         // of the handler, nil if the handler has settled the delivery; why no handler gets it
	Took    time.Duration // duration of the handler; 0 if it has settled the delivery
	Dead    bool          // the message is a dead letter now
	Err     error         // why the verdict was not applied; nil: it was
}

// outcomes reports the ends of deliveries: failures to the log, and all of them to
// Config.Observe.
type outcomes struct {
	observe func(Outcome)
	log     *slog.Logger
	failed  quota
	dead    quota
	lost    quota
	givenUp quota
	panics  quota
	lapsing quota
	taken   quota
	passed  quota
}

func newOutcomes(c *Config) *outcomes {
	return &outcomes{
		observe: c.Observe, log: c.Log,
		failed:  quota{write: c.Log.Warn, text: "dueq: delivery failed, the message is delivered again"},
		dead:    quota{write: c.Log.Error, text: "dueq: message is dead"},
		lost:    quota{write: c.Log.Warn, text: "dueq: lease lost, the message is delivered again"},
		givenUp: quota{write: c.Log.Warn, text: "dueq: lease given up, the message may be delivered again"},
		panics:  quota{write: c.Log.Error, text: "dueq: handler panicked"},
		lapsing: quota{write: c.Log.Warn, text: "dueq: lease about to run out, the context of the handler ends"},
		taken:   quota{write: c.Log.Warn, text: "dueq: lease lost while the message was held"},
		passed:  quota{write: c.Log.Warn, text: "dueq: an occurrence of a recurring message is left out"},
	}
}

// report logs a failure, if there is one, and passes the outcome on.
func (o *outcomes) report(out Outcome) {
	switch {
	case out.Err != nil:
		o.logLost(out)
	case out.Dead:
		o.dead.log(func() []any { return attributes(out.Held, failure(out)) })
	case out.Verdict.Verdict == store.Nack:
		o.failed.log(func() []any {
			return attributes(out.Held, failure(out), slog.Duration("due in", time.Duration(out.Verdict.Delay)*time.Millisecond))
		})
	}
	o.pass(out)
}

// pass passes the outcome on if a handler was called, or if no handler gets this occurrence of
// the message. Other deliveries are released and not observed.
func (o *outcomes) pass(out Outcome) {
	if o.observe != nil && (out.Handled || out.Result != nil) {
		o.observe(out)
	}
}

// logLost logs why a verdict was not applied.
func (o *outcomes) logLost(out Outcome) {
	verdict := slog.String("verdict", string(out.Verdict.Verdict))
	switch {
	case errors.Is(out.Err, store.ErrCancelled):
		o.log.Debug("dueq: message was cancelled while it was held", attributes(out.Held)...)
	case errors.Is(out.Err, store.ErrLeaseLost):
		o.lost.log(func() []any { return attributes(out.Held, verdict) })
	default:
		o.givenUp.log(func() []any { return attributes(out.Held, verdict, slog.Any("error", out.Err)) })
	}
}

// logPanic logs a panic of a handler.
func (o *outcomes) logPanic(p *panicError, attributes func() []any) {
	o.panics.log(func() []any { return append(attributes(), slog.Any("panic", p.value), slog.String("stack", p.stack)) })
}

// end logs how many lines were left out of the log.
func (o *outcomes) end() {
	for _, q := range []*quota{&o.failed, &o.dead, &o.lost, &o.givenUp, &o.panics, &o.lapsing, &o.taken, &o.passed} {
		q.end()
	}
}

// failure returns the handler's error. A panic is without its stack, which has been logged.
func failure(out Outcome) slog.Attr {
	if p, ok := errors.AsType[*panicError](out.Result); ok {
		return slog.String("error", fmt.Sprintf("panic: %v", p.value))
	}
	if out.Result != nil {
		return slog.Any("error", out.Result)
	}
	return slog.String("error", out.Verdict.Failure)
}

const (
	// At most quotaLines lines of a kind are logged in quotaSpan: enough to find the cause, also
	// when every message fails.
	quotaLines = 10
	quotaSpan  = 10 * time.Second
)

// quota limits how many lines of one kind are logged. It counts the lines that it leaves out, and
// logs the count before the next line of the kind, or at the end.
type quota struct {
	write func(text string, attributes ...any) // a method of a logger
	text  string

	mu    sync.Mutex
	since time.Time
	lines int // since then, including those left out
	left  int // lines left out since then
}

// log logs a line with the attributes that attributes returns, unless the quota is used up.
func (q *quota) log(attributes func() []any) {
	if q.take() {
		q.write(q.text, attributes()...)
	}
}

// take reports whether one more line may be logged, and counts it.
func (q *quota) take() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); now.Sub(q.since) >= quotaSpan {
		q.flush()
		q.since, q.lines = now, 0
	}
	q.lines++
	if q.lines <= quotaLines {
		return true
	}
	q.left++
	return false
}

// flush logs how many lines were left out, if any.
func (q *quota) flush() {
	if q.left > 0 {
		q.write(q.text+" (lines left out)", slog.Int("lines", q.left))
		q.left = 0
	}
}

// end is flush when no more lines follow.
func (q *quota) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush()
}

func attributes(h *Held, more ...any) []any {
	about := []any{
		slog.String("queue", h.Partition.Queue), slog.String("id", h.Delivery.Receipt.ID.String()),
		slog.Int("attempt", h.Delivery.Receipt.Attempt-h.Delivery.Earlier),
	}
	if h.Delivery.Key != "" {
		about = append(about, slog.String("key", h.Delivery.Key))
	}
	return append(about, more...)
}
