package storetest

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// Extend and Start are for tables of tests that do everything with a receipt: extend its lease, and
// record a start. They are no verdicts of the port: Store.Extend does both.
const (
	Extend store.Verdict = "extend"
	Start  store.Verdict = "start"
)

// lengthens reports whether a message stays leased after v, until a new time.
func lengthens(v store.Verdict) bool { return v == Extend || v == Start }

// Settle calls Store.Settle or, for [Extend] and [Start], Store.Extend. All items of those have the
// same Delay, the new length of the lease.
func Settle(ctx context.Context, s store.Store, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	if !lengthens(r.Verdict) {
		return s.Settle(ctx, p, r)
	}
	longer := store.ExtendRequest{Start: r.Verdict == Start}
	for _, item := range r.Items {
		longer.Receipts, longer.Lease = append(longer.Receipts, item.Receipt), item.Delay
	}
	return s.Extend(ctx, p, longer)
}
