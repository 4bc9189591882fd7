package dueq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
)

// ReceiveOptions are the options of [Queue.Receive].
type ReceiveOptions struct {
	Max   int           // deliveries wanted, up to 500; default 1
	Wait  time.Duration // for a message to become due, up to 1 minute; default 0: not at all
	Lease time.Duration // 1 s to 12 h; default Settings.Lease, 30 s unless it is set
}

const (
	defaultLease = 30 * time.Second
	maxWait      = time.Minute
)

// Receive leases messages that are due: ready -> leased. If none is due, it waits for up to
// c.Wait and then returns none and no error. Each delivery must be settled (Ack, Nack, Release,
// Reject) before its lease ends, or extended; otherwise the message is delivered again. For a
// loop with workers, automatic extension of leases and retries, use [Queue.Consume].
//
// Errors: [ErrInvalid], [ErrNotFound] for an unknown queue, which is not made, [ErrPaused] (at
// once, whatever c.Wait), [ErrUnavailable] (after trying for c.Wait; also when one of several
// partitions does not answer and the others have nothing), [ErrClosed], the error of ctx. A
// message that is claimed after ctx has ended is released at once and loses no attempt. Receive
// costs one round trip, and one more when a message is on its last attempt or its last lease ran
// out: then the store records that it is about to be handled. While Receive waits it costs one
// every 2 s and one for each message that becomes due. The first wait for a queue subscribes to
// its hints, on one connection to Redis for all queues of a client, on a Cluster one for each
// queue; it is kept until no caller has waited for a minute.
func (q *Queue) Receive(ctx context.Context, c ReceiveOptions) ([]*Delivery, error) {
	if err := q.guard(ctx); err != nil {
		return nil, fail("receive", q.name, "", err)
	}
	c, err := c.complete()
	if err != nil {
		return nil, fail("receive", q.name, "", err)
	}
	ctx, leave, err := q.client.enter(ctx)
	if err != nil {
		return nil, fail("receive", q.name, "", err)
	}
	defer leave()
	deliveries, err := q.receive(ctx, c)
	if err != nil && q.client.open.Err() != nil {
		err = ErrClosed
	}
	return deliveries, fail("receive", q.name, "", err)
}

func (c ReceiveOptions) complete() (ReceiveOptions, error) {
	c.Max = cmp.Or(c.Max, 1)
	switch {
	case c.Max < 1 || c.Max > store.MaxBatch:
		return c, outside("max", c.Max, "1 to %d", store.MaxBatch)
	case c.Wait < 0 || c.Wait > maxWait:
		return c, outside("wait", c.Wait, "0s to %s", maxWait)
	}
	return c, checkLease(cmp.Or(c.Lease, defaultLease))
}

// receive polls for up to c.Wait.
func (q *Queue) receive(ctx context.Context, c ReceiveOptions) ([]*Delivery, error) {
	found, err := q.bell.Wait(ctx, c.Wait, func() ([]*consumer.Held, time.Duration, error) { return q.poll(ctx, c) })
	if len(found) == 0 {
		return nil, err
	}
	deliveries := make([]*Delivery, len(found))
	for i, held := range found {
		deliveries[i] = newDelivery(q, held)
	}
	return deliveries, err
}

// poll polls the current partitions of the queue.
func (q *Queue) poll(ctx context.Context, c ReceiveOptions) (found []*consumer.Held, wait time.Duration, err error) {
	for range 1 + reroutes {
		var settings store.Settings
		if settings, err = q.find(ctx); err != nil {
			return nil, store.MaxWait, err
		}
		found, wait, err = q.client.receiver.Poll(ctx, &q.client.running, consumer.Poll{
			Queue: q.name, Partitions: settings.Partitions, First: int(q.polled.Add(1) % uint64(settings.Partitions)),
			Max: c.Max, Lease: leaseOr(c.Lease, settings).Milliseconds(), Pass: q.pass,
		})
		if !errors.Is(err, store.ErrRepartitioned) {
			break
		}
	}
	return found, wait, err
}

// pass reports whether a delivery is not for the caller, and then settles it so that its series
// continues. If that fails, the message is delivered again when its lease has run out.
func (q *Queue) pass(ctx context.Context, held *consumer.Held) bool {
	v, why := consumer.Passed(held.Delivery, 0)
	if v == nil {
		return false
	}
	q.client.log.WarnContext(ctx, "dueq: an occurrence of a recurring message is left out",
		slog.String("queue", q.name), slog.String("key", held.Delivery.Key), slog.Any("cause", why))
	lost := held.Settle(ctx, *v)
	q.client.hooks.skipped(held, v.Verdict, why, lost)
	return true
}

