// Package producer pushes messages so that a repeated push stores nothing twice.
package producer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/batch"
	"github.com/dueq-dev/dueq/internal/lane"
	"github.com/dueq-dev/dueq/store"
)

// Lanes is how many pushes of one producer to one partition may be under way at a time.
const Lanes = 16

// patience is how long a push keeps others of its partition waiting. A server that is
// there answers much sooner, also under load, unless a connection is stalled.
const patience = 100 * time.Millisecond

// Producer pushes messages over a bounded set of lanes for each partition. A lane is a
// name and a number that grows with every push; a partition remembers the last number of
// each name with its results. So a lane has one push under way at a time, and one that
// has carried a push of unknown outcome is set aside with it, to be able to repeat it.
// Partitions share nothing that one of them could use up: they can be on different
// servers.
type Producer struct {
	store store.Store
	name  string

	mu           sync.Mutex
	destinations map[store.Partition]*destination
	unknown      []*push // oldest first
}

// destination is a partition that is sent to.
type destination struct {
	line  line
	slots chan struct{} // a token for every push under way
	lanes *lane.Pool    // its own: partitions remember names apart from each other
}

// line joins messages that are sent to one partition at the same time.
type line = batch.Line[store.Message, Outcome]

// Outcome is what became of one message.
type Outcome struct {
	Result store.PushResult
	Err    error
}

// New returns a producer whose lanes are called after name.
func New(s store.Store, name string) *Producer {
	return &Producer{store: s, name: name, destinations: map[store.Partition]*destination{}}
}

// Send stores a message that is valid, together with others that are being sent to the
// same partition. It returns when ctx ends; the contexts of other callers do not affect it.
func (p *Producer) Send(ctx context.Context, to store.Partition, m store.Message) Outcome {
	o, fate := p.destination(to).line.Do(ctx, m)
	switch fate {
	case batch.Withdrawn:
		return Outcome{Err: notSent(ctx)}
	case batch.Left:
		return Outcome{Err: ctx.Err()}
	default:
		return o
	}
}

func (p *Producer) destination(to store.Partition) *destination {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.destinations[to]
	if d == nil {
		d = &destination{lanes: lane.NewPool(p.name), slots: make(chan struct{}, Lanes)}
		d.line.MaxItems, d.line.MaxBytes, d.line.Size = store.MaxBatch, store.MaxBatchBytes, (*store.Message).Size
		d.line.Root, d.line.Patience = context.WithoutCancel, patience
		d.line.Call = func(ctx context.Context, messages []store.Message) []Outcome {
			results, err := p.Push(ctx, to, messages)
			return outcomes(len(messages), results, err)
		}
		p.destinations[to] = d
	}
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
	if err := d.enter(ctx); err != nil {
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
func (d *destination) enter(ctx context.Context) error {
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return notSent(ctx)
	}
}

func (d *destination) leave() { <-d.slots }

// notSent is the error of a message whose sender left before it was on its way.
func notSent(ctx context.Context) error {
	return notSentError{fmt.Errorf("not sent: %w", ctx.Err())}
}

type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }
