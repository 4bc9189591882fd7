package dueq

import (
	"context"
	"errors"
	"time"
)

var errTODO = errors.New("not built yet")

// ReceiveConfig of one [Queue.Receive].
type ReceiveConfig struct {
	Max   int           // deliveries wanted, up to 500; default 1
	Wait  time.Duration // for a message to become due, up to 1 minute; default 0: not at all
	Lease time.Duration // 1 s to 12 h; default 30 s
}

// Receive leases messages that are due: ready -> leased. If none is, it waits for up
// to c.Wait and then returns none and no error. Each delivery must be settled (Ack,
// Nack, Release, Reject) before its lease ends, or extended; else it comes back. For a
// loop with workers, leases that extend themselves and retries, use [Queue.Consume].
//
// Errors: [ErrInvalid], [ErrPaused] (at once, whatever c.Wait), [ErrUnavailable],
// [ErrClosed], the error of ctx. A message that is handed over after ctx has ended is
// released at once and has lost no attempt.
func (q *Queue) Receive(ctx context.Context, c ReceiveConfig) ([]*Delivery, error) {
	if err := q.guard(ctx); err != nil {
		return nil, fail("receive", q.name, "", err)
	}
	return nil, errTODO
}
