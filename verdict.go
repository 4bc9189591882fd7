package dueq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// Handler handles a message. Its result settles the delivery: nil acks it; an error nacks it, to
// be delivered again after [ConsumeOptions].Backoff; [RetryAfter], [Snooze], [Again], [Next],
// [Reject] and [Drop] choose otherwise, also when they are wrapped. A panic, or runtime.Goexit,
// is a failure like an error.
//
// ctx ends, with this [context.Cause]: [ErrLeaseLost] when another consumer has the message or
// may soon have it; [ErrCancelled] when the message was cancelled; [ErrClosed] when the consumer
// stops and its grace period is over; context.DeadlineExceeded after ConsumeOptions.Timeout. A
// handler should return soon after.
type Handler func(ctx context.Context, d *Delivery) error

// Middleware wraps a handler, to log, measure or prepare each call.
type Middleware func(Handler) Handler

// JSON returns a handler for messages whose bodies are JSON values of type T. A body that cannot
// be decoded is rejected: it becomes a dead letter at once, because no further attempt could
// succeed. [SendJSON] sends such messages.
func JSON[T any](h func(ctx context.Context, v T, d *Delivery) error) Handler {
	return func(ctx context.Context, d *Delivery) error {
		var v T
		if err := json.Unmarshal(d.Body, &v); err != nil {
			return Reject(fmt.Errorf("decode the body: %w", err))
		}
		return h(ctx, v, d)
	}
}

// RetryAfter wraps a handler's error so that the message is delivered again after d instead of
// the backoff. It is a failure like any error: after the last attempt the message is dead.
func RetryAfter(d time.Duration, err error) error {
	return &consumer.RetryError{Delay: toSpan(max(d, 0)), Err: err}
}

// Snooze returns an error with which a handler puts its message off: the message is delivered
// again after d (negative: 0; at most 10 years), and no failure is counted. Delivery.Snoozes
// counts the snoozes, and Record.LastFailure has the reason. The effect is that of
// [Delivery.Snooze].
func Snooze(d time.Duration, reason string) error {
	return &consumer.SnoozeError{Delay: toSpan(max(d, 0)), Reason: reason}
}

// AgainOptions are the options of [Again].
type AgainOptions struct {
	// Body of the next occurrence. nil: the same as now; empty and not nil: none. Up to the
	// queue's Settings.MaxBody bytes.
	Body []byte
	// TTL is the time from now after which the next occurrence is removed instead of delivered,
	// as Message.TTL. Default 0: none, whatever TTL the message had before.
	TTL time.Duration
}

// Again returns an error with which a handler acks this occurrence of its message and schedules
// the next: the same message, with its id, key, headers and body (or another one), is scheduled
// as to says, in one step. So it is neither lost nor duplicated, and it keeps its key. Attempts
// begin at 1 again, failures and snoozes at 0; Delivery.Token continues to grow. o may be nil.
//
// For a message with [Repeat], to replaces the next time of the schedule, once. A TTL is a
// failure then, because it would end all occurrences.
//
// A due time more than 10 years ahead, a TTL that ends before it and a body that is too large are
// failures of the handler, with the reason as Record.LastFailure. A message that was cancelled
// meanwhile is removed. With AtMostOnce the message is gone already: Again is a failure. A full
// store refuses a new body; the call is then retried until the lease ends.
func Again(to Schedule, o *AgainOptions) error {
	if o == nil {
		o = &AgainOptions{}
	}
	due, delay, err := to.spans()
	if err != nil {
		return fail(string(store.Again), "", "", err)
	}
	next := store.Occurrence{Due: due, TTL: toSpan(o.TTL), Body: o.Body, NewBody: o.Body != nil}
	if err := next.Validate(delay); err != nil {
		return fail(string(store.Again), "", "", err)
	}
	return &consumer.AgainError{Delay: delay, Next: next}
}

// Reject wraps a handler's error so that the message becomes a dead letter at once; with
// [Repeat], only this occurrence does.
func Reject(err error) error { return &consumer.RejectError{Err: err} }

// Drop wraps a handler's error so that the message is acked in spite of it: it is not delivered
// again, and the error is logged. A message with [Repeat] continues with its next occurrence.
func Drop(err error) error { return &consumer.DropError{Err: err} }

// Backoff returns a [ConsumeOptions].Backoff that doubles: after the n-th failure a random span
// up to base * 2^(n-1), and up to most. The random part ("full jitter") spreads messages that
// failed at the same time; see
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. With a base or most
// of 0 or less, a message is due again at once.
func Backoff(base, most time.Duration) func(*Delivery, error) time.Duration {
	if base <= 0 || most <= 0 {
		return func(*Delivery, error) time.Duration { return 0 }
	}
	return func(d *Delivery, _ error) time.Duration {
		limit := base
		for range d.Failures {
			if limit >= most/2 {
				limit = most
				break
			}
			limit *= 2
		}
		return rand.N(min(limit, most)) + 1
	}
}

