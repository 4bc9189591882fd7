package consumer

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// extend prolongs leases when a third of them has passed, in one call per partition,
// also of deliveries that wait for a worker. It looks twice as often as that, so that
// a lease is extended before half of it is gone.
type extend struct {
	config   Config
	outage   *outage
	held     *holdings
	outcomes *outcomes
}

// Run extends until ctx ends.
func (e *extend) Run(ctx context.Context) {
	ticker := time.NewTicker(e.period())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.extendAll(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (e *extend) period() time.Duration { return e.config.Lease / 6 }

// extendAll extends what needs it. Partitions can be on different servers, so one that
// does not answer must not keep the others waiting.
func (e *extend) extendAll(ctx context.Context) {
	now := time.Now()
	sorted := make([][]*Held, e.config.Partitions)
	for _, h := range e.held.all() {
		if h.extendable(now, e.config.Lease*2/3) {
			sorted[h.Partition.Index] = append(sorted[h.Partition.Index], h)
		}
	}
	var calls sync.WaitGroup
	for index, all := range sorted {
		if len(all) == 0 {
			e.outage.over(e.role(index)) // as far as it matters here
			continue
		}
		calls.Go(func() { e.extendPartition(ctx, index, all) })
	}
	calls.Wait()
}

func (e *extend) role(index int) string { return "extend " + strconv.Itoa(index) }

// extendPartition gives up soon: what fails is tried again at the next look.
func (e *extend) extendPartition(ctx context.Context, index int, all []*Held) {
	ctx, end := context.WithTimeout(ctx, min(e.period(), callTimeout))
	defer end()
	for chunk := range slices.Chunk(all, store.MaxBatch) {
		began := time.Now()
		codes, err := e.ask(ctx, index, chunk)
		if err != nil {
			e.outage.begin(e.role(index), err)
			return
		}
		for i, code := range codes {
			e.apply(chunk[i], code, began.Add(e.config.Lease))
		}
	}
	e.outage.over(e.role(index))
}

func (e *extend) ask(ctx context.Context, index int, all []*Held) ([]store.Code, error) {
	r := store.ExtendRequest{Receipts: make([]store.Receipt, len(all)), Lease: e.config.Lease.Milliseconds()}
	for i, h := range all {
		r.Receipts[i] = h.Delivery.Receipt
	}
	return e.config.Store.Extend(ctx, store.Partition{Queue: e.config.Queue, Index: index}, r)
}

func (e *extend) apply(h *Held, code store.Code, deadline time.Time) {
	switch code {
	case store.CodeOK:
		h.extended(deadline)
	case store.CodeCancelled:
		h.extended(deadline)
		h.stop(store.ErrCancelled)
	default:
		if h.lose() {
			e.outcomes.taken.log(func() []any { return attributes(h) })
		}
	}
}
