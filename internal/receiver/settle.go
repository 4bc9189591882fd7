package receiver

import (
	"context"

	"github.com/dueq-dev/dueq/internal/coalesce"
	"github.com/dueq-dev/dueq/internal/series"
	"github.com/dueq-dev/dueq/store"
)

// target is what a settling call can be about.
type target struct {
	partition store.Partition
	verdict   store.Verdict // "": the leases are extended
	lease     int64         // then
}

// coalescer combines verdicts on deliveries of one partition that are given at the same time.
type coalescer = coalesce.Coalescer[Item, settled]

// Item is the verdict's detail for one delivery.
type Item struct {
	store.Settlement
	Part *series.Part // nil unless the message recurs
}

// settled is what the store said of one of them.
type settled struct {
	code store.Code
	err  error
}

// Settle reports one verdict to the store, once, together with others that are given at the
// same time. It returns when ctx ends; then the verdict may have been applied.
func (r *Receiver) Settle(ctx context.Context, p store.Partition, v store.Verdict, item Item) (store.Code, error) {
	// What one caller got wrong must not fail the call for others.
	if err := (store.SettleRequest{Verdict: v, Items: []store.Settlement{item.Settlement}}).Validate(); err != nil {
		return 0, err
	}
	said, status := r.coalescer(target{partition: p, verdict: v}).Do(ctx, &item)
	if status != coalesce.Completed {
		return 0, ctx.Err()
	}
	return said.code, said.err
}

// SettleAll reports the same verdict on up to store.MaxBatch deliveries to the store, once.
func (r *Receiver) SettleAll(ctx context.Context, p store.Partition, v store.Verdict, items []Item) ([]store.Code, error) {
	request, parts := store.SettleRequest{Verdict: v, Items: make([]store.Settlement, len(items))}, []*series.Part(nil)
	for i := range items {
		request.Items[i] = items[i].Settlement
		if items[i].Part != nil && parts == nil {
			parts = make([]*series.Part, len(items))
		}
		if parts != nil {
			parts[i] = items[i].Part
		}
	}
	return series.Settle(ctx, r.store, p, request, parts)
}

func (r *Receiver) coalescer(t target) *coalescer { return r.coalescers.Get(t, r.newCoalescer) }

func (r *Receiver) newCoalescer(t target) *coalescer {
	return coalesce.New(coalesce.Config[Item, settled]{
		MaxItems: store.MaxBatch, MaxBytes: store.MaxBatchBytes,
		Size:    func(item *Item) int { return item.Size() },
		Context: context.WithoutCancel,
		Call:    func(ctx context.Context, items []Item) []settled { return r.settleItems(ctx, t, items) },
	})
}

// settleItems settles the items of a batch, each of which gets its own result.
func (r *Receiver) settleItems(ctx context.Context, t target, items []Item) []settled {
	var codes []store.Code
	var err error
	if t.verdict == "" {
		codes, err = r.extendAll(ctx, t, items)
	} else {
		codes, err = r.SettleAll(ctx, t.partition, t.verdict, items)
	}
	all := make([]settled, len(items))
	for i := range all {
		all[i].err = err
		if err == nil {
			all[i].code = codes[i]
		}
	}
	return all
}

// Extend makes the lease of a receipt end span ms from now at the earliest, in one call with
// others that are extended by as much at the same time.
func (r *Receiver) Extend(ctx context.Context, p store.Partition, receipt store.Receipt, span int64) error {
	item := Item{Settlement: store.Settlement{Receipt: receipt}}
	if err := (store.ExtendRequest{Receipts: []store.Receipt{receipt}, Lease: span}).Validate(); err != nil {
		return err
	}
	said, status := r.coalescer(target{partition: p, lease: span}).Do(ctx, &item)
	switch {
	case status != coalesce.Completed:
		return ctx.Err()
	case said.err != nil:
		return said.err
	}
	return said.code.ExtendErr()
}

func (r *Receiver) extendAll(ctx context.Context, t target, items []Item) ([]store.Code, error) {
	request := store.ExtendRequest{Receipts: make([]store.Receipt, len(items)), Lease: t.lease}
	for i := range items {
		request.Receipts[i] = items[i].Receipt
	}
	return r.store.Extend(ctx, t.partition, request)
}
