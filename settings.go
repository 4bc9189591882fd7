package dueq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Settings of a queue. They are kept in the store and are the same for all its clients. A
// queue that was made by its first message or consumer has the defaults.
type Settings struct {
	// Partitions is the number of parts into which the queue is divided, so that several servers
	// or cores can work on it: 1 to 1024. Default 1. [Queue.Update] can raise it, and never lower it.
	//
	// Consumers and producers that run use the new partitions from their next call to the store on. A
	// share of the keys and dedup ids belongs to another partition then, and a message with such a name
	// may still be in the old one. Until there is none, the queue is growing (GrowingFrom): a send with
	// a key or a DedupID that has moved costs two calls.
	Partitions int
	// GrowingFrom is the number of partitions that the queue had before, while it grows; 0: it does
	// not. It becomes 0 when the partitions of before have no message, live or dead, whose key or
	// DedupID has moved, and remember none; a consumer of the queue notices that. A recurring message
	// whose key has moved keeps the queue growing. Until it has ended, the queue cannot grow again.
	// Update ignores changes of it.
	GrowingFrom int
	// MaxBody is the size of the largest body, in bytes: 1 to 4 MiB. Default 256 KiB.
	MaxBody int
	// MaxMessages is the maximum number of messages in the queue, not counting dead letters. Each
	// partition holds an equal share of them, at least one, so a Send can return [ErrQueueFull]
	// while other partitions are not full. Default 0: no limit.
	MaxMessages int64
	// Paused: no messages are handed out. Only [Queue.Pause] and [Queue.Resume] change it.
	Paused bool

	// DeadRetention is how long dead letters are kept, in whole milliseconds, up to 10
	// years. Default 0: until they are redriven or removed.
	DeadRetention time.Duration
	// MaxDead is how many dead letters the queue keeps. Each partition keeps an equal share of
	// them, at least one. Default 0: no limit.
	//
	// Those that are over DeadRetention or MaxDead are removed for good, the oldest first: up to
	// 500 of a partition each time that a consumer or [Queue.Receive] asks it for messages, which
	// consumers of an idle queue do every 10 s. A queue without consumers keeps them. See
	// Counters.DeadExpired.
	MaxDead int64

	// History is how long a message is kept as [Done] after it was acknowledged or cancelled,
	// or has expired, in whole milliseconds, up to 10 years. Default 0: it is not kept.
	//
	// Done messages are kept with their bodies, for inspection: [Queue.Get], [Queue.List] and
	// [Queue.Messages] find them, [Queue.Purge] removes them, Stats.Done counts them. For every
	// other call they are gone: they do not count against MaxMessages, their keys are free, and a
	// message that is sent with the id of one is stored as a new one. Not kept are messages that
	// were purged, deleted or replaced, or that lost their key to another after their TTL, and
	// the occurrences that [Again] ends.
	History time.Duration
	// MaxHistory is how many done messages the queue keeps, up to 1,000,000; each partition keeps
	// an equal share, at least one. Default 0: 10,000, if History is set. The oldest are removed
	// first: one by each message that ends, and up to 500 by each call for messages.
	MaxHistory int64

	// MaxAttempts is the default of [Message].MaxAttempts: 1 to 1000. 0: 25.
	MaxAttempts int
	// Lease is the default of [ConsumeOptions].Lease and [ReceiveOptions].Lease: 1 s to 12 h. 0:
	// 30 s. A running consumer keeps the one with which it started.
	Lease time.Duration
	// Backoff is the default of [ConsumeOptions].Backoff. The zero value is
	// [DefaultBackoff].
	Backoff BackoffSettings

	// DedupFor is the default of [Message].DedupFor, for all messages of the queue, with a
	// DedupID or without: 0 to 24 h. With 0, messages that are gone are not remembered.
	//
	// A partition remembers at most 1,000,000 messages, each with some 300 bytes of the store's
	// memory. When there are more, those that were gone first are forgotten before their time,
	// and counted in Counters.Forgotten; sends are not refused because of it. So DedupFor holds
	// for up to 1,000,000 x Partitions messages that end within that time: if there are more, set
	// it only for the messages that need it.
	DedupFor time.Duration
}

