package dueq

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
)

// Hooks of a client are called when something happens to its messages, for metrics, traces
// and alerts. They are called from many goroutines at the same time, in the goroutine that
// sends or handles the message, so they must be quick. A nil hook costs nothing. What other
// processes do, and what the store does on its own, such as counting a lease that ran out as
// a failure, calls no hook here: see [Queue.Stats] for the sum of all.
type Hooks struct {
	// OnSend is called for each message of Send, SendBatch, SendSeq and Next, with its result.
	OnSend func(SendEvent)
	// OnDeliver is called before a message is given to a handler.
	OnDeliver func(DeliverEvent)
	// OnSettle is called when the store has the verdict on a delivery of a consumer, or when
	// it is certain that it will not have it.
	OnSettle func(SettleEvent)
	// OnFailure is called, before OnSettle, when a delivery has failed and the message is
	// going to be delivered again.
	OnFailure func(FailureEvent)
	// OnDead is called, before OnSettle, when a message has become a dead letter.
	OnDead func(DeadEvent)
}

// Subject says which delivery an event is about.
type Subject struct {
	Queue string
	ID    string
	Key   string

	Attempt     int // of the delivery, from 1
	Failures    int // deliveries before it that failed
	MaxAttempts int
	Due         time.Time // by the store's clock
}

// SendEvent is the result of sending a message.
type SendEvent struct {
	Queue string
	ID    string // "" if the message was definitely not stored
	Key   string
	Err   error         // nil: stored
	Took  time.Duration // of the whole call, also if it was shared with other messages
	// Deduplicated: as in SendResult; false of a message that was stored with an ack, see [Next].
	Deduplicated bool
}

// DeliverEvent is a message that is about to be handled.
type DeliverEvent struct {
	Subject
	// Late is for how long the message has been due: the difference between the local clock
	// and the store's is part of it.
	Late time.Duration
}

// SettleEvent is the end of a delivery. For one that its handler settles with a method, it
// comes before the handler returns.
type SettleEvent struct {
	Subject
	Verdict string        // ack (of Next, too), nack, release, snooze, again, reject
	Err     error         // what the handler returned, or panicked with; or the reason it gave
	Took    time.Duration // of the handler; 0 if the handler has settled the delivery
	// Lost is why the verdict was not applied: [ErrLeaseLost], [ErrCancelled] (the message
	// was cancelled meanwhile and is gone), or why the store could not be reached in time.
	// Nil: it was.
	Lost error
}

// FailureEvent is a delivery that failed.
type FailureEvent struct {
	Subject
	Err   error         // what the handler returned, or panicked with
	After time.Duration // until the message is due again
}

// DeadEvent is a message that became a dead letter.
type DeadEvent struct {
	Subject
	Err error // what the handler returned, or panicked with
}

// SendFunc sends messages to a queue: as [Queue.Send] does if it is one, else as
// [Queue.SendBatch].
type SendFunc func(ctx context.Context, queue string, messages []Message) (SendResults, error)

// SendMiddleware wraps the sending of messages, to add headers to them, to measure or to
// refuse them. It may change the messages and their Headers, which are copies. It returns a
// result for each of them, or an error for all.
type SendMiddleware func(SendFunc) SendFunc

// wrap returns what Send and SendBatch call instead of the store, nil if that is all they do.
func (c *Client) wrap(middleware []SendMiddleware) SendFunc {
	if len(middleware) == 0 && c.hooks.OnSend == nil {
		return nil
	}
	wrapped := c.send
	for _, wrap := range slices.Backward(middleware) {
		wrapped = wrap(wrapped)
	}
	return wrapped
}

