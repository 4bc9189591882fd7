package storetest

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// What else can be done with a receipt stands beside the verdicts in tables of tests: to extend
// the lease, and to record a start with it. They are no verdicts: Store.Extend does both.
const (
	Extend store.Verdict = "extend"
	Start  store.Verdict = "start"
)

// lengthens reports whether a verdict leaves a message leased, for a new span.
func lengthens(v store.Verdict) bool { return v == Extend || v == Start }

// Settle makes the call for a request whose verdict can be [Extend] or [Start]. All items have
// the same delay then: the new span.
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
