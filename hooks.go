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

// Hooks of a client are called at events of its messages, for metrics, traces and alerts. They
// are called in the goroutine that sends or handles the message, so they must be quick and safe
// for concurrent use. A nil hook costs nothing. Events in other processes and in the store, such
// as a lease that runs out and counts as a failure, call no hook here: [Queue.Stats] counts all
// of them.
type Hooks struct {
	// OnSend is called for each message of Send, SendBatch, SendSeq and Next, with its result.
	OnSend func(SendEvent)
	// OnDeliver is called before a message is given to a handler.
	OnDeliver func(DeliverEvent)
	// OnSettle is called when the store has the verdict on a delivery of a consumer, or when the
	// consumer does not retry to report it any more.
	OnSettle func(SettleEvent)
	// OnFailure is called, before OnSettle, when a delivery has failed and the message will be
	// delivered again.
	OnFailure func(FailureEvent)
	// OnDead is called, before OnSettle, when a message has become a dead letter.
	OnDead func(DeadEvent)
	// OnSkip is called when no handler gets an occurrence of a recurring message, at the same time
	// as OnSettle otherwise. No other hook is called for that occurrence.
	OnSkip func(SkipEvent)
	// OnCall is called at the end of each call of the store that the client makes, in the goroutine
	// that makes it. A call can be shared by several messages.
	OnCall func(CallEvent)
}

// JoinHooks returns hooks that call each of several, in their order.
func JoinHooks(all ...Hooks) Hooks {
	var joined Hooks
	for i := range all {
		h := &all[i]
		joined.OnSend = inTurn(joined.OnSend, h.OnSend)
		joined.OnDeliver = inTurn(joined.OnDeliver, h.OnDeliver)
		joined.OnSettle = inTurn(joined.OnSettle, h.OnSettle)
		joined.OnFailure = inTurn(joined.OnFailure, h.OnFailure)
		joined.OnDead = inTurn(joined.OnDead, h.OnDead)
		joined.OnSkip = inTurn(joined.OnSkip, h.OnSkip)
		joined.OnCall = inTurn(joined.OnCall, h.OnCall)
	}
	return joined
}

// inTurn returns a hook that calls first, then second; either may be nil.
func inTurn[E any](first, second func(E)) func(E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(e E) {
		first(e)
		second(e)
	}
}

// Subject identifies the delivery of an event.
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
	// Deduplicated: as in SendResult; false for a message that was stored with an ack, see
	// [Next].
	Deduplicated bool
}

// DeliverEvent is a delivery whose handler is about to run.
type DeliverEvent struct {
	Subject
	// Late is how long the message has been due. It includes the difference between the local
	// clock and the store's.
	Late time.Duration
}

// SettleEvent is the end of a delivery. If the handler settles the delivery with a method, the
// event comes before the handler returns.
type SettleEvent struct {
	Subject
	Verdict string        // ack (of Next, too), nack, release, snooze, again, reject
	Err     error         // the error that the handler returned, or its panic; with a method, its reason
	Took    time.Duration // of the handler; 0 if the handler has settled the delivery
	// Lost is why the verdict was not applied: [ErrLeaseLost], [ErrCancelled] (the message was
	// cancelled meanwhile and is gone), or the error because of which the store could not be
	// reached in time. Nil: it was applied.
	Lost error
}

// FailureEvent is a failed delivery.
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

// SkipEvent is an occurrence of a recurring message that no handler gets. Its verdict is ack: it
// was missed, or reject: its last lease ran out on its last attempt, so that it is a dead letter.
// A consumer that cannot read the schedule, for example because it does not know the zone,
// releases the message to others: release.
type SkipEvent struct {
	Subject
	Verdict string // ack, reject, release
	Err     error  // why it is skipped
	Lost    error  // as in SettleEvent: the occurrence will be delivered, and judged, again
}

// VerdictOf returns the verdict that a handler's result stands for, as in [SettleEvent]: ack, nack,
// snooze, again or reject. With nack and reject the delivery has failed. It is for middleware; a
// consumer that is stopping releases messages instead of nacking them.
func VerdictOf(result error) string {
	v := consumer.Judge(result, false, func() time.Duration { return 0 }).Verdict
	if _, next := errors.AsType[*nextError](result); v == store.Next || v == store.Nack && next {
		v = store.Ack
	}
	return string(v)
}