// send sends messages and calls OnSend: the innermost of the functions that wrap returns.
func (c *Client) send(ctx context.Context, queue string, messages []Message) (results SendResults, err error) {
	q, began := c.Queue(queue), time.Now()
	if err := q.guard(ctx); err != nil {
		return nil, fail("send", queue, "", err)
	}
	if len(messages) == 1 {
		results = SendResults{q.send(ctx, &messages[0])}
	} else {
		results, err = q.sendBatch(ctx, messages)
	}
	if c.hooks.OnSend == nil {
		return results, err
	}
	took := time.Since(began)
	for i := range messages {
		event := SendEvent{Queue: queue, Key: messages[i].Key, Err: err, Took: took}
		if err == nil {
			event.ID, event.Err, event.Deduplicated = results[i].ID, results[i].Err, results[i].Deduplicated
		}
		c.hooks.OnSend(event)
	}
	return results, err
}

// notSent calls OnSend for a message that was refused before it was sent.
func (c *Client) notSent(queue string, m *Message, err error) {
	if c.hooks.OnSend != nil {
		c.hooks.OnSend(SendEvent{Queue: queue, Key: m.Key, Err: err})
	}
}

// stored returns what calls OnSend when messages have been stored with a verdict, or were
// refused; nil if it is not set.
func (c *Client) stored(queue string, messages []store.Message) func(store.Code, error) {
	if c.hooks.OnSend == nil {
		return nil
	}
	began := time.Now()
	return func(code store.Code, err error) {
		known := err == nil
		if known {
			err = store.Next.Err(code)
		}
		for i := range messages {
			event := SendEvent{Queue: queue, Key: messages[i].Key, Took: time.Since(began)}
			event.Err = fail("send", queue, "", err)
			if err == nil || !known {
				event.ID = messages[i].ID.String()
			}
			c.hooks.OnSend(event)
		}
	}
}

// sendWrapped calls the middleware with copies of messages.
func (q *Queue) sendWrapped(ctx context.Context, messages []Message) (SendResults, error) {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Headers = maps.Clone(messages[i].Headers)
	}
	results, err := q.client.wrapped(ctx, q.name, messages)
	if err == nil && len(results) != len(messages) {
		err = fail("send", q.name, "", invalid("send middleware", "returned %d results for %d messages", len(results), len(messages)))
	}
	return results, err
}

// delivering calls OnDeliver.
func (h *Hooks) delivering(queue string, d *store.Delivery) {
	if h.OnDeliver == nil {
		return
	}
	due := fromInstant(d.Due)
	h.OnDeliver(DeliverEvent{Subject: subject(queue, d), Late: max(0, time.Since(due))})
}

// observer returns what calls the hooks about the end of deliveries; nil if none is set.
func (h *Hooks) observer() func(consumer.Outcome) {
	if h.OnSettle == nil && h.OnFailure == nil && h.OnDead == nil {
		return nil
	}
	return h.settled
}

func (h *Hooks) settled(o consumer.Outcome) {
	about, result := subject(o.Held.Partition.Queue, o.Held.Delivery), o.Result
	if result == nil && o.Verdict.Failure != "" { // the handler has settled the delivery
		result = errors.New(o.Verdict.Failure)
	}
	switch {
	case o.Err != nil:
	case o.Dead && h.OnDead != nil:
		h.OnDead(DeadEvent{Subject: about, Err: result})
	case !o.Dead && o.Verdict.Verdict == store.Nack && h.OnFailure != nil:
		h.OnFailure(FailureEvent{Subject: about, Err: result, After: time.Duration(o.Verdict.Delay) * time.Millisecond})
	}
	verdict := o.Verdict.Verdict
	if verdict == store.Next {
		verdict, result = store.Ack, nil
	}
	if h.OnSettle != nil {
		h.OnSettle(SettleEvent{Subject: about, Verdict: string(verdict), Err: result, Took: o.Took, Lost: o.Err})
	}
}

func subject(queue string, d *store.Delivery) Subject {
	return Subject{
		Queue: queue, ID: d.Receipt.ID.String(), Key: d.Key, Attempt: d.Receipt.Attempt - d.Earlier,
		Failures: d.Failures, MaxAttempts: d.MaxAttempts, Due: fromInstant(d.Due),
	}
}
