package dueq

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// State is where a message is.
type State string

// The four states of a live message, and that of one that has ended, for as long as
// Settings.History keeps it.
const (
	Scheduled = State(store.Scheduled) // due later
	Ready     = State(store.Ready)     // due now
	Leased    = State(store.Leased)    // held by a consumer
	Dead      = State(store.Dead)      // out of attempts, or rejected
	Done      = State(store.Done)      // acknowledged, cancelled or expired
)

// Ending is how a message became [Done].
type Ending string

// The endings of done messages.
const (
	EndingAcked     = Ending(store.EndingAcked)     // acknowledged
	EndingCancelled = Ending(store.EndingCancelled) // by [Queue.Cancel]
	EndingExpired   = Ending(store.EndingExpired)   // its TTL passed before it was delivered
)

// Record is a message as the store has it.
type Record struct {
	ID       string
	Queue    string
	Key      string
	Headers  map[string]string
	Body     []byte // in a list cut to ListOptions.BodyLimit
	BodySize int    // bytes of the whole body
	State    State
	// At is, by the store's clock: scheduled and ready, when it is due; leased, when the
	// lease ends; dead, when it died; done, when it ended.
	At          time.Time
	SentAt      time.Time // by the producer's clock
	ExpiresAt   time.Time // zero: never
	Attempt     int       // deliveries so far, since the last [Again]
	Token       int64     // deliveries so far; Delivery.Token of the last of them
	Failures    int       // deliveries that failed, since the last redrive or [Again]
	Snoozes     int       // deliveries that were snoozed, likewise
	MaxAttempts int
	// LastFailure is the last text that was given with the end of a delivery, up to 1 KiB: of
	// an error, "snoozed: " and a reason, or "lease ran out". "" if none.
	LastFailure string
	Cancelling  bool // leased, and its holder has been asked to stop
	// Holder is the consumer that has a leased message: ConsumeOptions.Name or Options.Name, and
	// what makes it unique. "" where it is not known: in a file: store after it was opened again,
	// and where too many consumers share a partition, 1023 in Redis, 127 in other stores.
	Holder string
	Ending Ending // done: how it ended
	Repeat Repeat
}

// Get returns a message with its whole body: live, dead or, where Settings.History keeps it,
// done. Errors: [ErrNotFound] when there is no such message (any more), [ErrInvalid], [ErrCorrupt] when it cannot be read.
func (q *Queue) Get(ctx context.Context, ref Ref) (Record, error) {
	if err := q.guard(ctx); err != nil {
		return Record{}, fail("get", q.name, ref.String(), err)
	}
	r, err := q.get(ctx, ref)
	if err != nil {
		return Record{}, fail("get", q.name, ref.String(), err)
	}
	return toRecord(q.name, r), nil
}

func (q *Queue) get(ctx context.Context, ref Ref) (store.Record, error) {
	p, plain, err := q.locate(ctx, ref)
	if err != nil {
		return store.Record{}, err
	}
	r, err := q.client.store.Get(ctx, p, plain)
	if !errors.Is(err, ErrNotFound) {
		return r, err
	}
	now, moved, failed := q.relocate(ctx, p, plain)
	switch {
	case moved:
		return q.client.store.Get(ctx, now, plain)
	case failed != nil:
		return r, failed
	default:
		return r, err
	}
}
