package consumer

import (
	"context"
	"log/slog"
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

// lapse ends the work on deliveries whose leases could run out soon: extending them
// has failed for too long, or they are not to be extended any more. It goes by the
// local monotonic clock, counted from before the call that began the lease, so it can
// only be early.
type lapse struct {
	config   Config
	held     *holdings
	gates    []*gate // of the partitions
	places   *capacity
	outcomes *outcomes

	punctual int // looks in a row that were not late
}

func newLapse(w *work) *lapse {
	return &lapse{config: w.config, held: w.held, gates: w.gates, places: w.capacity, outcomes: w.settler.outcomes, punctual: calm}
}

// Run looks after leases until ctx ends.
func (l *lapse) Run(ctx context.Context) {
	ticker := time.NewTicker(l.config.lookEvery())
	defer ticker.Stop()
	for {
		select {
		case due := <-ticker.C:
			l.judgeLoad(time.Since(due))
			l.endLapsing()
		case <-ctx.Done():
			return
		}
	}
}

// calm is how many looks in a row have to be punctual before more handlers are run.
const calm = 10

// judgeLoad has fewer handlers run at a time when looks come late, for extensions then do,
// too; and more again after enough looks that do not. The first late look in a while
// changes nothing: the process may have been suspended.
func (l *lapse) judgeLoad(late time.Duration) {
	if late > l.config.Lease/6 {
		if l.punctual < calm {
			l.places.starved()
		}
		l.punctual = 0
		return
	}
	l.punctual++
	if l.punctual%calm == 0 {
		l.places.unstarved()
	}
}

// endLapsing gives up what is within the margin. A verdict on such a delivery is still
// tried, and succeeds if no claim has put the message back; so claims that are under way
// are given up.
func (l *lapse) endLapsing() {
	now := time.Now()
	for _, h := range l.held.all() {
		if h.remaining(now) > l.config.margin() {
			continue
		}
		if _, wanted := h.wanted(now, l.config.overtime()); wanted {
			l.gates[h.Partition.Index].interrupt()
		}
		if phase, cause := h.state(); phase == open && cause == nil {
			l.outcomes.lapsing.log(func() []any { return attributes(h, slog.Duration("held", now.Sub(h.claim.began))) })
			h.stop(store.ErrLeaseLost)
		}
	}
}