// Delivery is a message that a consumer holds until the lease ends or one of the methods settles
// it. The methods are safe for concurrent use. They are fenced: once the delivery is no longer
// the current one, they change nothing and return [ErrLeaseLost]. Repeating one after
// [ErrUnavailable] is safe.
//
// A handler of [Queue.Consume] need not call them: its result settles the delivery, unless the
// handler has settled it with a method.
type Delivery struct {
	ID      string // the same over all deliveries of a message
	Queue   string
	Key     string
	Headers map[string]string
	Body    []byte

	Attempt     int       // of this delivery, from 1; begins at 1 again after [Again]
	Token       int64     // grows with every delivery of the message: a fencing token
	Failures    int       // deliveries before this one that failed, since the last redrive or [Again]
	Snoozes     int       // deliveries before this one that were snoozed, likewise
	MaxAttempts int       // failures after which the message is dead
	Due         time.Time // by the store's clock
	SentAt      time.Time // by the producer's clock
	ExpiresAt   time.Time // zero: never

	queue  *Queue
	held   *consumer.Held // nil: the program has made the Delivery itself
	result *ownResult     // in a batch
	early  bool           // acked before the handler got it
	shown  bool           // to a function that cannot settle it
}

func newDelivery(q *Queue, held *consumer.Held) *Delivery {
	made := &Delivery{}
	made.fill(q, held.Delivery.Receipt.ID.String(), held)
	return made
}

// fill sets d to a delivery of the store, of the message with an id.
func (d *Delivery) fill(q *Queue, id string, held *consumer.Held) {
	from := held.Delivery
	held.ID = id
	*d = Delivery{
		ID: id, Queue: q.name, Key: from.Key, Headers: from.Headers, Body: from.Body,
		Attempt: from.Receipt.Attempt - from.Earlier, Token: int64(from.Receipt.Attempt), Failures: from.Failures, Snoozes: from.Snoozes, MaxAttempts: from.MaxAttempts,
		Due: fromInstant(from.Due), SentAt: fromInstant(from.Receipt.ID.Time()), ExpiresAt: fromInstant(from.Expiry),
		queue: q, held: held,
	}
}

// IdempotencyKey returns a name for the work of the handler: the same in all deliveries of an
// occurrence of the message, and different from those of other occurrences and messages. It is
// the ID; from the second occurrence on (see [Repeat] and [Again]) a point and a number follow.
// Up to 48 bytes of a-z, 0-9 and ".". Store it with the data that the handler writes, or pass it
// to the service that it calls, to recognize a message that is delivered twice. The dead letter
// of an occurrence of a recurring message has another ID, and so another key.
func (d *Delivery) IdempotencyKey() string {
	earlier := d.Token - int64(d.Attempt)
	if earlier == 0 {
		return d.ID
	}
	return d.ID + "." + strconv.FormatInt(earlier, 10)
}

// Repeat returns the schedule of a recurring message, and the zero value for any other message.
// It is the schedule at the time of the claim: the message may have got another one since.
func (d *Delivery) Repeat() Repeat {
	if d.held == nil {
		return Repeat{}
	}
	return toRepeat(d.held.Delivery.Repeat)
}

func (d *Delivery) recurs() bool { return d.held != nil && d.held.Delivery.Repeat != "" }

// LastAttempt reports whether the message is dead if this delivery fails: d.Failures + 1 >=
// d.MaxAttempts. A handler can use it to do the last steps, such as a notification. A message can
// also die before, by a rejection, and a redrive gives it new attempts.
func (d *Delivery) LastAttempt() bool { return d.Failures+1 >= d.MaxAttempts }

// Ack acknowledges the message: leased -> (gone). Of a recurring message it acknowledges this
// occurrence: leased -> scheduled for the next. Errors: [ErrLeaseLost]. A message that is already
// gone is no error.
func (d *Delivery) Ack(ctx context.Context) error {
	return d.settleAfter(ctx, store.Ack, 0, nil)
}

