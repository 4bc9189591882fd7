// Package producer pushes messages so that a repeated push stores nothing twice.
package producer

import (
	"context"
	"strconv"
	"sync"

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
	free    []*lane // a stack: a producer that is not busy uses few names
	made    int
	unknown []*push // oldest first
}

type lane struct {
	name   string
	number uint64
}

// New returns a producer whose lanes are called after name.
func New(s store.Store, name string) *Producer {
	return &Producer{store: s, name: name, slots: make(chan struct{}, Lanes)}
}

// Push stores messages in one call, when a lane is free.
func (p *Producer) Push(ctx context.Context, to store.Partition, messages []store.Message) ([]store.PushResult, error) {
	l := p.take()
	l.number++
	return p.send(ctx, &push{lane: l, to: to, messages: messages})
}

// send makes a call and gives the lane back, or sets it aside.
func (p *Producer) send(ctx context.Context, u *push) ([]store.PushResult, error) {
	results, err := p.call(ctx, u)
	if err != nil && !Definite(err) {
		p.setAside(u)
		return nil, err
	}
	p.give(u.lane)
	return results, err
}

func (p *Producer) call(ctx context.Context, u *push) ([]store.PushResult, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return p.store.Push(ctx, u.to, store.PushRequest{Producer: u.lane.name, Number: u.lane.number, Messages: u.messages})
}

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
