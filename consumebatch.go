package dueq

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
)

// BatchHandler does the work that several messages ask for, such as one INSERT for all of
// them. What it returns settles each delivery of the batch as [Handler]'s result does, nil
// acks them; [Delivery.Fail] gives one of them a result of its own. [Next] sends its
// messages once for each delivery that it is the result of; those of all deliveries share
// calls. A panic is a failure of all.
//
// ctx ends when the work on every delivery of the batch has ended, for the causes that
// Handler names: one lease that is lost, or one message that is cancelled, does not end
// the work on the others.
type BatchHandler func(ctx context.Context, batch []*Delivery) error

// BatchOptions of one [Queue.ConsumeBatch]. The zero value is good for most.
type BatchOptions struct {
	// Max is how many messages the handler gets at a time at most: 1 to 10,000. Default 100.
	Max int
	// Linger is how long the first message of a batch may wait for others, unless they are
	// Max before: up to 1 minute. Default 0: the handler gets what is there.
	Linger time.Duration
	// ConsumeOptions has the rest. Concurrency is how many batches are handled at a time,
	// by default 1; at most 100,000 messages in all. Prefetch is by default 500, or Max if
	// that is more. Middleware must be empty.
	ConsumeOptions
}

const (
	defaultBatch       = 100
	defaultBatchesOnce = 1
	maxBatch           = 10_000
	maxLinger          = time.Minute
	maxTogether        = 100_000 // deliveries that handlers of a consumer work on
)

// ConsumeBatch is [Queue.Consume] for a handler that takes several messages at a time: up
// to c.Max that are due, of any partition, or what came within c.Linger. Leases are
// extended, and the consumer stops, as with Consume. A message that was running when a
// process ended is handled in a batch of its own.
//
// Errors are those of Consume.
func (q *Queue) ConsumeBatch(ctx context.Context, h BatchHandler, c BatchOptions) error {
	if err := q.guard(ctx); err != nil {
		return fail("consume", q.name, "", err)
	}
	c, err := c.complete()
	if err == nil && h == nil {
		err = invalid("handler", "is nil")
	}
	if err != nil {
		return fail("consume", q.name, "", err)
	}
	return q.runConsumer(ctx, c.ConsumeOptions, func(config *consumer.Config) {
		config.Batch, config.Linger = c.Max, c.Linger
		config.HandleBatch = func(ctx context.Context, all []*consumer.Held) []error {
			return q.handleBatch(ctx, h, all, c.AtMostOnce)
		}
	})
}

// complete returns c with its defaults, or what is wrong with it.
func (c BatchOptions) complete() (BatchOptions, error) {
	c.Max = cmp.Or(c.Max, defaultBatch)
	c.Concurrency = cmp.Or(c.Concurrency, defaultBatchesOnce)
	switch {
	case c.Max < 1 || c.Max > maxBatch:
		return c, invalid("max", "%d is outside 1 to %d", c.Max, maxBatch)
	case c.Linger < 0 || c.Linger > maxLinger:
		return c, invalid("linger", "%s is outside 0s to %s", c.Linger, maxLinger)
	case len(c.Middleware) > 0:
		return c, invalid("middleware", "%d for handlers of one message, want none", len(c.Middleware))
	case c.Concurrency > maxTogether/c.Max:
		return c, invalid("concurrency", "%d batches of %d messages, want at most %d messages in all", c.Concurrency, c.Max, maxTogether)
	}
	if !c.NoPrefetch && c.Prefetch == 0 {
		c.Prefetch = max(defaultPrefetch, c.Max)
	}
	var err error
	c.ConsumeOptions, err = c.ConsumeOptions.complete()
	return c, err
}

// handleBatch calls h, and returns the result of each delivery. early: they are acked already.
func (q *Queue) handleBatch(ctx context.Context, h BatchHandler, all []*consumer.Held, early bool) []error {
	own, deliveries := make([]ownResult, len(all)), make([]Delivery, len(all))
	batch := make([]*Delivery, len(all))
	ids := joinIDs(all)
	length := len(ids) / len(all)
	for i, held := range all {
		q.client.hooks.delivering(q.name, held.Delivery)
		deliveries[i].fill(q, ids[i*length:(i+1)*length], held.Delivery, held)
		deliveries[i].early, deliveries[i].result = early, &own[i]
		batch[i] = &deliveries[i]
	}
	err := h(ctx, batch)
	results := make([]error, len(all))
	for i := range own {
		results[i] = own[i].or(err)
	}
	admitAll(ctx, batch, results)
	return results
}

// joinIDs returns the ids of deliveries one behind the other: a batch has them in one piece of
// memory.
func joinIDs(all []*consumer.Held) string {
	var text strings.Builder
	var id []byte
	for i, held := range all {
		id = held.Delivery.Receipt.ID.AppendTo(id[:0])
		if i == 0 {
			text.Grow(len(all) * len(id))
		}
		text.Write(id)
	}
	return text.String()
}

// admitAll replaces verdicts by what admit returns for them. Messages of all of them share
// calls.
func admitAll(ctx context.Context, batch []*Delivery, verdicts []error) {
	var n nexts
	var places []int
	for i, d := range batch {
		if messages := messagesOf(verdicts[i]); messages != nil {
			n.add(ctx, d, messages)
			places = append(places, i)
		} else {
			verdicts[i] = d.admit(ctx, verdicts[i])
		}
	}
	for i, verdict := range n.send(ctx) {
		verdicts[places[i]] = verdict
	}
}

// ownResult is the result that Fail has given a delivery of a batch; nil: none.
type ownResult struct{ atomic.Pointer[error] }

// or returns it, or if there is none the result of the batch.
func (r *ownResult) or(whole error) error {
	if own := r.Load(); own != nil {
		return *own
	}
	return whole
}

// Fail gives a delivery of a batch a result of its own, as if a handler had returned err
// for it alone: nil acks it, an error nacks it, [RetryAfter], [Snooze], [Again], [Next],
// [Reject] and [Drop] choose otherwise. It is applied when the handler of the batch has
// returned; the last call counts. It is for handlers of [Queue.ConsumeBatch] and panics
// elsewhere.
func (d *Delivery) Fail(err error) {
	if d.result == nil {
		panic(fmt.Sprintf("dueq: Fail of delivery %s, which is not of a batch", d.ID))
	}
	d.result.Store(&err)
}
