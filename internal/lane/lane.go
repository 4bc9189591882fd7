// Package lane gives names and numbers to calls that a store recognizes when they are
// repeated.
package lane

import (
	"strconv"
	"sync"
)

// Lane is a caller's name with the number of its last call. At most one call of a lane is in
// flight at a time, and each call that is not a repetition needs a higher number.
type Lane[S any] struct {
	Name   string
	Number uint64
	State  S // what the caller keeps of the lane's calls
}

// Pool has as many lanes as have been in use at the same time. The zero value is not usable.
type Pool[S any] struct {
	name string
	mu   sync.Mutex
	free []*Lane[S] // a stack, so that a caller with few calls uses few names
	made int
}

// NewPool returns a pool of lanes whose names begin with name.
func NewPool[S any](name string) *Pool[S] { return &Pool[S]{name: name} }

// Take returns a lane for the caller's exclusive use until Give.
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

// Give returns a lane to the pool.
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
