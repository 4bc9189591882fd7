package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/internal/coalesce"
	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/internal/lane"
	"github.com/dueq-dev/dueq/store"
)

// lanes is the maximum number of claims of one partition that are in flight.
const lanes = 16

// Receiver claims and settles messages for any number of callers. It claims over a bounded set of
// lanes for each partition. A lane is a consumer's name with a number that grows. It has one
// claim in flight at a time, and a claim of unknown outcome is repeated before the next.
// Partitions can be on different servers, so each has lanes and slots of its own: a partition
// that does not answer cannot use up those of others.
type Receiver struct {
	store   store.Store
	name    string
	sources *idle.Map[store.Partition, *source]
	calls   *calls
	made    atomic.Uint64 // sources
}

// source is the state of a partition from which messages are claimed.
type source struct {
	lanes   *lane.Pool[claims]
	slots   chan struct{} // has an element for each claim in flight
	suspect atomic.Bool   // the last claim has failed, or is late
}

// claims is the state of a lane.
type claims struct {
	most    int                 // the most deliveries of one claim
	unknown *store.ClaimRequest // the last one, if its outcome is unknown
}

// NewReceiver returns a receiver. The names of its lanes begin with name.
func NewReceiver(s store.Store, name string) *Receiver {
	return &Receiver{
		store: s, name: name,
		sources: idle.NewMap[store.Partition](idleAfter, (*source).repeats),
		calls:   newCalls(s, receiving(s)),
	}
}

// receiving returns how a receiver settles and extends: each call is made once, and the end of a
// caller's context does not end it.
func receiving(s store.Store) func(target) coalesce.Config[settling, settlement] {
	return func(t target) coalesce.Config[settling, settlement] {
		return coalesce.Config[settling, settlement]{
			Context: context.WithoutCancel,
			Call:    func(ctx context.Context, items []settling) []settlement { return once(ctx, s, t, items) },
		}
	}
}

// Held returns a delivery that was handed out before, by this receiver or another, so that it can
// be settled and extended.
func (r *Receiver) Held(p store.Partition, d *store.Delivery) *Held {
	return &Held{claimed: &claimed{Partition: p, holder: r}, Delivery: d}
}

// Stop stops the timers that drop the state of idle partitions.
func (r *Receiver) Stop() {
	r.sources.Stop()
	r.calls.coalescers.Stop()
}

// Forget drops the state of a queue that was deleted.
func (r *Receiver) Forget(queue string) {
	r.sources.Drop(func(p store.Partition) bool { return p.Queue == queue })
	r.calls.coalescers.Drop(func(t target) bool { return t.partition.Queue == queue })
}

func (r *Receiver) source(p store.Partition) *source { return r.sources.Get(p, r.newSource) }

// newSource returns a source whose lanes have new names: the partition may still remember the
// names of a source that was dropped.
func (r *Receiver) newSource(store.Partition) *source {
	name := r.name + "." + strconv.FormatUint(r.made.Add(1), 36)
	return &source{lanes: lane.NewPool[claims](name), slots: make(chan struct{}, lanes)}
}

// repeats reports whether a claim of unknown outcome is to be repeated. Without the repetition,
// messages that it has handed out are delivered again only when their leases have run out.
func (s *source) repeats() bool {
	return len(s.lanes.Where(func(l *lane.Lane[claims]) bool { return l.State.unknown != nil })) > 0
}

// Claim leases messages as the request says, and sets its Consumer and Number. It returns when
// ctx ends, or with ErrUnavailable after timeout (0: no timeout). The call that is in flight then
// continues in running, and the deliveries that it hands out are released.
func (r *Receiver) Claim(
	ctx context.Context, running *sync.WaitGroup, p store.Partition, request store.ClaimRequest, timeout time.Duration,
) (store.ClaimResult, error) {
	if timeout == 0 {
		return r.await(ctx, running, p, request)
	}
	short, end := context.WithTimeout(ctx, timeout)
	defer end()
	result, err := r.await(short, running, p, request)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		r.source(p).suspect.Store(true)
		err = fmt.Errorf("partition %d: no answer within %s: %w", p.Index, timeout, store.ErrUnavailable)
	}
	return result, err
}

// Suspect reports whether the last call about a partition has failed, or is late.
func (r *Receiver) Suspect(p store.Partition) bool { return r.source(p).suspect.Load() }

func (r *Receiver) await(
	ctx context.Context, running *sync.WaitGroup, p store.Partition, request store.ClaimRequest,
) (store.ClaimResult, error) {
	from := r.source(p)
	select {
	case from.slots <- struct{}{}:
	case <-ctx.Done():
		return store.ClaimResult{}, ctx.Err()
	}
	type answer struct {
		result store.ClaimResult
		err    error
	}
	answered := make(chan answer)
	running.Go(func() {
		call, end := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer end()
		result, err := r.claim(call, from, p, request)
		from.suspect.Store(err != nil)
		<-from.slots
		select {
		case answered <- answer{result, err}:
		case <-ctx.Done():
			_ = r.release(call, p, result.Deliveries) // if that fails, they are delivered again when their leases have run out
		}
	})
	select {
	case a := <-answered:
		return a.result, a.err
	case <-ctx.Done():
		return store.ClaimResult{}, ctx.Err()
	}
}

