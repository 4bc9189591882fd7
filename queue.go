package dueq

import (
	"context"
	"sync/atomic"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// Queue is a named stream of messages. Make one with [Client.Queue]. All methods are
// safe for concurrent use, return the error of a ctx that has ended without doing
// anything, and [ErrClosed] once the client is closed.
type Queue struct {
	client  *Client
	name    string
	invalid error // a bad name: returned by every method
	turn    route.RoundRobin
	polled  atomic.Uint64 // where Receive looks first
	bell    consumer.Bell // for those who wait in Receive

	learning chan struct{} // has a token while a caller of learn asks the store
}

// Name returns the queue's name.
func (q *Queue) Name() string { return q.name }

// guard returns why no call may be made, if there is a reason.
func (q *Queue) guard(ctx context.Context) error {
	if q.invalid != nil {
		return q.invalid
	}
	return q.client.guard(ctx)
}

// learn returns the queue's settings as the store knows them; only at first the store is
// asked, by one caller at a time: many that begin together need not all ask. The queue is made
// if it is missing.
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

// read returns the settings as they are now in the store, and makes no queue, such as a
// misspelt one.
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

// locate finds the partition of the message that a reference names.
func (q *Queue) locate(ctx context.Context, ref Ref) (store.Partition, store.Ref, error) {
	plain, err := ref.plain()
	if err != nil {
		return store.Partition{}, plain, err
	}
	if !plain.ID.IsZero() {
		return q.partition(plain.ID.Partition()), plain, nil
	}
	s, err := q.find(ctx)
	if err != nil {
		return store.Partition{}, plain, err
	}
	return q.partition(route.ByKey(plain.Key, s.Partitions)), plain, nil
}

// relocate is asked when p has no message of that reference. A key belongs elsewhere when
// the number of partitions has changed since the settings were read.
func (q *Queue) relocate(ctx context.Context, p store.Partition, ref store.Ref) (now store.Partition, moved bool, err error) {
	if !ref.ID.IsZero() {
		return p, false, nil
	}
	s, err := q.read(ctx)
	if err != nil {
		return p, false, err
	}
	now = q.partition(route.ByKey(ref.Key, s.Partitions))
	return now, now != p, nil
}
