package store

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of a call or a message as a whole.
var (
	ErrInvalid     = errors.New("invalid argument")
	ErrNotFound    = errors.New("not found")
	ErrUnavailable = errors.New("store unavailable")
	// ErrFailed comes with ErrUnavailable when waiting does not help.
	ErrFailed  = errors.New("the store has stopped after a failure: open it again")
	ErrClosed  = errors.New("closed")
	ErrCorrupt = errors.New("corrupt data")
	// ErrConflict: the settings are no longer those that a change was made to. Nothing was
	// changed.
	ErrConflict = errors.New("the settings have changed")
	// ErrRepartitioned: the queue has another number of partitions than the request was
	// routed by, because its data was lost and it was made again. Nothing was done: read
	// the settings and choose the partition anew.
	ErrRepartitioned = fmt.Errorf("the queue has another number of partitions: %w", ErrUnavailable)
)

// ErrExists says that there is such a queue, with other settings.
var ErrExists = errors.New("the queue exists")

// ErrNotEmpty says that a queue has messages and was not deleted for that reason.
var ErrNotEmpty = errors.New("the queue is not empty")

// Errors of sending.
var (
	ErrTooLarge      = errors.New("too large")
	ErrDuplicate     = errors.New("duplicate key")
	ErrQueueFull     = errors.New("queue full")
	ErrNotReplicated = errors.New("not replicated")
)

// Errors of managing messages.
var (
	ErrRunning = errors.New("message is running")
	ErrDead    = errors.New("message is dead")
)

// Errors of receiving and of holding a lease.
var (
	ErrPaused    = errors.New("queue paused")
	ErrLeaseLost = errors.New("lease lost")
	ErrCancelled = errors.New("message cancelled")
)

// Error says which operation failed, on what, and why. Err is or wraps one of this
// package's sentinels, for errors.Is.
type Error struct {
	Op     string // what was asked for: "send", "ack"
	Queue  string
	ID     string // of the message, or "key:" and the key by which it was named
	Holder string // with ErrDuplicate: the id of the message that has the key
	Field  string // of the request, with ErrInvalid and ErrTooLarge
	Err    error
}

// Error returns one line such as
// `send queue "orders": delay: -3000 ms is negative: invalid argument`; one for each
// error if Err joins several.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	for _, part := range []struct{ text, before string }{{e.Queue, "queue "}, {e.ID, "message "}} {
		if part.text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" ")
		}
		b.WriteString(part.before + quote(part.text))
	}
	cause := ""
	if e.Err != nil {
		cause = e.Err.Error()
	}
	for _, part := range []string{e.Field, cause} {
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(part)
	}
	return b.String()
}

// Unwrap returns e.Err, which may be nil.
func (e *Error) Unwrap() error { return e.Err }

// Invalid returns an *Error with ErrInvalid that names a field, and says what is wrong with it.
func Invalid(field, format string, args ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format+": %w", append(args, ErrInvalid)...)}
}