// DefaultBackoff is the [ConsumeOptions].Backoff of a consumer that has none: after the n-th
// failure it is n^4 + 15 s, at most 4 days, plus or minus up to a tenth. The first retries come
// after 16 s, 31 s and 96 s; the 24 waits of a message with the default MaxAttempts of 25 take
// about 20 days together (docs/RETRIES.md has the table). The random part spreads messages that
// failed at the same time.
func DefaultBackoff(d *Delivery, _ error) time.Duration {
	const part = 10
	wait := consumer.DefaultWait(d.Failures + 1)
	return wait - wait/part + rand.N(2*wait/part)
}

// backoff is the backoff of the queue's settings, which may change while a consumer runs.
func (q *Queue) backoff(d *Delivery, err error) time.Duration {
	settings, _ := q.client.store.Known(q.name)
	if settings.BackoffBase == 0 {
		return DefaultBackoff(d, err)
	}
	return Backoff(fromSpan(settings.BackoffBase), fromSpan(settings.BackoffMost))(d, err)
}

// nextFor is the least time for which the messages of a Next are remembered, unless they set one:
// within that time the handler is expected to run again after a crash.
const nextFor = time.Hour

// NextMessage is a message that [Next] sends. Message.ID must be empty. The default of
// Message.DedupFor is that of its queue, but at least an hour.
type NextMessage struct {
	Queue string // "": the queue of the delivery
	Message
}

