package dueq

import (
	"cmp"
	"fmt"

	"github.com/dueq-dev/dueq/store"
)

// Error is an error with the operation that failed, its queue and message, and the invalid field,
// if there is one. Its Err wraps one of this package's sentinels or the error of the context, for
// [errors.Is]. ID is the text of the Ref by which the caller named the message (see [ParseRef]);
// with [ErrDuplicate], Holder is the id of the message that has the key.
type Error struct {
	Op     string // the operation, such as "send" or "ack"
	Queue  string
	ID     string
	Holder string
	Field  string // of the argument, with [ErrInvalid], [ErrTooLarge] and [ErrExists]
	Value  string // of the field, up to 64 bytes of it; "": it has none to name, as a body or a secret
	Limit  string // what is allowed instead, as "1 to 500"; "": the text of the error says what is wrong
	Err    error
}

// Error returns a line such as `send queue "orders": delay: -3s is negative: invalid argument`.
func (e *Error) Error() string { return (*store.Error)(e).Error() }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Errors that any call may return.
var (
	// ErrInvalid: an argument is wrong; Error.Field names it. Nothing was applied.
	ErrInvalid = store.ErrInvalid
	// ErrNotFound: no message has this id or key (any more), or the queue does not exist; from
	// Consume and Receive: the queue was deleted.
	ErrNotFound = store.ErrNotFound
	// ErrUnavailable: the store could not be reached, or did not answer in time. The
	// call may have been applied; repeating it is safe.
	ErrUnavailable = store.ErrUnavailable
	// ErrFailed is joined with ErrUnavailable when a `file:` store has stopped because its disk
	// failed or its directory was removed: this client cannot change anything any more, and
	// Consume returns. Close it and open the store again.
	ErrFailed = store.ErrFailed
	// ErrClosed: the client is closed. It is also the cause with which a handler's context ends
	// when the consumer stops and its Grace is over.
	ErrClosed = store.ErrClosed
	// ErrCorrupt: the store has data that this version cannot read.
	ErrCorrupt = store.ErrCorrupt
)

// ErrNotEmpty is returned by DeleteQueue for a queue that has messages. Nothing was changed.
var ErrNotEmpty = store.ErrNotEmpty

// ErrExists is returned by Create for a queue that exists with other settings. Nothing was
// changed.
var ErrExists = store.ErrExists

// Errors of sending. Nothing was stored, except with ErrNotReplicated.
var (
	// ErrTooLarge: the body is larger than the queue's Settings.MaxBody.
	ErrTooLarge = store.ErrTooLarge
	// ErrDuplicate: the key belongs to another message that is scheduled, ready or
	// leased (Error.Holder), or the id belongs to a message with other content.
	ErrDuplicate = store.ErrDuplicate
	// ErrQueueFull: the message's partition has its share of Settings.MaxMessages, or the store
	// has no memory left.
	ErrQueueFull = store.ErrQueueFull
	// ErrNotReplicated: stored, but not confirmed by Options.Replicas replicas in time. A
	// failover may lose it; sending again with the same id is safe.
	ErrNotReplicated = store.ErrNotReplicated
)

// Errors of managing messages: the operation is not possible in the state of the message. They do
// not match ErrNotFound.
var (
	// ErrRunning: the message is leased, so its handler may be running. Cancel has asked
	// the holder to stop, and the message is never delivered again; Reschedule has changed
	// nothing.
	ErrRunning = store.ErrRunning
	// ErrDead: the message is a dead letter. Nothing was changed.
	ErrDead = store.ErrDead
)

// Errors of receiving and of holding a lease.
var (
	// ErrPaused: the queue is paused and hands out no messages.
	ErrPaused = store.ErrPaused
	// ErrLeaseLost: the delivery is no longer this consumer's; the message may have
	// been delivered again. Nothing was changed. It is also the cause of the end of the
	// handler's context.
	ErrLeaseLost = store.ErrLeaseLost
	// ErrCancelled: the message was cancelled while it was held. It is also the cause
	// of the end of the handler's context.
	ErrCancelled = store.ErrCancelled
)

// The errors of arguments, with [ErrInvalid]: see the functions of package store.

func invalid(field, format string, args ...any) error {
	return (*Error)(store.Invalid(field, format, args...))
}

func outside(field string, value any, limit string, args ...any) error {
	return (*Error)(store.Outside(field, value, limit, args...))
}

func negative(field string, value any) error { return (*Error)(store.Negative(field, value)) }

func noneOf(field, value, allowed string) error { return (*Error)(store.NoneOf(field, value, allowed)) }

func unfit(field, value, format string, args ...any) error {
	return (*Error)(store.Unfit(field, value, format, args...))
}

// refusal returns the error of a message that the store refused.
func refusal(op, queue, id string, r store.PushResult) error {
	err := r.Code.Err()
	if !r.Holder.IsZero() {
		holder := r.Holder.String()
		err = &Error{Field: "key", Holder: holder, Err: fmt.Errorf("belongs to message %s: %w", holder, ErrDuplicate)}
	}
	return fail(op, queue, id, err)
}

// fail annotates err with the operation, queue and id; it returns nil for nil. An *Error keeps
// its Field, Holder and ID; any other error, also one that joins several, is wrapped.
func fail(op, queue, id string, err error) error {
	if err == nil {
		return nil
	}
	e := Error{Op: op, Queue: queue, ID: id, Err: err}
	if inner, ok := err.(*store.Error); ok { //nolint:errorlint // what is around another *Error must not be lost
		err = (*Error)(inner)
		e.Err = err
	}
	if inner, ok := err.(*Error); ok { //nolint:errorlint // likewise
		e.Field, e.Value, e.Limit, e.Holder, e.Err = inner.Field, inner.Value, inner.Limit, inner.Holder, inner.Err
		e.ID = cmp.Or(inner.ID, id)
	}
	return &e
}
