// Package producer pushes messages so that a repeated push stores nothing twice.
package producer

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/dueq-dev/dueq/internal/batch"
	"github.com/dueq-dev/dueq/store"
)

// Lanes is how many pushes of one producer may be under way at a time.
const Lanes = 16

// Producer pushes messages over a bounded set of lanes. A lane is a name and a number
// that grows with every push; a partition remembers the last number of each name with
// its results. So a lane has one push under way at a time, and one that has carried a
// push of unknown outcome is set aside with it, to be able to repeat it.
type Producer struct {
	store store.Store
	name  string
	slots chan struct{} // a token for every push under way

	mu      sync.Mutex
	lines   map[store.Partition]*line
	free    []*lane // a stack: a producer that is not busy uses few names
	made    int
	unknown []*push // oldest first
}

type lane struct {
	name   string
	number uint64
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
	return &Producer{store: s, name: name, slots: make(chan struct{}, Lanes), lines: map[store.Partition]*line{}}
}

// Send stores a message that is valid, together with others that are being sent to the
// same partition. It returns when ctx ends; that of the others is nothing to it.
func (p *Producer) Send(ctx context.Context, to store.Partition, m store.Message) Outcome {
	o, fate := p.line(to).Do(ctx, m)
	switch fate {
	case batch.Withdrawn:
		return Outcome{Err: notSent(ctx)}
	case batch.Left:
		return Outcome{Err: ctx.Err()}
	default:
		return o
	}
}

func (p *Producer) line(to store.Partition) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[to]
	if l == nil {
		l = &line{
			MaxItems: store.MaxBatch, MaxBytes: store.MaxBatchBytes, Size: (*store.Message).Size,
			Root: context.WithoutCancel,
			Call: func(ctx context.Context, messages []store.Message) []Outcome {
				results, err := p.Push(ctx, to, messages)
				return outcomes(len(messages), results, err)
			},
		}
		p.lines[to] = l
	}
	return l
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
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	defer p.leave()
	l := p.take()
	l.number++
	results, err := p.store.Push(ctx, to, store.PushRequest{Producer: l.name, Number: l.number, Messages: messages})
	if err != nil && !Definite(err) {
		p.setAside(l, to, messages)
		return nil, err
	}
	p.give(l)
	return results, err
}

// enter waits until few enough pushes are under way.
func (p *Producer) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return notSent(ctx)
	}
}

func (p *Producer) leave() { <-p.slots }

// notSent is the error of a message whose sender left before it was on its way.
func notSent(ctx context.Context) error {
	return notSentError{fmt.Errorf("not sent: %w", ctx.Err())}
}

type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }

func (p *Producer) take() *lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		l := p.free[n-1]
		p.free = p.free[:n-1]
		return l
	}
	p.made++
	return &lane{name: p.name + "-" + strconv.Itoa(p.made)}
}

func (p *Producer) give(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, l)
}
