package dueq

import (
	"errors"

	"github.com/dueq-dev/dueq/store"
)

// Error says which operation failed, on which queue and message, and what is wrong
// with which field. Its Err wraps one of this package's sentinels or the error of the
// context, for [errors.Is]. With [ErrDuplicate], ID is the id of the message that has
// the key.
type Error = store.Error

// Errors that any call may return.
var (
	// ErrInvalid: an argument is wrong; Error.Field names it. Nothing was applied.
	ErrInvalid = store.ErrInvalid
	// ErrNotFound: no live message has this id or key, or there is no such queue.
	ErrNotFound = store.ErrNotFound
	// ErrUnavailable: the store could not be reached, or did not answer in time. The
	// call may have been applied; repeating it is safe.
	ErrUnavailable = store.ErrUnavailable
	// ErrFailed comes with ErrUnavailable when a `file:` store has stopped, because its
	// disk failed or its directory was removed: this client changes nothing any more, and
	// Consume returns. Close it and open the store again.
	ErrFailed = store.ErrFailed
	// ErrClosed: the client is closed. It is also the cause of the end of a handler's
	// context when the consumer stops and the grace period is over.
	ErrClosed = store.ErrClosed
	// ErrCorrupt: the store holds something this version cannot read.
	ErrCorrupt = store.ErrCorrupt
)

// Errors of sending. Nothing was stored, but for ErrNotReplicated.
var (
	// ErrTooLarge: the body is larger than the queue's Settings.MaxBody.
	ErrTooLarge = store.ErrTooLarge
	// ErrDuplicate: the key belongs to another message that is scheduled, ready or
	// leased (Error.ID), or the id belongs to a message with other content.
	ErrDuplicate = store.ErrDuplicate
	// ErrQueueFull: the message's partition holds Settings.MaxMessages, or the store has no
	// memory left.
	ErrQueueFull = store.ErrQueueFull
	// ErrNotReplicated: stored, but not confirmed by Options.Replicas replicas in time. A
	// failover may lose it; sending again with the same id is safe.
	ErrNotReplicated = store.ErrNotReplicated
)

// Errors of receiving and of holding a lease.
var (
	// ErrPaused: the queue is paused and hands out nothing.
	ErrPaused = store.ErrPaused
	// ErrLeaseLost: the delivery is no longer this consumer's; the message may have
	// been delivered again. Nothing was changed. It is also the cause of the end of the
	// handler's context.
	ErrLeaseLost = store.ErrLeaseLost
	// ErrCancelled: the message was cancelled while it was held. It is also the cause
	// of the end of the handler's context.
	ErrCancelled = store.ErrCancelled
)

// fail tells in err, which may be nil, what was being done to what.
func fail(op, queue, id string, err error) error {
	if err == nil {
		return nil
	}
	told := Error{Op: op, Queue: queue, ID: id, Err: err}
	if inner, ok := errors.AsType[*Error](err); ok {
		told.Field, told.Err = inner.Field, inner.Err
		if inner.ID != "" {
			told.ID = inner.ID
		}
	}
	return &told
}
