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

// Lanes is the maximum number of pushes of one producer to one partition that are in flight.
const Lanes = 16

// stallAfter is the longest time for which a push delays the next one to its partition. A
// reachable server answers much sooner, also under load, unless a connection is stalled.
const stallAfter = 100 * time.Millisecond

// idleAfter is the time without a push after which the state of a partition is dropped.
const idleAfter = 5 * time.Minute

// Producer pushes messages over a bounded set of lanes for each partition. A lane is a name and a
// number that grows with every push; a partition remembers the last number of each name with its
// results. So a lane has one push in flight at a time, and a lane whose push has an unknown
// outcome is set aside with the push, so that the push can be repeated. Partitions can be on
// different servers, so each has lanes and slots of its own: a partition that does not answer
// cannot use up those of others.
type Producer struct {
	store   store.Store
	name    string
	timeout time.Duration // for callers without a deadline
	late    error         // the error of a caller whose timeout has passed

	destinations *idle.Map[store.Partition, *destination]
	made         atomic.Uint64 // destinations

	life   context.Context // of the probes
	stop   context.CancelFunc
	probes sync.WaitGroup // calls that ask silent partitions

	mu      sync.Mutex
	unknown []*push // oldest first
}

// destination is the state of a partition to which messages are sent.
type destination struct {
	sends *coalescer
	slots chan struct{}    // has an element for each push in flight
	lanes *lane.Pool[none] // not shared: each partition remembers names for itself

	silence silence
}

// coalescer combines messages that are sent to one partition at the same time.
type coalescer = coalesce.Coalescer[store.Message, Outcome]

// Outcome is the result of sending one message.
type Outcome struct {
	Result store.PushResult
	Err    error
}

// none is the state that a producer keeps with a lane: nothing.
type none = struct{}

// New returns a producer. The names of its lanes begin with name. A Send whose context has no
// deadline waits for at most timeout.
func New(s store.Store, name string, timeout time.Duration) *Producer {
	life, stop := context.WithCancel(context.Background())
	return &Producer{
		store: s, name: name, timeout: timeout, life: life, stop: stop, late: fmt.Errorf("no success for %s: %w", timeout, store.ErrUnavailable),
		destinations: idle.NewMap[store.Partition, *destination](idleAfter, nil),
	}
}

// Stop stops the timer that drops the state of idle partitions, and ends the probes of silent ones.
func (p *Producer) Stop() {
	p.destinations.Stop()
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.probes.Wait()
}

// Forget drops the state of a queue that was deleted.
func (p *Producer) Forget(queue string) {
	p.destinations.Drop(func(to store.Partition) bool { return to.Queue == queue })
}

// Bound returns a context that ends after the producer's timeout with ErrUnavailable as its
// cause, or ctx unchanged if it has a deadline.
func (p *Producer) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, p.timeout, p.late)
}

// Send stores a valid message, in one call with others that are sent to the same partition at the
// same time. It returns when ctx ends, or with ErrUnavailable after the timeout; the contexts of
// other callers do not affect it.
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

// Explain returns err, except that an err which only reports the end of a context from Bound
// becomes the cause of that end.
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

// newDestination returns a destination whose lanes have new names: the partition may still
// remember the names of a destination that was dropped.
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

// Push waits for a free lane, then stores messages in one call.
func (p *Producer) Push(ctx context.Context, to store.Partition, messages []store.Message) ([]store.PushResult, error) {
	d := p.destination(to)
	if err := p.enter(ctx, d); err != nil {
		return nil, err
	}
	defer d.leave()
	l := d.lanes.Take()
	l.Number++
	d.silence.begin()
	results, err := p.store.Push(ctx, to, store.PushRequest{Producer: l.Name, Number: l.Number, Messages: messages})
	d.silence.end(err == nil || Definite(err))
	if err != nil && !Definite(err) {
		p.setAside(l, to, messages)
		return nil, err
	}
	d.lanes.Give(l)
	return results, err
}

// enter waits until fewer than Lanes pushes are in flight.
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

// notSent is the error of a message whose sender stopped waiting before the call was made.
func notSent(cause error) error { return notSentError{fmt.Errorf("not sent: %w", cause)} }

type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }
