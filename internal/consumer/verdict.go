package consumer

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dueq-dev/dueq/store"
)

// RetryError fails a delivery and sets the delay before the next.
type RetryError struct {
	Delay int64 // ms
	Err   error
}

func (e *RetryError) Error() string { return text(e.Err, "retry") }

// Unwrap returns e.Err.
func (e *RetryError) Unwrap() error { return e.Err }

// SnoozeError puts a message off without a failure.
type SnoozeError struct {
	Delay  int64 // ms
	Reason string
}

func (e *SnoozeError) Error() string {
	if e.Reason == "" {
		return "snoozed"
	}
	return "snoozed: " + e.Reason
}

// AgainError acks an occurrence of a message and schedules the next one.
type AgainError struct {
	Delay int64 // ms
	Next  store.Occurrence
}

func (e *AgainError) Error() string { return "again" }

// NextError acks the message and stores others in the same step.
type NextError struct{ Sends *Sends }

func (e *NextError) Error() string { return fmt.Sprintf("next: %d messages", len(e.Sends.Messages)) }

// Sends are the messages that a verdict stores.
type Sends struct {
	Messages []store.Message
	// Done, if it is set, is called with the answer of the store: a code, or the error because of
	// which none is known. It must not block.
	Done func(code store.Code, err error)
}

// done calls Done with the answer of the store. s may be nil.
func (s *Sends) done(code store.Code, err error) {
	if s != nil && s.Done != nil {
		s.Done(code, err)
	}
}

// stored returns the messages, none if s is nil.
func (s *Sends) stored() []store.Message {
	if s == nil {
		return nil
	}
	return s.Messages
}

// RejectError makes the message a dead letter.
type RejectError struct{ Err error }

func (e *RejectError) Error() string { return text(e.Err, "rejected") }

// Unwrap returns e.Err.
func (e *RejectError) Unwrap() error { return e.Err }

// DropError acks the message in spite of an error.
type DropError struct{ Err error }

func (e *DropError) Error() string { return text(e.Err, "dropped") }

// Unwrap returns e.Err.
func (e *DropError) Unwrap() error { return e.Err }

// text returns the text of err, or the given one if err is nil.
func text(err error, instead string) string {
	if err == nil {
		return instead
	}
	return fmt.Sprint(err)
}

// errGoexit is the failure of a handler that ended its goroutine.
var errGoexit = errors.New("the handler called runtime.Goexit")

// panicError is the failure of a handler that panicked.
type panicError struct {
	value  any
	stack  string
	logged bool // for the whole batch
}

// newPanicError must be called in the function that recovers.
func newPanicError(value any) *panicError {
	stack := string(debug.Stack())
	// The frames above that of panic are those of the recovery.
	if _, below, ok := strings.Cut(stack, "\npanic("); ok {
		_, below, _ = strings.Cut(below, "\n") // the rest of that line
		_, stack, _ = strings.Cut(below, "\n") // its file
	}
	return &panicError{value: value, stack: stack}
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// Verdict is a verdict on a delivery, with its details.
type Verdict struct {
	Verdict store.Verdict
	Delay   int64 // ms
	Failure string
	Next    *store.Occurrence // of Again
	Sends   *Sends            // of Next
}

// Judge returns the verdict for the result of a handler. In a consumer that is stopping, an error
// that would be a nack counts as an interruption, and the delivery is released.
func Judge(err error, stopping bool, backoff func() time.Duration) Verdict {
	if err == nil {
		return Verdict{Verdict: store.Ack}
	}
	if _, ok := errors.AsType[*RejectError](err); ok {
		return Verdict{Verdict: store.Reject, Failure: fmt.Sprint(err)}
	}
	if _, ok := errors.AsType[*DropError](err); ok {
		return Verdict{Verdict: store.Ack}
	}
	if snooze, ok := errors.AsType[*SnoozeError](err); ok {
		return Verdict{Verdict: store.Snooze, Delay: min(snooze.Delay, store.MaxDelay), Failure: snooze.Error()}
	}
	if again, ok := errors.AsType[*AgainError](err); ok {
		return Verdict{Verdict: store.Again, Delay: again.Delay, Next: &again.Next}
	}
	if next, ok := errors.AsType[*NextError](err); ok {
		return Verdict{Verdict: store.Next, Sends: next.Sends}
	}
	if stopping {
		return Verdict{Verdict: store.Release}
	}
	v := Verdict{Verdict: store.Nack, Failure: fmt.Sprint(err)}
	if retry, ok := errors.AsType[*RetryError](err); ok {
		v.Delay = min(retry.Delay, store.MaxDelay)
		return v
	}
	v.Delay = backoff().Milliseconds()
	return v
}

// cut shortens a failure text to store.MaxFailure bytes, at the boundary of a rune.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= store.MaxFailure {
		return s
	}
	end := store.MaxFailure
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

const (
	firstWait   = 15 * time.Second
	longestWait = 4 * 24 * time.Hour
)

// DefaultWait returns the default delay after the n-th failure of a message, from 1, without the
// random part: n^4 + 15 s, 4 days at most.
func DefaultWait(n int) time.Duration {
	const most = 25 // 25^4 s are more than 4 days, and no power below overflows
	n = min(max(n, 1), most)
	return min(time.Duration(n*n*n*n)*time.Second+firstWait, longestWait)
}