// BackoffSettings are the arguments of the function Backoff(Base, Most), in whole milliseconds.
// Both are positive and Base is not above Most, or both are 0.
type BackoffSettings struct {
	Base time.Duration // the longest wait after the first failure
	Most time.Duration // the longest wait, up to 10 years
}

// Create makes the queue with settings, in which zero values mean the defaults. For a queue that
// exists with the same settings, paused or not, it does nothing and returns nil, so each start of
// a program can call it. Errors: [ErrExists] for one with other settings, of which Error.Field
// names the first; nothing was changed then, see [Queue.Update]. [ErrInvalid]. After any other
// error, repeating the call is safe.
func (q *Queue) Create(ctx context.Context, s Settings) error {
	err := q.guard(ctx)
	if err == nil {
		err = q.create(ctx, s)
	}
	return fail("create", q.name, "", err)
}

func (q *Queue) create(ctx context.Context, s Settings) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.GrowingFrom != 0 {
		return invalid("growing from", "is not set by Create")
	}
	if s.Paused {
		return invalid("paused", "is not set by Create, see Pause")
	}
	want := s.plain()
	c := differences(store.Settings{}, want)
	c.Create, c.If, c.Token = true, store.IfMissing, uniqueName()
	_, err := q.configure(ctx, c)
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	got, err := q.read(ctx)
	if err != nil {
		return err
	}
	got.Paused, got.From, got.Drained, got.Version, got.ChangedBy = false, 0, 0, 0, ""
	if got == want {
		return nil
	}
	return &Error{Field: firstDifference(got, want), Err: fmt.Errorf("%w with other settings", ErrExists)}
}

// Settings returns the queue's settings as they are in the store. Errors: [ErrNotFound]
// for an unknown queue, which is not made.
func (q *Queue) Settings(ctx context.Context) (Settings, error) {
	err := q.guard(ctx)
	if err != nil {
		return Settings{}, fail("settings", q.name, "", err)
	}
	s, err := q.read(ctx)
	if err != nil {
		return Settings{}, fail("settings", q.name, "", err)
	}
	return toSettings(s), nil
}

// updates is how often Update tries to change settings while other clients change them, too.
const updates = 20

// Update changes the queue's settings and returns them: it reads them, calls change to modify
// them, and writes them if the stored ones are still those that it read. Otherwise it starts
// again. So change can be called several times and must not depend on how often, and changes of
// other clients are not overwritten.
//
// Other clients use the new settings from their next call to the store on; idle consumers, within
// 10 s. A change of MaxAttempts does not affect messages that have been sent. Errors:
// [ErrNotFound] for an unknown queue; [ErrInvalid], also when change lowers Partitions or sets Paused;
// [ErrUnavailable], also when other clients changed the settings 20 times meanwhile. After
// [ErrUnavailable] or the error of ctx, the change may have been made.
func (q *Queue) Update(ctx context.Context, change func(*Settings)) (Settings, error) {
	err := q.guard(ctx)
	if err == nil && change == nil {
		err = invalid("change", "is nil")
	}
	if err != nil {
		return Settings{}, fail("update", q.name, "", err)
	}
	s, err := q.update(ctx, change)
	if err != nil {
		return Settings{}, fail("update", q.name, "", err)
	}
	return toSettings(s), nil
}

