package dueqhttp

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// Defaults of the limits on requests.
const (
	defaultMaxInFlight = 1000
	defaultMaxWaiting  = 10_000
)

// Codes of limits on requests.
const (
	codeRequests = "too_many_requests"
	codeReaders  = "too_many_readers"
)

// busyError means that the server has as many requests of a kind as it may have at a time.
type busyError struct {
	code string
	what string // the requests
	most int64
}

func (e *busyError) Error() string {
	return fmt.Sprintf("%d requests %s, which is the limit", e.most, e.what)
}

func (e *busyError) problem() problem {
	return problem{
		Status: http.StatusTooManyRequests, Code: e.code, Detail: e.Error(), Limit: fmt.Sprintf("%d requests at a time", e.most),
	}
}

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
		return &busyError{code: codeRequests, what: g.what, most: g.most}
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
