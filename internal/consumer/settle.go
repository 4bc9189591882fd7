package consumer

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/internal/coalesce"
	"github.com/dueq-dev/dueq/store"
)

// settler reports the verdicts on the deliveries of a consumer to the store. It retries until the
// store has answered, for as long as the verdict can succeed.
type settler struct {
	*calls
	log      *slog.Logger
	outcomes *outcomes
	capacity *capacity
	lease    time.Duration
	overtime time.Duration              // for how long a verdict is retried after the end of the lease
	hedge    time.Duration              // the time after which a call is made a second time while the first is in flight
	hedges   sync.WaitGroup             // the second calls in flight
	life     context.Context            // its end ends all retries
	over     func([]settling)           // called with deliveries of a partition whose settling, begun by start, is over
	failed   func(*Held, error) Verdict // on a delivery whose verdict the store refused
}

func newSettler(c *Config) *settler {
	s := &settler{
		log: c.Log, outcomes: newOutcomes(c), capacity: newCapacity(c),
		lease: c.Lease, overtime: c.overtime(), hedge: min(c.Lease/3, callTimeout),
	}
	s.calls = newCalls(c.Store, s.insistently)
	return s
}

// insistently returns how a consumer settles: with retries.
func (s *settler) insistently(t target) coalesce.Config[settling, settlement] {
	watches := sync.Pool{New: func() any {
		return &overdue{note: func(late bool) { s.capacity.settleLate(t.partition.Index, late) }}
	}}
	return coalesce.Config[settling, settlement]{
		StallAfter: lendAfter,
		Context:    func(context.Context) context.Context { return s.life },
		Call: func(ctx context.Context, items []settling) []settlement {
			late := watches.Get().(*overdue)
			late.begin()
			defer func() {
				late.end()
				watches.Put(late)
			}()
			return s.insist(ctx, t, items, late)
		},
		Done: func(items []settling, said []settlement) { s.conclude(t.verdict, items, said) },
	}
}

// settle reports one verdict, retrying until it is too late for that (see dropLate). After
// ErrLeaseLost and ErrCancelled, too, the delivery is settled.
func (s *settler) settle(ctx context.Context, h *Held, v Verdict) error {
	h.reporting.Lock()
	defer h.reporting.Unlock()
	t, item := target{partition: h.Partition, verdict: v.Verdict}, newSettling(h, v)
	item.handled = true
	if err := item.validate(t); err != nil {
		return err
	}
	h.setPhase(underWay)
	said := s.do(ctx, t, &item)
	v.Sends.done(said.code, said.err)
	err := s.note(h, v.Verdict, said)
	if said.err == nil {
		s.outcomes.report(item.outcome(v.Verdict, said.code, err))
	}
	return err
}

// start is settle for callers that do not wait: over is called at the end. The delivery must be
// underWay already.
func (s *settler) start(t target, item settling) { s.coalescer(t).Start(item) }

// startAll is start for several deliveries of a partition. The caller must not use items any
// more.
func (s *settler) startAll(t target, items []settling) { s.coalescer(t).StartAll(items) }

// conclude ends the settling that start began. It changes items and keeps their order. A delivery
// whose verdict the store refused is still held, and counts as failed.
func (s *settler) conclude(v store.Verdict, items []settling, said []settlement) {
	over := items[:0]
	var refused []verdicts
	for i, item := range items {
		item.verdict().Sends.done(said[i].code, said[i].err)
		if code := said[i].code; said[i].err == nil && code.Refuses() {
			err := code.Err()
			failed := s.failed(item.held, err)
			again := newSettling(item.held, failed)
			again.handled, again.result, again.took = item.handled, err, item.took
			refused = add(refused, target{partition: item.held.Partition, verdict: failed.Verdict}, again, len(items)-i)
			continue
		}
		err := s.note(item.held, v, said[i])
		if err != nil || v != store.Ack || s.outcomes.observe != nil { // otherwise there is nothing to report
			s.outcomes.report(item.outcome(v, said[i].code, err))
		}
		over = append(over, item)
	}
	for _, again := range refused {
		s.startAll(again.target, again.items)
	}
	if len(over) > 0 {
		s.over(over)
	}
}

// outcome returns the outcome of a verdict that the store has answered with code or err.
func (i settling) outcome(v store.Verdict, code store.Code, err error) Outcome {
	verdict := i.verdict()
	verdict.Verdict = v
	return Outcome{
		Held: i.held, Handled: i.handled, Verdict: verdict, Result: i.result, Took: i.took,
		Dead: err == nil && (code == store.CodeDead || v == store.Reject && code == store.CodeOK), Err: err,
	}
}

