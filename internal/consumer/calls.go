package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/internal/coalesce"
	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/internal/series"
	"github.com/dueq-dev/dueq/store"
)

// idleAfter is the time without a call after which the state of a partition is dropped.
const idleAfter = 5 * time.Minute

// calls settles deliveries and extends their leases. Requests with the same target that are made
// at the same time are combined into one call.
type calls struct {
	store      store.Store
	coalescers *idle.Map[target, *coalescer]
	config     func(target) coalesce.Config[settling, settlement]
}

// target is what all deliveries of a call have in common.
type target struct {
	partition store.Partition
	verdict   store.Verdict // noVerdict: the leases are extended
	lease     int64         // of an extension, ms
	start     bool          // of an extension: it also records that handlers are about to run
}

const noVerdict store.Verdict = ""

// coalescer combines requests with one target.
type coalescer = coalesce.Coalescer[settling, settlement]

// settling is a delivery with the details of its verdict.
type settling struct {
	held    *Held
	details *Verdict // nil: none

	handled bool  // a handler has run; these are its result and duration
	result  error // if no handler has run: why none gets this occurrence; nil: it is released
	took    time.Duration
}

func newSettling(h *Held, v Verdict) settling {
	v.Failure = cut(v.Failure)
	if v == (Verdict{Verdict: v.Verdict}) { // as with most acks, of which there can be many at a time
		return settling{held: h}
	}
	details := v
	return settling{held: h, details: &details}
}

// verdict returns the details of its verdict.
func (i *settling) verdict() Verdict {
	if i.details == nil {
		return Verdict{}
	}
	return *i.details
}

// settlement is the answer of the store.
type settlement struct {
	code store.Code
	err  error
}

// newCalls returns calls that are made as config returns for each target: how often they are
// tried, in which context, and what is done with their results.
func newCalls(s store.Store, config func(target) coalesce.Config[settling, settlement]) *calls {
	return &calls{store: s, coalescers: idle.NewMap[target, *coalescer](idleAfter, nil), config: config}
}

func (c *calls) coalescer(t target) *coalescer { return c.coalescers.Get(t, c.newCoalescer) }

func (c *calls) newCoalescer(t target) *coalescer {
	config := c.config(t)
	config.MaxItems, config.MaxBytes, config.Size = store.MaxBatch, store.MaxBatchBytes, (*settling).size
	return coalesce.New(config)
}

// do makes a request, in one call with others, and waits for it until ctx ends.
func (c *calls) do(ctx context.Context, t target, item *settling) settlement {
	said, status := c.coalescer(t).Do(ctx, item)
	if status != coalesce.Completed {
		said.err = ctx.Err()
	}
	return said
}

// once makes the call for items without retries.
func once(ctx context.Context, s store.Store, t target, items []settling) []settlement {
	r := newRequest(t, items, nil)
	codes, err := r.ask(ctx, s)
	said := make([]settlement, len(items))
	for i := range said {
		said[i].err = err
		if err == nil {
			said[i].code = codes[i]
		}
	}
	return said
}

// release releases deliveries of a partition, without retries, in as few calls as possible. A
// message that cannot be released is delivered again when its lease has run out.
func (c *calls) release(ctx context.Context, p store.Partition, receipts []store.Receipt) error {
	var failed error
	for chunk := range slices.Chunk(receipts, store.MaxBatch) {
		items := make([]store.Settlement, len(chunk))
		for i := range chunk {
			items[i].Receipt = chunk[i]
		}
		_, err := c.store.Settle(ctx, p, store.SettleRequest{Verdict: store.Release, Items: items})
		failed = errors.Join(failed, err)
	}
	return failed
}

// request has the arguments of a call to the store.
type request struct {
	target
	receipts []store.Receipt    // of leases that are extended
	items    []store.Settlement // of deliveries that are settled
	parts    []*series.Part
}

// newRequest returns the request for the items at the given indexes, or for all if indexes is nil.
func newRequest(t target, items []settling, indexes []int) request {
	r, n := request{target: t}, len(indexes)
	if indexes == nil {
		n = len(items)
	}
	if t.verdict == noVerdict {
		r.receipts = make([]store.Receipt, n)
	} else {
		r.items = make([]store.Settlement, n)
	}
	for i := range n {
		item := &items[i]
		if indexes != nil {
			item = &items[indexes[i]]
		}
		r.set(i, item)
	}
	return r
}

func (r *request) set(i int, item *settling) {
	if r.verdict == noVerdict {
		r.receipts[i] = item.held.Delivery.Receipt
		return
	}
	r.items[i] = item.settlement()
	if part := series.Of(item.held.Delivery); part != nil {
		if r.parts == nil {
			r.parts = make([]*series.Part, len(r.items))
		}
		r.parts[i] = part
	}
}

// ask makes the call.
func (r *request) ask(ctx context.Context, s store.Store) ([]store.Code, error) {
	if r.verdict == noVerdict {
		return s.Extend(ctx, r.partition, store.ExtendRequest{Receipts: r.receipts, Lease: r.lease, Start: r.start})
	}
	return series.Settle(ctx, s, r.partition, store.SettleRequest{Verdict: r.verdict, Items: r.items}, r.parts)
}

// validate checks one item, so that an invalid one does not fail the others in the same call.
func (i *settling) validate(t target) error {
	if t.verdict == noVerdict {
		return store.ExtendRequest{Receipts: []store.Receipt{i.held.Delivery.Receipt}, Lease: t.lease}.Validate()
	}
	return store.SettleRequest{Verdict: t.verdict, Items: []store.Settlement{i.settlement()}}.Validate()
}

func (i *settling) settlement() store.Settlement {
	v := i.verdict()
	return store.Settlement{Receipt: i.held.Delivery.Receipt, Delay: v.Delay, Failure: v.Failure, Next: v.Next, Messages: v.Sends.stored()}
}

// size returns the bytes of its settlement.
func (i *settling) size() int {
	if i.details == nil {
		return 0
	}
	item := i.settlement()
	return item.Size()
}

// noAnswer returns another error for the end of the call's own timeout, to distinguish it from
// the end of the caller's context.
func noAnswer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("no answer within %s: %w", callTimeout, store.ErrUnavailable)
	}
	return err
}