// Next returns an error with which a handler sends messages and acks its delivery. A crash
// neither loses nor duplicates a message.
//
// Messages for the same queue and the same partition as the delivery, up to 500 and 1 MiB, are
// stored in the step of the store that acks it: both happen, or neither. These are messages
// without a key and a DedupID, or whose key or DedupID belongs to that partition; in a queue with
// one partition, all that have no other Queue. The ack takes effect before them: the key of the
// delivery is free for one of them, and the queue has one message less. If one of them is
// refused, none is stored.
//
// The others are sent before that step, each on its own. After a crash in between, the handler
// runs again, and sends the same ids: they are computed from the id of this message, its
// occurrence (see [Again]) and the index in messages, so pass the messages in the same order each
// time. A message that was stored is not stored twice, whatever its content, as long as it is
// live or dead and for DedupFor, an hour by default, after it is gone. All messages are sent in
// this way by a client with Options.SendMiddleware, which is called with them, and for a delivery
// of a message with [Repeat] or of a consumer with AtMostOnce.
//
// If a message is not stored, the delivery fails with the reason (of which [ErrDuplicate] and
// [ErrTooLarge] are examples), also if others are stored: those are recognized when the handler
// runs again. The sends end with the handler's context. Record.SentAt of the messages is that of
// this one. Without messages, Next returns nil, which acks.
func Next(messages ...NextMessage) error {
	for i := range messages {
		if messages[i].ID != "" {
			return unfit("id", messages[i].ID, " of message %d: Next makes the ids", i)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &nextError{messages}
}

// nextError acks a message and sends others.
type nextError struct{ messages []NextMessage }

func (e *nextError) Error() string { return fmt.Sprintf("next: %d messages", len(e.messages)) }

// Next acks the delivery and sends messages. See the verdict [Next]. Errors: those of
// [Queue.Send], after which the delivery is still held and a call with the same messages sends
// none of them twice; those of Ack. After [ErrLeaseLost], messages of the delivery's own
// partition are not sent.
func (d *Delivery) Next(ctx context.Context, messages ...NextMessage) error {
	verdict := d.admit(ctx, Next(messages...))
	v := consumer.Judge(verdict, false, func() time.Duration { return 0 })
	if v.Verdict != store.Ack && v.Verdict != store.Next {
		return fail(string(store.Next), d.Queue, d.ID, verdict)
	}
	return d.settle(ctx, v)
}

// messagesOf returns the messages of a Next, none of other verdicts.
func messagesOf(verdict error) []NextMessage {
	if verdict == nil {
		return nil
	}
	next, ok := errors.AsType[*nextError](verdict)
	if !ok || consumer.Judge(verdict, false, func() time.Duration { return 0 }).Verdict != store.Nack {
		return nil
	}
	return next.messages
}

// nexts are verdicts Next on deliveries of a client. Messages of a delivery's own partition are
// stored with its ack, in one step of the store; the others are sent before.
type nexts struct {
	steps  []step
	queues []*parcel
}

// step is one of the verdicts.
type step struct {
	own *consumer.Sends // nil: none
	err error           // why a message that is sent before the ack was not stored
}

// parcel has the messages that are sent to one queue.
type parcel struct {
	queue    *Queue
	messages []Message
	of       []int // indexes of the steps
}

// add adds the verdict on a delivery.
func (n *nexts) add(ctx context.Context, d *Delivery, messages []NextMessage) {
	n.steps = append(n.steps, step{})
	s := &n.steps[len(n.steps)-1]
	if d.held == nil || d.shown {
		return // the ack that follows reports it
	}
	parent, err := store.ParseID(d.ID)
	if err != nil {
		s.err = err
		return
	}
	var own []Message
	var errs []error
	for i := range messages {
		q := d.queue
		if name := messages[i].Queue; name != "" && name != d.Queue {
			q = d.queue.client.Queue(name)
		}
		m, partition, err := q.following(ctx, d, parent, i, messages[i].Message)
		switch {
		case err != nil:
			errs = append(errs, err)
		case q == d.queue && partition == parent.Partition() && d.storesNext():
			own = append(own, m)
		default:
			n.post(q, m)
		}
	}
	if s.err = errors.Join(errs...); s.err == nil {
		n.keep(ctx, d, own)
	}
}

// storesNext reports whether a message can be stored in the step that acks d. That is not
// possible for a recurring message, whose ack schedules the next occurrence, for one that was
// acked before its handler ran, and with middleware, which wraps sends but not acks.
func (d *Delivery) storesNext() bool { return !d.recurs() && !d.early && d.queue.client.wrapped == nil }

// elsewhere stands for the partition of a message for which two have to be asked, see moveHome.
const elsewhere = -1

// following returns the i-th message that follows d, in the form in which it is sent, and its
// partition.
func (q *Queue) following(ctx context.Context, d *Delivery, parent store.ID, i int, m Message) (Message, int, error) {
	err := q.guard(ctx)
	var settings store.Settings
	if err == nil {
		settings, err = q.learn(ctx)
	}
	if err != nil {
		return m, 0, fail("send", q.name, "", err)
	}
	names := &store.Message{Key: m.Key, DedupID: m.dedupID()}
	named, partition := route.ByNames(names, settings.Partitions)
	if !named {
		partition = parent.Partition() % settings.Partitions
	}
	if m.DedupFor == 0 {
		m.DedupFor = max(nextFor, fromSpan(settings.DedupFor))
	}
	m.ID = route.FollowingID(parent, d.Token-int64(d.Attempt), i, partition).String()
	if route.Moves(names, settings.From, settings.Partitions) {
		partition = elsewhere
	}
	return m, partition, nil
}

// post adds a message of the last step to those that are sent.
func (n *nexts) post(q *Queue, m Message) {
	at := slices.IndexFunc(n.queues, func(p *parcel) bool { return p.queue.name == q.name })
	if at < 0 {
		at = len(n.queues)
		n.queues = append(n.queues, &parcel{queue: q})
	}
	p := n.queues[at]
	p.messages, p.of = append(p.messages, m), append(p.of, len(n.steps)-1)
}

// keep adds messages of the last step to those that are stored with its ack, if they fit into one
// call.
func (n *nexts) keep(ctx context.Context, d *Delivery, messages []Message) {
	if len(messages) == 0 {
		return
	}
	s := &n.steps[len(n.steps)-1]
	own, size := make([]store.Message, len(messages)), 0
	for i := range messages {
		var err error
		if own[i], err = d.queue.prepared(ctx, &messages[i]); err != nil {
			s.err = fail("send", d.Queue, messages[i].ID, err)
			d.queue.client.notSent(d.Queue, &messages[i], s.err)
			return
		}
		size += own[i].Size()
	}
	_, same := store.SameNames(own)
	if same != "" || len(own) > store.MaxBatch || len(own) > 1 && size > store.MaxBatchBytes {
		for i := range messages {
			n.post(d.queue, messages[i])
		}
		return
	}
	s.own = &consumer.Sends{Messages: own, Done: d.queue.client.stored(d.Queue, own)}
}

// prepared returns a message with an id in the form of the store, or an error if it is invalid.
func (q *Queue) prepared(ctx context.Context, m *Message) (store.Message, error) {
	sent, err := m.plain()
	if err != nil {
		return sent, err
	}
	settings, err := q.learnFor(ctx, len(m.Body))
	if err != nil {
		return sent, err
	}
	err = q.prepare(ctx, m, &sent, &settings) // prepare changes sent
	return sent, err
}

// send sends the messages that are not stored with an ack, and returns the verdict that remains
// for each step: an error if it has failed, a consumer.NextError, or nil, which acks.
func (n *nexts) send(ctx context.Context) []error {
	for _, p := range n.queues {
		n.sendParcel(ctx, p)
	}
	verdicts := make([]error, len(n.steps))
	for i, s := range n.steps {
		switch {
		case s.err != nil:
			verdicts[i] = s.err
		case s.own != nil:
			verdicts[i] = &consumer.NextError{Sends: s.own}
		}
	}
	return verdicts
}

// sendParcel sends the messages of those steps that have not failed yet.
func (n *nexts) sendParcel(ctx context.Context, p *parcel) {
	var batch []Message
	var of []int
	for i, m := range p.messages {
		if n.steps[p.of[i]].err == nil {
			batch, of = append(batch, m), append(of, p.of[i])
		}
	}
	results, err := p.queue.SendBatch(ctx, batch)
	for i, step := range of {
		cause := err
		if err == nil && !sentBefore(results[i].Err) {
			cause = results[i].Err
		}
		if s := &n.steps[step]; s.err == nil {
			s.err = cause
		}
	}
}

// sentBefore reports whether a message was refused because another has its id: ids are unique, so
// an earlier run of the handler has sent it with other content.
func sentBefore(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Field == "id" && errors.Is(err, ErrDuplicate)
}