// note sets the phase of a delivery by the answer of the store.
func (s *settler) note(h *Held, v store.Verdict, said settlement) error {
	if said.err != nil {
		h.setPhase(open)
		return said.err
	}
	if said.code.Refuses() {
		h.setPhase(open)
		return said.code.Err()
	}
	h.setPhase(settled)
	return v.Err(said.code)
}

// insist repeats a call until its outcome is known, ctx ends, or it is too late for all items.
// Items for which it is too late are left out of the next try.
func (s *settler) insist(ctx context.Context, t target, items []settling, late *overdue) []settlement {
	said := make([]settlement, len(items))
	var indexes []int // of the items that are still to be reported; nil: all
	for try := 0; ; try++ {
		err := s.try(ctx, t, items, indexes, said)
		if err == nil {
			return said
		}
		late.declare()
		if indexes == nil {
			indexes = allOf(items)
		}
		for _, i := range indexes {
			said[i].err = err
		}
		if hopeless(err) || errors.Is(err, store.ErrCorrupt) {
			return said
		}
		left := s.dropLate(t.verdict, items, &indexes)
		if len(indexes) == 0 {
			return said
		}
		pause(ctx, min(retryDelay(try), left))
		if ctx.Err() != nil {
			return said
		}
	}
}

// try makes the call once, or twice if the first takes long.
func (s *settler) try(ctx context.Context, t target, items []settling, indexes []int, said []settlement) error {
	codes, err := s.hedged(ctx, newRequest(t, items, indexes))
	if err != nil && ctx.Err() == nil {
		err = noAnswer(err)
	}
	if err != nil {
		return err
	}
	for n, code := range codes {
		i := n
		if indexes != nil {
			i = indexes[n]
		}
		said[i] = settlement{code: code}
	}
	return nil
}

// allOf returns the indexes of all items.
func allOf(items []settling) []int {
	all := make([]int, len(items))
	for i := range all {
		all[i] = i
	}
	return all
}

// hedged makes a call and, when it has taken a third of the lease, the same call a second time:
// the reply of the first may be stalled, and the leases must not run out because of that. The
// first success counts.
func (s *settler) hedged(ctx context.Context, r request) ([]store.Code, error) {
	ctx, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	var second atomic.Pointer[[]store.Code]
	s.hedges.Add(1)
	timer := time.AfterFunc(s.hedge, func() {
		defer s.hedges.Done()
		if codes, err := r.ask(ctx, s.store); err == nil {
			second.Store(&codes)
			end()
		}
	})
	codes, err := r.ask(ctx, s.store)
	if timer.Stop() {
		s.hedges.Done()
	}
	if answer := second.Load(); err != nil && answer != nil {
		return *answer, nil
	}
	return codes, err
}

// dropLate removes the items for which it is too late from indexes, and returns the least time
// that one of the others has left. A delivery can be settled after its lease has run out, until a
// claim puts the message back. So a verdict is retried after the end of the lease: after an
// outage it may arrive before a claim. A start is not: no handler is started on such a lease.
func (s *settler) dropLate(v store.Verdict, items []settling, indexes *[]int) time.Duration {
	overtime := s.overtime
	if v == noVerdict {
		overtime = 0
	}
	now, left := time.Now(), time.Duration(math.MaxInt64)
	*indexes = slices.DeleteFunc(*indexes, func(i int) bool {
		remaining := items[i].held.remaining(now) + overtime
		if remaining > 0 {
			left = min(left, remaining)
		}
		return remaining <= 0
	})
	return left
}

// extend extends the lease of h for a handler that needs it for longer than automatic extension
// lasts.
func (s *settler) extend(ctx context.Context, h *Held, span int64) error {
	began := time.Now()
	said := once(ctx, s.store, target{partition: h.Partition, lease: span}, []settling{{held: h}})[0]
	if said.err != nil {
		return said.err
	}
	if said.code == store.CodeOK || said.code == store.CodeCancelled {
		h.extended(began.Add(time.Duration(span) * time.Millisecond))
	}
	return said.code.ExtendErr()
}

// giveBack releases deliveries of any partitions.
func (s *settler) giveBack(ctx context.Context, all []*Held) {
	sorted := map[store.Partition][]store.Receipt{}
	for _, h := range all {
		if phase, _ := h.state(); phase != settled {
			h.setPhase(settled)
			sorted[h.Partition] = append(sorted[h.Partition], h.Delivery.Receipt)
		}
	}
	for p, receipts := range sorted {
		if err := s.release(ctx, p, receipts); err != nil {
			s.log.Warn("dueq: could not release messages; they will be delivered again when their leases have run out",
				slog.String("queue", p.Queue), slog.Int("partition", p.Index), slog.Int("messages", len(receipts)), slog.Any("error", err))
		}
	}
}
