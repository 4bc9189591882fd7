package dueqhttp

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Defaults of the limits on requests.
const (
	defaultMaxInFlight = 1000
	defaultMaxWaiting  = 10_000
)

// errBusy means that the server has as many requests as it may have at a time.
var errBusy = errors.New("too many requests")

// gate limits how many requests of a kind are served at a time.
type gate struct {
	what string // the requests, for errors
	most int64
	in   atomic.Int64
}

// enter counts one more request, unless there are too many.
func (g *gate) enter() error {
	if g.in.Add(1) > g.most {
		g.in.Add(-1)
		return fmt.Errorf("%d requests %s: %w", g.most, g.what, errBusy)
	}
	return nil
}

// enter makes the request one of those that g counts, and no longer one of another gate.
func (c *call) enter(g *gate) error {
	if err := g.enter(); err != nil {
		return err
	}
	c.leave()
	c.in = g
	return nil
}

// leave ends what enter began.
func (c *call) leave() {
	if c.in != nil {
		c.in.in.Add(-1)
		c.in = nil
	}
}