func (q *Queue) update(ctx context.Context, change func(*Settings)) (store.Settings, error) {
	for range updates {
		old, err := q.read(ctx)
		if err != nil {
			return old, err
		}
		next := toSettings(old)
		change(&next)
		if next.Paused != old.Paused {
			return old, invalid("paused", "is not changed by Update, see Pause and Resume")
		}
		if err := next.check(); err != nil {
			return old, err
		}
		if old.From != 0 && next.Partitions != old.Partitions {
			return old, &Error{Field: "partitions", Err: fmt.Errorf("the queue is still growing from %d to %d: %w",
				old.From, old.Partitions, ErrUnavailable)}
		}
		c := differences(old, next.plain())
		if c.Reads() {
			return old, nil
		}
		c.If, c.Token = old.Version, uniqueName()
		s, err := q.configure(ctx, c)
		if !errors.Is(err, store.ErrConflict) {
			return s, err
		}
	}
	return store.Settings{}, fmt.Errorf("the settings changed %d times meanwhile: %w", updates, ErrUnavailable)
}

// Pause stops the delivery of messages to all consumers of the queue until [Queue.Resume]. Sends
// and running handlers continue. Repeating is safe. Errors: [ErrNotFound] for an unknown queue.
func (q *Queue) Pause(ctx context.Context) error { return q.setPaused(ctx, "pause", true) }

// Resume ends a pause; consumers continue at once. Repeating is safe. Errors: [ErrNotFound] for
// an unknown queue.
func (q *Queue) Resume(ctx context.Context) error { return q.setPaused(ctx, "resume", false) }

func (q *Queue) setPaused(ctx context.Context, op string, paused bool) error {
	err := q.guard(ctx)
	if err == nil {
		_, err = q.configure(ctx, store.Change{Paused: &paused})
	}
	return fail(op, q.name, "", err)
}

// leaseOr returns the given lease or, if it is 0, the default.
func leaseOr(asked time.Duration, settings store.Settings) time.Duration {
	return cmp.Or(asked, fromSpan(settings.Lease), defaultLease)
}

// checkLease returns errors with the limits in readable units.
func checkLease(lease time.Duration) error {
	if ms := lease.Milliseconds(); ms < store.MinLease || ms > store.MaxLease || lease%time.Millisecond != 0 {
		return outside("lease", lease, "1s to 12h, or not whole milliseconds")
	}
	return nil
}

// check returns an error for values that plain cannot represent.
func (s Settings) check() error {
	for _, span := range []struct {
		field string
		value time.Duration
	}{{"dead retention", s.DeadRetention}, {"history", s.History}, {"dedup for", s.DedupFor}, {"lease", s.Lease}, {"backoff", s.Backoff.Base}, {"backoff", s.Backoff.Most}} {
		if span.value < 0 {
			return negative(span.field, span.value)
		}
	}
	return nil
}

// differences returns the change that makes the settings to from those in from.
func differences(from, to store.Settings) store.Change {
	c := store.Change{
		Partitions: unlessSame(from.Partitions, to.Partitions), MaxBody: unlessSame(from.MaxBody, to.MaxBody),
		MaxMessages:   unlessSame(from.MaxMessages, to.MaxMessages),
		DeadRetention: unlessSame(from.DeadRetention, to.DeadRetention), MaxDead: unlessSame(from.MaxDead, to.MaxDead),
		History: unlessSame(from.History, to.History), MaxHistory: unlessSame(from.MaxHistory, to.MaxHistory),
		MaxAttempts: unlessSame(from.MaxAttempts, to.MaxAttempts),
		Lease:       unlessSame(from.Lease, to.Lease), DedupFor: unlessSame(from.DedupFor, to.DedupFor),
	}
	if from.BackoffBase != to.BackoffBase || from.BackoffMost != to.BackoffMost {
		c.BackoffBase, c.BackoffMost = &to.BackoffBase, &to.BackoffMost
	}
	return c
}

func unlessSame[T comparable](from, to T) *T {
	if from == to {
		return nil
	}
	return &to
}

// firstDifference returns the name of a field in which settings differ.
func firstDifference(a, b store.Settings) string {
	switch c := differences(a, b); {
	case c.Partitions != nil:
		return "partitions"
	case c.MaxBody != nil:
		return "max body"
	case c.MaxMessages != nil:
		return "max messages"
	case c.DeadRetention != nil:
		return "dead retention"
	case c.MaxDead != nil:
		return "max dead"
	case c.History != nil:
		return "history"
	case c.MaxHistory != nil:
		return "max history"
	case c.MaxAttempts != nil:
		return "max attempts"
	case c.Lease != nil:
		return "lease"
	case c.DedupFor != nil:
		return "dedup for"
	default:
		return "backoff"
	}
}

// DeleteQueueOptions are the options of [Client.DeleteQueue]. nil means the zero value.
type DeleteQueueOptions struct {
	// Force deletes the queue with all its messages: scheduled, ready, leased and dead ones.
	// Default: a queue with messages is not deleted.
	Force bool
}

// DeleteQueue removes a queue for good, with its settings and counters. If the queue has
// messages, including dead ones, it is not changed and [ErrNotEmpty] is returned, unless o.Force
// is set.
//
// Its consumers, in all processes, are notified: they stop as when their ctx ends, and
// Consume returns [ErrNotFound]. Receive returns ErrNotFound, too. A running handler continues;
// with o.Force its message is gone, so its context ends with [ErrLeaseLost] at the next extension
// of the lease, and Ack returns nil, or ErrLeaseLost after that extension. A program that sends
// to the queue afterwards, or consumes it, makes a new one with the default settings: so stop the
// producers first. (A consumer that has not noticed the deletion by then consumes the new queue,
// if that has as many partitions.) No call that was made before the deletion has an effect on the
// new queue.
//
// While the queue is being deleted, sends to it wait. The call can be repeated after any error;
// it returns ErrNotFound if an earlier call has deleted the queue. When a server of a Redis
// Cluster does not answer, the queue stays: with o.Force without the messages that were already
// removed, otherwise with all messages. If the process ends during the call, sends to the queue
// wait for up to 30 s.
//
// Errors: [ErrInvalid] for the name; ErrNotEmpty; ErrNotFound for an unknown queue;
// [ErrUnavailable]. It costs four calls for each partition, however many messages there are.
// Redis keeps some keys for an hour, so that late calls cannot bring back parts of the old queue.
func (c *Client) DeleteQueue(ctx context.Context, name string, o *DeleteQueueOptions) error {
	err := store.ValidateQueue(name)
	if err == nil {
		err = c.guard(ctx)
	}
	if err == nil {
		err = c.store.DeleteQueue(ctx, name, store.DeleteRequest{Force: o != nil && o.Force})
	}
	if err == nil {
		c.producer.Forget(name)
		c.receiver.Forget(name)
		c.queues.Drop(func(queue string) bool { return queue == name })
	}
	return fail("delete", name, "", err)
}

func toSettings(s store.Settings) Settings {
	return Settings{
		Partitions: s.Partitions, GrowingFrom: s.From, MaxBody: s.MaxBody, MaxMessages: s.MaxMessages, Paused: s.Paused,
		DeadRetention: fromSpan(s.DeadRetention), MaxDead: s.MaxDead,
		History: fromSpan(s.History), MaxHistory: s.MaxHistory,
		MaxAttempts: s.MaxAttempts, Lease: fromSpan(s.Lease),
		Backoff: BackoffSettings{Base: fromSpan(s.BackoffBase), Most: fromSpan(s.BackoffMost)}, DedupFor: fromSpan(s.DedupFor),
	}
}

// plain returns the settings in the form of the store, with the defaults of a queue.
func (s Settings) plain() store.Settings {
	return store.Settings{
		Partitions: cmp.Or(s.Partitions, store.DefaultPartitions), MaxBody: cmp.Or(s.MaxBody, store.DefaultMaxBody),
		MaxMessages: s.MaxMessages, DeadRetention: toSpan(s.DeadRetention), MaxDead: s.MaxDead,
		History: toSpan(s.History), MaxHistory: s.MaxHistory,
		MaxAttempts: s.MaxAttempts, Lease: toSpan(s.Lease),
		BackoffBase: toSpan(s.Backoff.Base), BackoffMost: toSpan(s.Backoff.Most), DedupFor: toSpan(s.DedupFor),
	}
}
