package dueq

import (
	"context"
	"time"
)

// ConsumeConfig of one [Queue.Consume]. The zero value is good for most.
type ConsumeConfig struct {
	// Concurrency is how many handlers run at a time: 1 to 10,000. Default 10.
	Concurrency int
	// Lease is how long a message is held at a time, 1 s to 12 h. It is extended for as
	// long as the handler runs, so it need not cover a slow handler; it is how long
	// messages wait when this process dies. Default 30 s.
	Lease time.Duration
	// Prefetch is how many messages may be held beyond those that handlers work on: 1 to
	// 10,000. Far fewer are if handlers are slow: only what can be started within about
	// 100 ms. Default 500.
	Prefetch int
	// Timeout ends the context of a handler that runs for longer, and with it the
	// extending of its lease. Default 0: none.
	Timeout time.Duration
	// Grace is how long handlers may go on when Consume is told to stop. Default 10 s.
	Grace time.Duration
	// MaxHold ends the extending of leases of messages held for longer, as a guard
	// against handlers that hang. Default 0: none.
	MaxHold time.Duration
	// Backoff returns how long to wait before the next delivery of a message that has
	// failed so many times, from 1. Default Backoff(time.Second, time.Hour).
	Backoff func(failures int) time.Duration
	// AtMostOnce acks messages as they are handed out, before handlers see them: never
	// twice, but a message whose handler fails or whose process dies is lost. Nothing is
	// retried, and Lease, Prefetch, MaxHold and Backoff mean nothing.
	AtMostOnce bool
	// Middleware wraps the handler; the first is the outermost.
	Middleware []Middleware
	// Name of the consumer in logs and in the store, where something is added to make
	// it unique: up to 40 of A-Z a-z 0-9 . _ -. Default: the name of the host.
	Name string
}

// Consume hands the queue's messages to h as they become due, until ctx ends. It
// blocks. Any number of consumers, in any number of processes, share a queue.
//
// When ctx ends, no more messages are taken, those that wait for a handler are
// released at once, and handlers that run have c.Grace to finish. Then their contexts
// end, and what they do not finish is released. No attempt is lost. Consume returns
// nil when all has stopped, or an error that tells how many handlers ignored the end
// of their context for 5 s and still run.
//
// While the store cannot be reached, Consume logs that once, keeps trying, and goes on
// when it is back. Other errors: [ErrInvalid] for h or c; [ErrClosed] when the client is
// closed, which stops the consumer just as gracefully.
//
// An idle consumer costs a store half a call a second and partition, and a heartbeat
// every 10 s.
func (q *Queue) Consume(ctx context.Context, h Handler, c ConsumeConfig) error {
	if err := q.guard(ctx); err != nil {
		return fail("consume", q.name, "", err)
	}
	return errTODO
}
