// Package lane gives names and numbers to calls that a store recognizes when they are
// repeated.
package lane

import (
	"strconv"
	"sync"
)

// Lane is a caller's name with the number of its last call. It has one call under way at a
// time, and each call that is not a repetition needs a higher number.
type Lane[S any] struct {
	Name   string
	Number uint64
	State  S // what the caller keeps of the lane's calls
}

// Pool has as many lanes as were in use at a time. The zero value is not usable.
type Pool[S any] struct {
	name string
	mu   sync.Mutex
	free []*Lane[S] // a stack: a caller that is not busy uses few names
	made int
}

// NewPool returns a pool whose lanes are called after name.
func NewPool[S any](name string) *Pool[S] { return &Pool[S]{name: name} }

// Take returns a lane that nobody else uses until it is given back.
func (p *Pool[S]) Take() *Lane[S] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		l := p.free[n-1]
		p.free = p.free[:n-1]
		return l
	}
	p.made++
	return &Lane[S]{Name: p.name + "-" + strconv.Itoa(p.made)}
}

// Give takes a lane back.
func (p *Pool[S]) Give(l *Lane[S]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, l)
}

// Where returns the lanes that are not in use and for which match is true.
func (p *Pool[S]) Where(match func(*Lane[S]) bool) []*Lane[S] {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*Lane[S]
	for _, l := range p.free {
		if match(l) {
			found = append(found, l)
		}
	}
	return found
}
