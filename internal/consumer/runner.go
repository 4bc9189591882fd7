package consumer

import (
	"sync"
	"time"
)

// runner runs a function again and again, never twice at a time. While it sleeps there is no
// goroutine, so an idle consumer costs none for its roles.
type runner struct {
	run   func() time.Duration // returns how long to sleep; forever: until it is rung or armed
	ended func()               // called once, after the last run

	mu    sync.Mutex
	state runnerState
	timer *time.Timer // nil before the first sleep with an end
}

// forever is the span of a sleep that only ring, arm or end ends.
const forever = time.Duration(1<<63 - 1)

type runnerState int

const (
	dormant  runnerState = iota // it sleeps forever
	sleeping                    // the timer ends the sleep
	running
	rung // it runs, and does so again
	ending
	over
)

// newRunner returns a dormant runner, which must be ended.
func newRunner(run func() time.Duration, ended func()) *runner {
	return &runner{run: run, ended: ended}
}

// ring makes it run now or, if it is running, again. It does not block.
func (r *runner) ring() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.state {
	case dormant, sleeping:
		r.state = running
		go r.loop()
	case running:
		r.state = rung
	case rung, ending, over:
	}
}

// arm makes it run after d, if it is dormant or about to be.
func (r *runner) arm(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.state {
	case dormant:
		r.sleep(d)
	case running: // it may have looked before the caller's change
		r.state = rung
	case sleeping, rung, ending, over:
	}
}

// end makes the current run the last one.
func (r *runner) end() {
	if r.stop() {
		r.ended()
	}
}

// stop reports whether no run is to be waited for.
func (r *runner) stop() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	switch r.state {
	case dormant, sleeping:
		r.state = over
		return true
	case running, rung:
		r.state = ending
	case ending, over:
	}
	return false
}

// wake is called by the timer.
func (r *runner) wake() {
	r.mu.Lock()
	begins := r.state == sleeping // otherwise ring or end was faster than the timer
	if begins {
		r.state = running
	}
	r.mu.Unlock()
	if begins {
		r.loop()
	}
}

func (r *runner) loop() {
	next := rung
	for next == rung {
		next = r.after(r.run())
	}
	if next == over {
		r.ended()
	}
}

// after returns the state after a run that returned d: rung if there has to be another one at once.
func (r *runner) after(d time.Duration) runnerState {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state == ending:
		r.state = over
	case r.state == rung, d <= 0:
		r.state = running
		return rung
	case d == forever:
		r.state = dormant
	default:
		r.sleep(d)
	}
	return r.state
}

func (r *runner) sleep(d time.Duration) {
	r.state = sleeping
	if r.timer == nil {
		r.timer = time.AfterFunc(d, r.wake)
		return
	}
	r.timer.Reset(d)
}

// runners end together.
type runners struct {
	all     []*runner
	running sync.WaitGroup
}

// add returns a dormant runner that ends with the others.
func (g *runners) add(run func() time.Duration) *runner {
	g.running.Add(1)
	r := newRunner(run, g.running.Done)
	g.all = append(g.all, r)
	return r
}

// end ends all of them and waits for their last runs.
func (g *runners) end() {
	for _, r := range g.all {
		r.end()
	}
	g.running.Wait()
}
