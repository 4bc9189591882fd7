package receiver

import (
	"context"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// start records the start of the deliveries for which the store has to know (see
// [store.Suspicion]): what is returned to the caller may be worked on at once. It returns
// all but those that the store did not confirm, which it releases; and an error if that
// leaves none.
func (r *Receiver) start(ctx context.Context, p store.Partition, lease int64, all []store.Delivery) ([]store.Delivery, error) {
	request := store.ExtendRequest{Lease: lease, Start: true}
	for i := range all {
		if all[i].NeedsStart() {
			request.Receipts = append(request.Receipts, all[i].Receipt)
		}
	}
	if len(request.Receipts) == 0 {
		return all, nil
	}
	codes, err := r.store.Extend(ctx, p, request)
	refused := map[store.Receipt]bool{}
	for i, receipt := range request.Receipts {
		if err != nil || codes[i] != store.CodeOK {
			refused[receipt] = true
		}
	}
	isRefused := func(d store.Delivery) bool { return refused[d.Receipt] }
	started := slices.DeleteFunc(slices.Clone(all), isRefused)
	// What cannot be released comes back with the end of its lease.
	_ = r.release(ctx, p, slices.DeleteFunc(all, func(d store.Delivery) bool { return !isRefused(d) }))
	if len(started) > 0 {
		return started, nil
	}
	return nil, err
}
