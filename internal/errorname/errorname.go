// Package errorname has the names of errors in metrics and traces. There are few of them, because each
// is a series of its own in a store of metrics.
package errorname

import (
	"context"
	"errors"

	"github.com/dueq-dev/dueq"
)

// Of returns the name of an error, or other if the table has none. If several errors of the table
// match, the first counts.
func Of(err error, other string) string {
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
	return other
}
