package dueqprom

import (
	"fmt"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/errorname"
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

// result returns the value of a label for an error.
func result(err error) string {
	return errorname.Of(err, "error")
}
