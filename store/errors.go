package store

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of a whole call or of a message.
var (
	ErrInvalid     = errors.New("invalid argument")
	ErrNotFound    = errors.New("not found")
	ErrUnavailable = errors.New("store unavailable")
	// ErrFailed is joined with ErrUnavailable if retries cannot help.
	ErrFailed  = errors.New("the store has stopped after a failure: open it again")
	ErrClosed  = errors.New("closed")
	ErrCorrupt = errors.New("corrupt data")
	// ErrConflict: the settings have another version than Change.If. Nothing was changed.
	ErrConflict = errors.New("the settings have changed")
	// ErrRepartitioned: the queue has another number of partitions than the request was routed
	// by, because it has grown, or its data was lost and it was made again. Nothing was done. Read the
	// settings and choose the partition again.
	ErrRepartitioned = fmt.Errorf("the queue has another number of partitions: %w", ErrUnavailable)
)

// ErrExists is returned if the queue exists with other settings.
var ErrExists = errors.New("the queue exists")

// ErrNotEmpty is returned if the queue has messages and was therefore not deleted.
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
	ErrNotPaused = errors.New("queue not paused")
	ErrLeaseLost = errors.New("lease lost")
	ErrCancelled = errors.New("message cancelled")
)

// Error is an error with the operation that failed, its queue and message, and the cause. Err is
// or wraps one of this package's sentinels, for errors.Is.
type Error struct {
	Op     string // the operation: "send", "ack"
	Queue  string
	ID     string // of the message, or "key:" and the key if the caller named it by key
	Holder string // with ErrDuplicate: the id of the message that has the key
	Field  string // of the request, with ErrInvalid and ErrTooLarge
	Value  string // of the field, up to 64 bytes of it; "": it has none to name, as a body or a secret
	Limit  string // what is allowed instead, as "1 to 500"; "": the text of the error says what is wrong
	Err    error
}

// Error returns a line such as `send queue "orders": delay: -3000 ms is negative: invalid
// argument`. If Err joins several errors, it returns a line for each.
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