// claim makes a claim over a lane. First it releases the deliveries of an earlier claim of
// unknown outcome: part of their leases has passed, and the caller of that claim has returned.
func (r *Receiver) claim(ctx context.Context, from *source, p store.Partition, request store.ClaimRequest) (store.ClaimResult, error) {
	l := from.lanes.Take()
	defer from.lanes.Give(l)
	if l.State.unknown != nil {
		result, err := r.store.Claim(ctx, p, *l.State.unknown)
		if err == nil {
			err = r.release(ctx, p, result.Deliveries)
		}
		if err != nil && !errors.Is(err, store.ErrRepartitioned) { // ErrRepartitioned: the queue was made again, the deliveries are gone
			return store.ClaimResult{}, noAnswer(err)
		}
		l.State.unknown = nil
	}
	l.Number++
	request.Consumer, request.Number = l.Name, l.Number
	result, err := r.store.Claim(ctx, p, request)
	if err != nil {
		if !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrRepartitioned) {
			request.Again = true
			l.State.unknown = &request
		}
		return result, noAnswer(err)
	}
	l.State.most = max(l.State.most, len(result.Deliveries))
	result.Deliveries, err = r.start(ctx, p, request.Lease, result.Deliveries)
	return result, noAnswer(err)
}

func (r *Receiver) release(ctx context.Context, p store.Partition, deliveries []store.Delivery) error {
	receipts := make([]store.Receipt, len(deliveries))
	for i := range deliveries {
		receipts[i] = deliveries[i].Receipt
	}
	return r.calls.release(ctx, p, receipts)
}

// start records the start of those deliveries that need it (see [store.Suspicion]), because the
// caller may work on them at once. It releases those that the store did not confirm, and returns
// the others, or an error if there are none.
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
	// What cannot be released is delivered again when its lease has run out.
	_ = r.release(ctx, p, slices.DeleteFunc(all, func(d store.Delivery) bool { return !isRefused(d) }))
	if len(started) > 0 {
		return started, nil
	}
	return nil, err
}

// Leave makes the partitions drop the long answers that they keep for the receiver's lanes. The
// receiver must not make claims any more. It makes one call for each partition, at the same time.
func (r *Receiver) Leave(ctx context.Context) error {
	var calls sync.WaitGroup
	var mu sync.Mutex
	var failed error
	r.sources.All(func(p store.Partition, from *source) {
		names := from.longAnswered()
		if len(names) == 0 {
			return
		}
		calls.Go(func() {
			err := r.store.Leave(ctx, p, store.LeaveRequest{Consumers: names})
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	})
	calls.Wait()
	return failed
}

// longAnswered returns the names of lanes with long answers.
func (s *source) longAnswered() []string {
	lanes := s.lanes.Where(func(l *lane.Lane[claims]) bool { return l.State.most > store.ShortAnswer })
	names := make([]string, len(lanes))
	for i, l := range lanes {
		names[i] = l.Name
	}
	return names
}

// settle reports one verdict to the store, without retries, in one call with others that are
// reported at the same time. It returns when ctx ends; then the verdict may have been applied.
func (r *Receiver) settle(ctx context.Context, h *Held, v Verdict) error {
	t, item := target{partition: h.Partition, verdict: v.Verdict}, newSettling(h, v)
	if err := item.validate(t); err != nil {
		v.Sends.done(0, err)
		return err
	}
	said := r.calls.do(ctx, t, &item)
	v.Sends.done(said.code, said.err)
	if said.err != nil {
		return said.err
	}
	return v.Verdict.Err(said.code)
}

// extend makes a lease end span ms from now at the earliest, in one call with others that are
// extended by as much at the same time.
func (r *Receiver) extend(ctx context.Context, h *Held, span int64) error {
	t, item := target{partition: h.Partition, lease: span}, settling{held: h}
	if err := item.validate(t); err != nil {
		return err
	}
	said := r.calls.do(ctx, t, &item)
	if said.err != nil {
		return said.err
	}
	return said.code.ExtendErr()
}

// SettleAll settles deliveries with one verdict and returns the error of each. Deliveries of a
// receiver are settled in one call for each partition and store.MaxBatch. Those of a consumer are
// settled by the consumer, which combines concurrent verdicts.
func SettleAll(ctx context.Context, all []*Held, v Verdict) []error {
	errs, calls := make([]error, len(all)), map[callKey][]int{}
	var settling sync.WaitGroup
	for i, h := range all {
		if r, ok := h.holder.(*Receiver); ok {
			key := callKey{r, h.Partition}
			calls[key] = append(calls[key], i)
			continue
		}
		settling.Go(func() { errs[i] = h.Settle(ctx, v) })
	}
	for key, indexes := range calls {
		for chunk := range slices.Chunk(indexes, store.MaxBatch) {
			settling.Go(func() { key.settle(ctx, all, chunk, v, errs) })
		}
	}
	settling.Wait()
	return errs
}

// callKey identifies deliveries that can be settled in one call.
type callKey struct {
	receiver  *Receiver
	partition store.Partition
}

// settle settles the deliveries at the given indexes in one call.
func (k callKey) settle(ctx context.Context, all []*Held, indexes []int, v Verdict, errs []error) {
	items := make([]settling, len(indexes))
	for n, i := range indexes {
		items[n] = newSettling(all[i], v)
	}
	for n, said := range once(ctx, k.receiver.store, target{partition: k.partition, verdict: v.Verdict}, items) {
		if errs[indexes[n]] = said.err; said.err == nil {
			errs[indexes[n]] = v.Verdict.Err(said.code)
		}
	}
}