// Nack reports that the delivery failed: leased -> scheduled after delay, or dead if its attempts
// are used up, with the text of reason (may be nil; cut at 1 KiB) as Record.LastFailure. If it
// was cancelled meanwhile, it is removed. Errors: [ErrInvalid], [ErrLeaseLost], [ErrCancelled]
// (removed).
func (d *Delivery) Nack(ctx context.Context, delay time.Duration, reason error) error {
	return d.settleAfter(ctx, store.Nack, delay, reason)
}

// Release gives the message back without a failure: leased -> scheduled after delay (up to 10
// years), or ready when that is 0. Errors: [ErrInvalid], [ErrLeaseLost], [ErrCancelled] (removed,
// as it was cancelled meanwhile).
func (d *Delivery) Release(ctx context.Context, delay time.Duration) error {
	return d.settleAfter(ctx, store.Release, delay, nil)
}

// Snooze puts the message off: leased -> scheduled after delay (up to 10 years), or ready when
// that is 0. No failure is counted, so it can be snoozed any number of times; Delivery.Snoozes
// and Record.Snoozes count them. Record.LastFailure becomes "snoozed: " and the reason, or
// "snoozed" (cut at 1 KiB). Errors: [ErrInvalid], [ErrLeaseLost], [ErrCancelled] (removed, as it
// was cancelled meanwhile).
func (d *Delivery) Snooze(ctx context.Context, delay time.Duration, reason string) error {
	return d.settleAfter(ctx, store.Snooze, delay, &consumer.SnoozeError{Reason: reason})
}

// Again acknowledges this occurrence of the message and schedules the next one, in one step:
// leased -> scheduled as to says. See the verdict [Again]. Errors: [ErrInvalid] and [ErrTooLarge]
// (nothing was changed; the delivery is still held), [ErrQueueFull] (for a new body),
// [ErrLeaseLost], [ErrCancelled] (removed, as it was cancelled meanwhile).
func (d *Delivery) Again(ctx context.Context, to Schedule, o *AgainOptions) error {
	return d.settleBy(ctx, string(store.Again), Again(to, o))
}

// Reject makes the message a dead letter, whatever its attempts: leased -> dead, with the text of
// reason (may be nil; cut at 1 KiB) as Record.LastFailure. With [Repeat], this occurrence becomes
// a dead letter and the message is scheduled for the next. Errors: [ErrLeaseLost], [ErrCancelled]
// (removed, as it was cancelled meanwhile).
func (d *Delivery) Reject(ctx context.Context, reason error) error {
	return d.settleAfter(ctx, store.Reject, 0, reason)
}

// Extend makes the lease end span from now at the earliest: 1 s to 12 h; it never shortens it.
// Errors: [ErrInvalid]; [ErrLeaseLost], also when the message is gone; [ErrCancelled]: extended,
// but the message was cancelled and the work on it should stop.
func (d *Delivery) Extend(ctx context.Context, span time.Duration) error {
	err := d.unusable(ctx)
	switch {
	case err != nil:
	case span < 0:
		err = negative("delay", span)
	default:
		err = d.held.Extend(ctx, toSpan(span))
	}
	return fail("extend", d.Queue, d.ID, err)
}

// Settle settles the delivery by the result of a handler, as [Queue.Consume] does: nil acks it,
// the errors of [RetryAfter], [Snooze], [Again], [Next], [Reject] and [Drop] choose the verdict,
// any other error nacks it with the queue's Settings.Backoff, by default [DefaultBackoff]. It is
// for handlers that are called with deliveries of [Queue.Receive]. Errors: [ErrLeaseLost],
// [ErrCancelled] (removed, as it was cancelled meanwhile); verdict itself is not among them.
func (d *Delivery) Settle(ctx context.Context, verdict error) error {
	verdict = d.admit(ctx, verdict)
	v := consumer.Judge(verdict, false, func() time.Duration { return d.backoff(ctx, verdict) })
	err := d.settle(ctx, v)
	if v.Verdict == store.Again && errors.Is(err, ErrInvalid) || v.Verdict == store.Next && refused(err) {
		return d.settle(ctx, consumer.Verdict{Verdict: store.Nack, Delay: toSpan(d.backoff(ctx, err)), Failure: fmt.Sprint(errors.Unwrap(err))})
	}
	return err
}

// backoff returns the delay after a failure of the delivery.
func (d *Delivery) backoff(ctx context.Context, err error) time.Duration {
	if d.held == nil {
		return 0 // settling fails anyway
	}
	// A client that has the delivery by its receipt may not know the queue's settings yet. If they
	// cannot be read, the default is used.
	_, _ = d.queue.find(ctx)
	return d.queue.backoff(d, err)
}

