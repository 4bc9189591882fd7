package dueqprom

import (
	"context"
	"errors"
	"fmt"

	"github.com/dueq-dev/dueq"
)

// other is the queue of series that several queues share. It is not a valid name of a queue.
const other = "(other)"

const defaultMaxQueues = 100

// maxQueues returns the number of queues with series of their own.
func maxQueues(n int) (int, error) {
	if n < 0 {
		return 0, fmt.Errorf("dueqprom: max queues: %d is negative: %w", n, dueq.ErrInvalid)
	}
	if n == 0 {
		return defaultMaxQueues, nil
	}
	return n, nil
}

// applied is the result of a settlement without an error.
const applied = "applied"

// result returns the value of a label for an error. If several errors of the table match, the
// first counts.
func result(err error) string {
	for _, row := range [...]struct {
		of   error
		name string
	}{
		{dueq.ErrDuplicate, "duplicate"},
		{dueq.ErrQueueFull, "queue_full"},
		{dueq.ErrTooLarge, "too_large"},
		{dueq.ErrInvalid, "invalid"},
		{dueq.ErrNotReplicated, "not_replicated"},
		{dueq.ErrLeaseLost, "lease_lost"},
		{dueq.ErrCancelled, "cancelled"},
		{dueq.ErrUnavailable, "unavailable"},
		{dueq.ErrNotFound, "not_found"},
		{dueq.ErrClosed, "closed"},
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
	} {
		if errors.Is(err, row.of) {
			return row.name
		}
	}
	return "error"
}
