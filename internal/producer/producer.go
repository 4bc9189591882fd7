// Package producer pushes messages so that a repeated push stores nothing twice.
package producer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/internal/coalesce"
	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/internal/lane"
	"github.com/dueq-dev/dueq/store"
)

// Lanes is how many pushes of one producer to one partition may be under way at a time.
const Lanes = 16

// stallAfter is how long a push delays the next one to its partition. A server that can be
// reached answers much sooner, also under load, unless a connection is stalled.
const stallAfter = 100 * time.Millisecond

// idleAfter is after how long without a push what is kept of a partition is given back.
const idleAfter = 5 * time.Minute

// Producer pushes messages over a bounded set of lanes for each partition. A lane is a
// name and a number that grows with every push; a partition remembers the last number of
// each name with its results. So a lane has one push under way at a time, and one that
// has carried a push of unknown outcome is set aside with it, to be able to repeat it.
// Partitions share nothing that one of them could use up: they can be on different
// servers.
type Producer struct {
	store   store.Store
	name    string
	timeout time.Duration // for callers without a deadline
	late    error         // of a caller whose timeout is over

	destinations *idle.Map[store.Partition, *destination]
	made         atomic.Uint64 // destinations

	mu      sync.Mutex
	unknown []*push // oldest first
}

// destination is a partition that is sent to.
type destination struct {
	sends *coalescer
	slots chan struct{}    // a token for every push under way
	lanes *lane.Pool[none] // its own: partitions remember names apart from each other
}

// coalescer combines messages that are sent to one partition at the same time.
type coalescer = coalesce.Coalescer[store.Message, Outcome]

// Outcome is what became of one message.
type Outcome struct {
	Result store.PushResult
	Err    error
}

// none is what a producer keeps of the calls of its lanes.
type none = struct{}

// New returns a producer whose lanes are called after name. Callers of Send whose contexts
// have no deadline wait for the calls of others for timeout at most.
func New(s store.Store, name string, timeout time.Duration) *Producer {
	return &Producer{
		store: s, name: name, timeout: timeout, late: fmt.Errorf("no success for %s: %w", timeout, store.ErrUnavailable),
		destinations: idle.NewMap[store.Partition, *destination](idleAfter, nil),
	}
}

// Stop ends what looks after the memory of an idle producer.
func (p *Producer) Stop() { p.destinations.Stop() }

// Forget gives back what is kept of a queue that was deleted.
func (p *Producer) Forget(queue string) {
	p.destinations.Drop(func(to store.Partition) bool { return to.Queue == queue })
}

// Bound returns a context that ends after the producer's timeout with ErrUnavailable as its
// cause, or ctx itself if that has a deadline.
func (p *Producer) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, p.timeout, p.late)
}

// Send stores a message that is valid, together with others that are being sent to the
// same partition. It returns when ctx ends, or with ErrUnavailable after the timeout; the
// contexts of other callers do not affect it.
func (p *Producer) Send(ctx context.Context, to store.Partition, m *store.Message) Outcome {
	o, status := p.destination(to).sends.Do(ctx, m)
	switch status {
	case coalesce.NotCalled:
		return Outcome{Err: notSent(p.ended(ctx))}
	case coalesce.Abandoned:
		return Outcome{Err: p.ended(ctx)}
	default:
		o.Err = p.Explain(ctx, o.Err)
		return o
	}
}

// Explain returns err, or if a context of Bound has ended and err is only that, its cause.
func (p *Producer) Explain(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return p.ended(ctx)
	}
	return err
}

// ended returns why a caller stops waiting: the end of its context, or of the timeout.
func (p *Producer) ended(ctx context.Context) error {
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), store.ErrUnavailable) {
		return p.late
	}
	return ctx.Err()
}

func (p *Producer) destination(to store.Partition) *destination {
	return p.destinations.Get(to, p.newDestination)
}

// newDestination returns one whose lanes have names that no other has: the partition may
// remember those of one that was given back.
func (p *Producer) newDestination(to store.Partition) *destination {
	name := p.name + "." + strconv.FormatUint(p.made.Add(1), 36)
	d := &destination{lanes: lane.NewPool[none](name), slots: make(chan struct{}, Lanes)}
	d.sends = coalesce.New(coalesce.Config[store.Message, Outcome]{
		MaxItems: store.MaxBatch, MaxBytes: store.MaxBatchBytes, Size: (*store.Message).Size,
		Context: context.WithoutCancel, StallAfter: stallAfter, Timeout: p.timeout,
		Call: func(ctx context.Context, messages []store.Message) []Outcome {
			results, err := p.Push(ctx, to, messages)
			return outcomes(len(messages), results, err)
		},
	})
	return d
}

func outcomes(n int, results []store.PushResult, err error) []Outcome {
	all := make([]Outcome, n)
	for i := range all {
		all[i].Err = err
		if err == nil {
			all[i].Result = results[i]
		}
	}
	return all
}

// Push stores messages in one call, when a lane is free.
func (p *Producer) Push(ctx context.Context, to store.Partition, messages []store.Message) ([]store.PushResult, error) {
	d := p.destination(to)
	if err := p.enter(ctx, d); err != nil {
		return nil, err
	}
	defer d.leave()
	l := d.lanes.Take()
	l.Number++
	results, err := p.store.Push(ctx, to, store.PushRequest{Producer: l.Name, Number: l.Number, Messages: messages})
	if err != nil && !Definite(err) {
		p.setAside(l, to, messages)
		return nil, err
	}
	d.lanes.Give(l)
	return results, err
}

// enter waits until few enough pushes are under way.
func (p *Producer) enter(ctx context.Context, d *destination) error {
	select {
	case d.slots <- struct{}{}:
		return nil
	default:
	}
	bound, end := p.Bound(ctx)
	defer end()
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-bound.Done():
		return notSent(p.ended(ctx))
	}
}

func (d *destination) leave() { <-d.slots }

// notSent is the error of a message whose sender left before it was on its way.
func notSent(cause error) error { return notSentError{fmt.Errorf("not sent: %w", cause)} }

type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }
