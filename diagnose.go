package dueq

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// Finding is one thing that [Client.Diagnose] has found.
type Finding struct {
	Check  string // what was looked at, such as "persistence"
	Server string // its address, of a Cluster; "" for the only server
	Level  FindingLevel
	Found  string // what is the case
	Fix    string // what to change, and why; "" if nothing
}

// FindingLevel is how bad a [Finding] is: "ok", "warn" (messages can be lost or late under conditions
// that the fix prevents) or "fail" (something does not work, or messages can be lost at any time).
type FindingLevel string

// The levels of a [Finding].
const (
	FindingOK   FindingLevel = "ok"
	FindingWarn FindingLevel = "warn"
	FindingFail FindingLevel = "fail"
)

// diagnoser is a store that can judge the servers it uses.
type diagnoser interface {
	Diagnose(ctx context.Context) ([]store.Finding, error)
}

// Diagnose judges the settings and the state of a Redis, of a Cluster those of each master:
// version, role, eviction, persistence, memory, slots. It changes nothing. Other stores have no
// findings. Errors: [ErrUnavailable], [ErrClosed], the error of ctx. Costs an INFO of each server.
func (c *Client) Diagnose(ctx context.Context) ([]Finding, error) {
	if err := c.guard(ctx); err != nil {
		return nil, fail("diagnose", "", "", err)
	}
	s, ok := bare(c.store).(diagnoser)
	if !ok {
		return nil, nil
	}
	found, err := s.Diagnose(ctx)
	all := make([]Finding, len(found))
	for i, f := range found {
		all[i] = Finding{Check: f.Check, Server: f.Server, Level: [...]FindingLevel{FindingOK, FindingWarn, FindingFail}[f.Level], Found: f.Found, Fix: f.Fix}
	}
	return all, fail("diagnose", "", "", err)
}
