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

// lanes is how many claims of one partition may be under way at a time.
const lanes = 16

// Receiver claims messages for callers that come and go, and settles them. It claims over a bounded set of lanes for each partition. A lane is a consumer's
// name with a number that grows; it has one claim under way at a time, and one whose
// outcome is unknown is repeated before the next. Partitions share nothing that one of
// them could use up: they can be on different servers.
type Receiver struct {
	store   store.Store
	name    string
	sources *idle.Map[store.Partition, *source]
	calls   *calls
	made    atomic.Uint64 // sources
}

// source is a partition that is claimed from.
type source struct {
	lanes   *lane.Pool[claims]
	slots   chan struct{} // a token for every claim under way
	suspect atomic.Bool   // the last claim has failed, or is late
}

// claims is what is kept of those of a lane.
type claims struct {
	most    int                 // deliveries that one has handed out
	unknown *store.ClaimRequest // the last one, if its outcome is unknown
}

// NewReceiver returns one whose lanes are called after name.
func NewReceiver(s store.Store, name string) *Receiver {
	return &Receiver{
		store: s, name: name,
		sources: idle.NewMap[store.Partition](idleAfter, (*source).repeats),
		calls:   newCalls(s, receiving(s)),
	}
}

// receiving is how the calls of a receiver are made: once, and not ended by one of the callers.
func receiving(s store.Store) func(target) coalesce.Config[settling, settlement] {
	return func(t target) coalesce.Config[settling, settlement] {
		return coalesce.Config[settling, settlement]{
			Context: context.WithoutCancel,
			Call:    func(ctx context.Context, items []settling) []settlement { return once(ctx, s, t, items) },
		}
	}
}

// Stop ends what looks after the memory of an idle receiver.
func (r *Receiver) Stop() {
	r.sources.Stop()
	r.calls.coalescers.Stop()
}

// Forget gives back what is kept of a queue that was deleted.
func (r *Receiver) Forget(queue string) {
	r.sources.Drop(func(p store.Partition) bool { return p.Queue == queue })
	r.calls.coalescers.Drop(func(t target) bool { return t.partition.Queue == queue })
}

func (r *Receiver) source(p store.Partition) *source { return r.sources.Get(p, r.newSource) }

// newSource returns one whose lanes have names that no other has: the partition may remember
// those of one that was given back.
func (r *Receiver) newSource(store.Partition) *source {
	name := r.name + "." + strconv.FormatUint(r.made.Add(1), 36)
	return &source{lanes: lane.NewPool[claims](name), slots: make(chan struct{}, lanes)}
}

// repeats reports whether a claim of unknown outcome is to be repeated, or it will take
// until the end of their leases before what it has handed out comes back.
func (s *source) repeats() bool {
	return len(s.lanes.Where(func(l *lane.Lane[claims]) bool { return l.State.unknown != nil })) > 0
}

// Claim leases what a request asks for, whose Consumer and Number it fills in. It returns
// when ctx ends, or with ErrUnavailable when it has waited for timeout (0: as long as
// ctx); the call that is under way then goes on in running, and what it hands out is
// released.
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
			_ = r.release(call, p, result.Deliveries) // else they come back with the end of their leases
		}
	})
	select {
	case a := <-answered:
		return a.result, a.err
	case <-ctx.Done():
		return store.ClaimResult{}, ctx.Err()
	}
}

// claim uses a lane. What an earlier call of unknown outcome has handed out, to a
// caller that has left, is given back first: its leases have been running since.
func (r *Receiver) claim(ctx context.Context, from *source, p store.Partition, request store.ClaimRequest) (store.ClaimResult, error) {
	l := from.lanes.Take()
	defer from.lanes.Give(l)
	if l.State.unknown != nil {
		result, err := r.store.Claim(ctx, p, *l.State.unknown)
		if err == nil {
			err = r.release(ctx, p, result.Deliveries)
		}
		if err != nil && !errors.Is(err, store.ErrRepartitioned) { // else what it handed out is lost
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

// Leave has the partitions drop the long answers that they keep for the receiver's lanes:
// it makes no more claims. One call for each partition, at the same time.
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

// settle reports one verdict to the store, once, together with others that are given at the
// same time. It returns when ctx ends; then the verdict may have been applied.
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

// SettleAll settles deliveries with one verdict and returns the error of each. What a receiver
// has claimed is settled in calls of its own, one for each partition and store.MaxBatch; what a
// consumer holds is left to the consumer, which combines what it is given at the same time.
func SettleAll(ctx context.Context, all []*Held, v Verdict) []error {
	errs, shares := make([]error, len(all)), map[share][]int{}
	var settling sync.WaitGroup
	for i, h := range all {
		if r, ok := h.holder.(*Receiver); ok {
			from := share{r, h.Partition}
			shares[from] = append(shares[from], i)
			continue
		}
		settling.Go(func() { errs[i] = h.Settle(ctx, v) })
	}
	for from, places := range shares {
		for chunk := range slices.Chunk(places, store.MaxBatch) {
			settling.Go(func() { from.settle(ctx, all, chunk, v, errs) })
		}
	}
	settling.Wait()
	return errs
}

// share is where deliveries have been received from.
type share struct {
	receiver  *Receiver
	partition store.Partition
}

// settle settles the deliveries at some places in one call.
func (s share) settle(ctx context.Context, all []*Held, places []int, v Verdict, errs []error) {
	items := make([]settling, len(places))
	for n, i := range places {
		items[n] = newSettling(all[i], v)
	}
	for n, said := range once(ctx, s.receiver.store, target{partition: s.partition, verdict: v.Verdict}, items) {
		if errs[places[n]] = said.err; said.err == nil {
			errs[places[n]] = v.Verdict.Err(said.code)
		}
	}
}
