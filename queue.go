package dueq

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// Queue is a named stream of messages. Make one with [Client.Queue]. All methods are safe for
// concurrent use. They return the error of a ctx that has ended, without doing anything, and
// [ErrClosed] once the client is closed.
type Queue struct {
	client     *Client
	name       string
	invalid    error // a bad name: returned by every method
	roundRobin route.RoundRobin
	polled     atomic.Uint64  // for the partition that Receive polls first
	bell       *consumer.Bell // for callers that wait in Receive

	learning chan struct{} // has an element while a caller of learn asks the store
}

// Name returns the queue's name.
func (q *Queue) Name() string { return q.name }

// silent reports whether a partition does not answer.
func (q *Queue) silent(index int) bool { return q.client.producer.Silent(q.partition(index)) }

// guard returns the reason why no call may be made, nil if there is none.
func (q *Queue) guard(ctx context.Context) error {
	if q.invalid != nil {
		return q.invalid
	}
	return q.client.guard(ctx)
}

// learn returns the queue's settings. Only if the store does not have them locally it makes a
// call, by one caller at a time, so that many that begin at the same time share one call. The
// queue is made if it is missing.
func (q *Queue) learn(ctx context.Context) (store.Settings, error) {
	if s, ok := q.client.store.Known(q.name); ok {
		return s, nil
	}
	select {
	case q.learning <- struct{}{}:
		defer func() { <-q.learning }()
	case <-ctx.Done():
		return store.Settings{}, ctx.Err()
	}
	if s, ok := q.client.store.Known(q.name); ok {
		return s, nil
	}
	return q.configure(ctx, store.Change{Create: true})
}

// find is learn, but returns ErrNotFound if the queue is missing.
func (q *Queue) find(ctx context.Context) (store.Settings, error) {
	if s, ok := q.client.store.Known(q.name); ok {
		return s, nil
	}
	return q.read(ctx)
}

// read returns the current settings from the store. It does not make a missing queue, whose name
// may be misspelt.
func (q *Queue) read(ctx context.Context) (store.Settings, error) {
	return q.configure(ctx, store.Change{})
}

func (q *Queue) configure(ctx context.Context, c store.Change) (store.Settings, error) {
	return q.client.store.Configure(ctx, q.name, c)
}

// partition returns the partition with the given number.
func (q *Queue) partition(index int) store.Partition {
	return store.Partition{Queue: q.name, Index: index}
}

// homes returns the partitions that can have the message of a reference, in the order in which they
// have to be asked: while the queue grows, a key whose partition has changed can become that of a
// message in the new one, but not of one in the old one.
func (q *Queue) homes(ref store.Ref, s *store.Settings) []store.Partition {
	m := &store.Message{Key: ref.Key}
	_, home := route.ByNames(m, s.Partitions)
	if !route.Moves(m, s.From, s.Partitions) {
		return []store.Partition{q.partition(home)}
	}
	_, before := route.ByNames(m, s.From)
	return []store.Partition{q.partition(before), q.partition(home)}
}

// ask calls a function for the partitions that can have the message of a reference. Unless it has found
// a live one, it is called for them again when the number of partitions has changed since the settings
// were read.
func (q *Queue) ask(ctx context.Context, ref store.Ref, do func([]store.Partition) (live bool, err error)) error {
	if !ref.ID.IsZero() {
		_, err := do([]store.Partition{q.partition(ref.ID.Partition())})
		return err
	}
	s, err := q.find(ctx)
	if err != nil {
		return err
	}
	asked := q.homes(ref, &s)
	live, err := do(asked)
	if live || err != nil {
		return err
	}
	if s, err = q.read(ctx); err != nil {
		return err
	}
	if now := q.homes(ref, &s); !slices.Equal(now, asked) {
		_, err = do(now)
	}
	return err
}

// Ref names one message of a queue, by id or by key: make it with [ID], [Key] or [ParseRef]. Refs
// are comparable. The zero Ref names no message: every call that needs one returns [ErrInvalid].
type Ref struct {
	by   refBy
	name string
}

type refBy byte

const (
	byID refBy = iota + 1
	byKey
)

// ID names the message with an id, as [Queue.Send] returned it. A call that gets a
// malformed id returns [ErrInvalid].
func ID(id string) Ref { return Ref{byID, id} }

// Key names the message that has a key: the one that is scheduled, ready or leased or, if there
// is none, the dead one that died last. If there is none either, [Queue.Get] finds the done one
// that ended last (see Settings.History), among the last 16 with the key. A call that gets an
// empty or malformed key returns [ErrInvalid].
func Key(key string) Ref { return Ref{byKey, key} }

// keyPrefix distinguishes a key from an id: ids have no colon.
const keyPrefix = "key:"

// ParseRef parses the text of a Ref: an id, or "key:" and a key, such as "key:order-42". Errors:
// [ErrInvalid].
func ParseRef(text string) (Ref, error) {
	r := ID(text)
	if key, ok := strings.CutPrefix(text, keyPrefix); ok {
		r = Key(key)
	}
	if _, err := r.plain(); err != nil {
		if r.by == byID {
			err = fmt.Errorf("%w (a key is written as %sKEY)", err, keyPrefix)
		}
		return Ref{}, err
	}
	return r, nil
}

// String returns the text that [ParseRef] reads; "" for the zero Ref.
func (r Ref) String() string {
	if r.by == byKey {
		return keyPrefix + r.name
	}
	return r.name
}

// plain returns r in the form of the store, or an error if it is invalid.
func (r Ref) plain() (store.Ref, error) {
	switch r.by {
	case byID:
		id, err := store.ParseID(r.name)
		if err == nil && id.IsZero() {
			err = invalid("id", "has no bits set, which no message's id has")
		}
		return store.Ref{ID: id}, err
	case byKey:
		return store.Ref{Key: r.name}, store.ValidateKey(r.name)
	default:
		return store.Ref{}, invalid("ref", "is empty, want an id or a key")
	}
}
