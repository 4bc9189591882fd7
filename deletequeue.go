package dueq

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// DeleteQueueOptions of one [Client.DeleteQueue]. nil means the zero value.
type DeleteQueueOptions struct {
	// Force deletes the queue with all its messages: scheduled, ready, leased and dead ones.
	// Default: a queue with messages is not deleted.
	Force bool
}

// DeleteQueue removes a queue for good, with its settings and counters. A queue that has
// messages, dead ones included, stays as it is, and [ErrNotEmpty] is returned, unless o.Force
// is set.
//
// Its consumers, in all processes, notice within 2 s: they stop as when their ctx ends, and
// Consume returns [ErrNotFound]. Receive returns ErrNotFound, too. A handler that runs goes
// on; with o.Force its message is gone, so its context ends with [ErrLeaseLost] when the
// lease would be extended, and Ack returns nil, or ErrLeaseLost if it comes after that. A program that sends to
// the queue afterwards, or consumes it, makes a new one with the default settings: so stop
// the producers first. (A consumer that has not noticed before goes on with the new queue, if that
// has as many partitions.) No call that was made before the deletion has an effect on the
// new queue.
//
// While the queue is being deleted, sends to it wait. The call can be repeated after any
// error; if an earlier call has deleted the queue, that is answered ErrNotFound. When a
// server of a Redis Cluster does not answer, the queue stays, without those messages that
// o.Force has removed already; without o.Force, all messages are there still. A process that
// ends in the middle keeps sends to the queue waiting for up to 30 s.
//
// Errors: [ErrInvalid] for the name; ErrNotEmpty; ErrNotFound for an unknown queue;
// [ErrUnavailable]. Costs four calls for each partition, however many messages there are.
// The keys that remain in Redis, so that nothing of the old queue comes back, expire after an
// hour.
func (c *Client) DeleteQueue(ctx context.Context, name string, o *DeleteQueueOptions) error {
	err := store.ValidateQueue(name)
	if err == nil {
		err = c.guard(ctx)
	}
	if err == nil {
		err = c.store.DeleteQueue(ctx, name, o != nil && o.Force)
	}
	if err == nil {
		c.producer.Forget(name)
		c.receiver.Forget(name)
		c.queues.Drop(func(queue string) bool { return queue == name })
	}
	return fail("delete", name, "", err)
}
