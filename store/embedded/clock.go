package embedded

import (
	"math"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// never is later than every instant.
const never = math.MaxInt64

// instant is a reading of the store's clock. It has the fraction of the millisecond,
// because a span that is counted from the whole millisecond would end too early by that
// fraction.
type instant struct {
	ms       int64         // whole milliseconds: what due times and deadlines are compared with
	fraction time.Duration // that has passed since, below 1 ms
}

func instantOf(t time.Time) instant {
	// Both round towards the past, before 1970 too.
	return instant{ms: t.UnixMilli(), fraction: time.Duration(t.Nanosecond() % int(time.Millisecond))}
}

// up returns the next whole millisecond, from which spans are counted.
func (now instant) up() int64 {
	if now.fraction > 0 {
		return now.ms + 1
	}
	return now.ms
}

// after returns the end of a span in milliseconds; that of the span 0 is now.
func (now instant) after(span int64) int64 {
	if span == 0 {
		return now.ms
	}
	return now.up() + span
}

// due returns when a message is due: at an instant, though not in the past, or, when
// the instant is 0, after a delay.
func (now instant) due(at, delay int64) int64 {
	if at != 0 {
		return max(at, now.ms)
	}
	return now.after(delay)
}

// tooFar reports whether a due time is more than MaxDelay ahead.
func (now instant) tooFar(due int64) bool { return due > now.up()+store.MaxDelay }

// reached reports whether it is at or past an instant.
func (now instant) reached(at int64) bool { return at <= now.ms }

// until returns how long it is to an instant: 0 when it has been reached, at most
// store.MaxWait.
func (now instant) until(at int64) time.Duration {
	if now.reached(at) {
		return 0
	}
	if at > now.ms+store.MaxWait.Milliseconds() {
		return store.MaxWait
	}
	return time.Duration(at-now.ms)*time.Millisecond - now.fraction
}
