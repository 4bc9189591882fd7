package consumer

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// quotaLines of a kind are logged in quotaSpan: enough to see what is wrong, and no flood
	// when every message fails.
	quotaLines = 10
	quotaSpan  = 10 * time.Second
)

// quota bounds how many lines of one kind are logged. What is left out is counted, and the
// count is logged with the next line of the kind, or at the end.
type quota struct {
	write func(text string, attributes ...any) // of a logger, for a level
	text  string

	mu    sync.Mutex
	since time.Time
	lines int // since then
	left  int // out of the log since then
}

// log logs a line with what attributes returns, unless there have been enough.
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

// flush logs how many lines were left out.
func (q *quota) flush() {
	if q.left > 0 {
		q.write(q.text+" (lines left out)", slog.Int("lines", q.left))
		q.left = 0
	}
}

// end is flush at the end.
func (q *quota) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush()
}