// SendFunc sends messages to a queue: a single one as [Queue.Send], several as [Queue.SendBatch].
type SendFunc func(ctx context.Context, queue string, messages []Message) (SendResults, error)

// SendMiddleware wraps the sending of messages, to add headers, to measure, or to refuse
// messages. It may change the messages and their Headers, which are copies. It returns a result
// for each message, or an error for all.
type SendMiddleware func(SendFunc) SendFunc

// wrap returns the function with middleware that Send and SendBatch call, nil if there is none.
func (c *Client) wrap(middleware []SendMiddleware) SendFunc {
	if len(middleware) == 0 {
		return nil
	}
	wrapped := c.send
	for _, wrap := range slices.Backward(middleware) {
		wrapped = wrap(wrapped)
	}
	return wrapped
}

// send sends messages: the innermost of the functions that wrap returns.
func (c *Client) send(ctx context.Context, queue string, messages []Message) (SendResults, error) {
	q := c.Queue(queue)
	if err := q.guard(ctx); err != nil {
		return nil, fail("send", queue, "", err)
	}
	if len(messages) == 1 {
		return SendResults{q.sendObserved(ctx, &messages[0])}, nil
	}
	return q.sendBatchObserved(ctx, messages)
}

// sendObserved is send with OnSend.
func (q *Queue) sendObserved(ctx context.Context, m *Message) SendResult {
	if q.client.hooks.OnSend == nil {
		return q.send(ctx, m)
	}
	began := time.Now()
	r := q.send(ctx, m)
	q.client.hooks.OnSend(SendEvent{Queue: q.name, ID: r.ID, Key: m.Key, Err: r.Err, Took: time.Since(began), Deduplicated: r.Deduplicated})
	return r
}

// sendBatchObserved is sendBatch with OnSend.
func (q *Queue) sendBatchObserved(ctx context.Context, messages []Message) (SendResults, error) {
	if q.client.hooks.OnSend == nil {
		return q.sendBatch(ctx, messages)
	}
	began := time.Now()
	results, err := q.sendBatch(ctx, messages)
	took := time.Since(began)
	for i := range messages {
		event := SendEvent{Queue: q.name, Key: messages[i].Key, Err: err, Took: took}
		if err == nil {
			event.ID, event.Err, event.Deduplicated = results[i].ID, results[i].Err, results[i].Deduplicated
		}
		q.client.hooks.OnSend(event)
	}
	return results, err
}

// notSent calls OnSend for a message that was refused before it was sent.
func (c *Client) notSent(queue string, m *Message, err error) {
	if c.hooks.OnSend != nil {
		c.hooks.OnSend(SendEvent{Queue: queue, Key: m.Key, Err: err})
	}
}

// stored returns a function that calls OnSend for messages that a verdict has stored, or that
// were refused; nil if OnSend is not set.
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
func (h *Hooks) delivering(held *consumer.Held) {
	if h.OnDeliver == nil {
		return
	}
	about := subject(held)
	h.OnDeliver(DeliverEvent{Subject: about, Late: max(0, time.Since(about.Due))})
}

// observer returns a function that calls the hooks for the end of deliveries; nil if none is set.
func (h *Hooks) observer() func(consumer.Outcome) {
	if h.OnSettle == nil && h.OnFailure == nil && h.OnDead == nil && h.OnSkip == nil {
		return nil
	}
	return h.settled
}

func (h *Hooks) settled(o consumer.Outcome) {
	if !o.Handled {
		h.skipped(o.Held, o.Verdict.Verdict, o.Result, o.Err)
		return
	}
	about, result := subject(o.Held), o.Result
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

// skipped calls OnSkip.
func (h *Hooks) skipped(held *consumer.Held, v store.Verdict, why, lost error) {
	if h.OnSkip != nil {
		h.OnSkip(SkipEvent{Subject: subject(held), Verdict: string(v), Err: why, Lost: lost})
	}
}

func subject(held *consumer.Held) Subject {
	d, id := held.Delivery, held.ID
	if id == "" { // no handler was called
		id = d.Receipt.ID.String()
	}
	return Subject{
		Queue: held.Partition.Queue, ID: id, Key: d.Key, Attempt: d.Receipt.Attempt - d.Earlier,
		Failures: d.Failures, MaxAttempts: d.MaxAttempts, Due: fromInstant(d.Due),
	}
}
