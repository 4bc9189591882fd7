// Package receiver claims messages for callers that come and go, and settles them.
package receiver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/internal/lane"
	"github.com/dueq-dev/dueq/store"
)

const (
	// lanes is how many claims of one partition may be under way at a time.
	lanes = 16
	// callTimeout bounds a claim, which goes on when its caller has left.
	callTimeout = 5 * time.Second
	// idleAfter is after how long without a call what is kept of a partition is given back.
	idleAfter = 5 * time.Minute
)

// Receiver claims over a bounded set of lanes for each partition. A lane is a consumer's
// name with a number that grows; it has one claim under way at a time, and one whose
// outcome is unknown is repeated before the next. Partitions share nothing that one of
// them could use up: they can be on different servers.
type Receiver struct {
	store      store.Store
	name       string
	sources    *idle.Map[store.Partition, *source]
	coalescers *idle.Map[target, *coalescer]
	made       atomic.Uint64 // sources
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

// New returns a receiver whose lanes are called after name.
func New(s store.Store, name string) *Receiver {
	return &Receiver{
		store: s, name: name,
		sources:    idle.NewMap[store.Partition](idleAfter, (*source).repeats),
		coalescers: idle.NewMap[target, *coalescer](idleAfter, nil),
	}
}

// Stop ends what looks after the memory of an idle receiver.
func (r *Receiver) Stop() {
	r.sources.Stop()
	r.coalescers.Stop()
}

// Forget gives back what is kept of a queue that was deleted.
func (r *Receiver) Forget(queue string) {
	r.sources.Drop(func(p store.Partition) bool { return p.Queue == queue })
	r.coalescers.Drop(func(t target) bool { return t.partition.Queue == queue })
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
	if len(deliveries) == 0 {
		return nil
	}
	items := make([]store.Settlement, len(deliveries))
	for i := range deliveries {
		items[i].Receipt = deliveries[i].Receipt
	}
	_, err := r.store.Settle(ctx, p, store.SettleRequest{Verdict: store.Release, Items: items})
	return err
}

// noAnswer distinguishes the end of a call's own time from that of its caller's.
func noAnswer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("no answer within %s: %w", callTimeout, store.ErrUnavailable)
	}
	return err
}