// refused reports whether a Next changed nothing because of one of its messages.
func refused(err error) bool {
	return errors.Is(err, ErrInvalid) || errors.Is(err, ErrDuplicate) || errors.Is(err, ErrQueueFull)
}

// settleBy is Settle, except that an invalid verdict is returned as an error and does not count
// as a failure of the handler.
func (d *Delivery) settleBy(ctx context.Context, op string, verdict error) error {
	verdict = d.admit(ctx, verdict)
	v := consumer.Judge(verdict, false, func() time.Duration { return 0 })
	if string(v.Verdict) != op {
		return fail(op, d.Queue, d.ID, verdict)
	}
	return d.settle(ctx, v)
}

// admit returns verdict, or an error if the queue does not allow it. For a Next it sends the
// messages that are sent before the ack, and returns a verdict for the rest.
func (d *Delivery) admit(ctx context.Context, verdict error) error {
	if verdict == nil {
		return nil
	}
	if messages := messagesOf(verdict); messages != nil {
		var n nexts
		n.add(ctx, d, messages)
		return n.send(ctx)[0]
	}
	v := consumer.Judge(verdict, false, func() time.Duration { return 0 })
	if v.Verdict == store.Again && d.recurs() && v.Next.TTL != 0 {
		return invalid("ttl", "of %s: it would end all occurrences of a recurring message", fromSpan(v.Next.TTL))
	}
	if v.Verdict != store.Again || len(v.Next.Body) == 0 {
		return verdict
	}
	settings, err := d.queue.learnFor(ctx, len(v.Next.Body))
	if err == nil && len(v.Next.Body) > settings.MaxBody {
		err = (*Error)(store.TooLarge(len(v.Next.Body), settings.MaxBody))
	}
	if err != nil {
		return err
	}
	return verdict
}

func (d *Delivery) settleAfter(ctx context.Context, v store.Verdict, delay time.Duration, reason error) error {
	if delay < 0 {
		return fail(string(v), d.Queue, d.ID, negative("delay", delay))
	}
	return d.settle(ctx, consumer.Verdict{Verdict: v, Delay: toSpan(delay), Failure: failureOf(reason)})
}

func failureOf(reason error) string {
	if reason == nil {
		return ""
	}
	return fmt.Sprint(reason)
}

// unusable returns the reason why the delivery cannot be settled or extended, nil if there is
// none.
func (d *Delivery) unusable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case d.held == nil:
		return invalid("delivery", "was not received from a queue")
	case d.shown:
		return invalid("delivery", "cannot be settled by Backoff")
	}
	return nil
}

func (d *Delivery) settle(ctx context.Context, v consumer.Verdict) error {
	err := d.unusable(ctx)
	if err == nil {
		err = d.held.Settle(ctx, v)
	}
	return fail(string(v.Verdict), d.Queue, d.ID, err)
}

// AckAll acks deliveries, of one or more calls of [Queue.Receive], in as few calls as possible:
// one for each 500 of a partition. It tries all of them and returns the joined errors of those
// that it could not ack: each is an [*Error] with the message's id, as from [Delivery.Ack].
func AckAll(ctx context.Context, deliveries []*Delivery) error {
	return settleAll(ctx, deliveries, store.Ack, 0, nil)
}

// NackAll nacks deliveries in the way of [AckAll], with the delay and reason of [Delivery.Nack].
func NackAll(ctx context.Context, deliveries []*Delivery, delay time.Duration, reason error) error {
	return settleAll(ctx, deliveries, store.Nack, delay, reason)
}

func settleAll(ctx context.Context, deliveries []*Delivery, v store.Verdict, delay time.Duration, reason error) error {
	errs, verdict := make([]error, len(deliveries)), consumer.Verdict{Verdict: v, Delay: toSpan(delay), Failure: failureOf(reason)}
	var all []*consumer.Held
	var indexes []int
	for i, d := range deliveries {
		if errs[i] = d.unusable(ctx); errs[i] == nil && delay < 0 {
			errs[i] = negative("delay", delay)
		}
		if errs[i] == nil {
			all, indexes = append(all, d.held), append(indexes, i)
		}
	}
	for n, err := range consumer.SettleAll(ctx, all, verdict) {
		errs[indexes[n]] = err
	}
	for i, d := range deliveries {
		errs[i] = fail(string(v), d.Queue, d.ID, errs[i])
	}
	return errors.Join(errs...)
}
