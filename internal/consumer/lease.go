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

// startLeases prepares the roles that look after leases.
func (w *work) startLeases(life context.Context) {
	extend := &extend{w.config, w.outage, w.held, w.settler.outcomes}
	w.extend = w.tending.add(func() time.Duration { return extend.check(life) })
	w.lapse = w.tending.add(newLapse(w).check)
}

// watchLeases ensures that these roles run when deliveries are held.
func (w *work) watchLeases() {
	if w.config.AtMostOnce {
		return
	}
	w.extend.arm(w.config.extendEvery())
	w.lapse.arm(w.config.lookEvery())
}

// extend extends leases when a third of their span has passed, in one call per partition, also
// those of deliveries that wait for a worker. It checks twice in that time, so that a lease is
// extended before half of its span has passed.
type extend struct {
	config   *Config
	outage   *outage
	held     *holdings
	outcomes *outcomes
}

// check extends leases, and returns how long to sleep: forever when nothing is held.
func (e *extend) check(ctx context.Context) time.Duration {
	next := time.Now().Add(e.config.extendEvery())
	e.extendAll(ctx)
	if e.held.none() {
		return forever
	}
	return time.Until(next)
}

// extendAll extends the leases that are due for it. Partitions can be on different servers, so
// one that does not answer must not delay the others.
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
			e.outage.over(e.role(index)) // a partition without leases to extend has no outage for this role
			continue
		}
		calls.Go(func() { e.extendPartition(ctx, index, all) })
	}
	calls.Wait()
}

func (e *extend) role(index int) string { return "extend " + strconv.Itoa(index) }

// extendPartition extends the leases of one partition. Its timeout is short: a call that fails is
// repeated at the next check.
func (e *extend) extendPartition(ctx context.Context, index int, all []*Held) {
	ctx, end := context.WithTimeout(ctx, min(e.config.extendEvery(), callTimeout))
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

// lapse ends the work on deliveries whose leases may run out soon: extending them has failed for
// too long, or they are not to be extended any more. It uses the local monotonic clock and counts
// from before the call that began the lease, so it is never late, only early.
type lapse struct {
	config   *Config
	held     *holdings
	gates    []*gate // of the partitions
	capacity *capacity
	outcomes *outcomes

	punctual int       // checks in a row that were not late
	next     time.Time // when the next check is due; zero: it is the first one after a sleep without end
}

func newLapse(w *work) *lapse {
	return &lapse{config: w.config, held: w.held, gates: w.gates, capacity: w.capacity, outcomes: w.settler.outcomes, punctual: calm}
}

// check ends the work on deliveries, and returns how long to sleep: forever when nothing is held and
// no limit has to be raised again.
func (l *lapse) check() time.Duration {
	if !l.next.IsZero() {
		l.judgeLoad(time.Since(l.next))
	}
	l.endLapsing()
	if l.held.none() && !l.capacity.limited() {
		l.next = time.Time{}
		return forever
	}
	every := l.config.lookEvery()
	l.next = time.Now().Add(every)
	return every
}

// calm is how many checks in a row must be punctual before more handlers are run.
const calm = 10

// judgeLoad lowers the number of handlers that run at a time when checks are late, because
// extensions then are late, too. It raises the number again after enough punctual checks. The
// first late check after punctual ones changes nothing: the process may have been suspended.
func (l *lapse) judgeLoad(late time.Duration) {
	if late > l.config.Lease/6 {
		if l.punctual < calm {
			l.capacity.starved()
		}
		l.punctual = 0
		return
	}
	l.punctual++
	if l.punctual%calm == 0 {
		l.capacity.unstarved()
	}
}

// endLapsing ends the work on deliveries whose leases are within the margin. A verdict on such a
// delivery is still tried, and succeeds if no claim has put the message back. So claims in flight
// are cancelled.
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
			l.outcomes.lapsing.log(func() []any { return attributes(h, slog.Duration("held", now.Sub(h.began))) })
			h.stop(store.ErrLeaseLost)
		}
	}
}
