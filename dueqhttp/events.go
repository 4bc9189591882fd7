package dueqhttp

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Limits of a reader of events.
const (
	maxReaders     = 100 // of a handler
	maxPatterns    = 100 // of a reader
	heartbeatEvery = 15 * time.Second
	retryAfterMS   = 2000 // until a reader that has lost its connection comes back
)

// changed is an event: what has changed since the one before.
type changed struct {
	Queues  []rawState `json:"queues"`
	Removed []string   `json:"removed,omitempty"` // queues that are gone
}

// serveEvents sends the state of queues when it changes, as server-sent events. The first event
// has all queues, so a reader that comes back has missed nothing that it needs. What a slow reader
// could not be sent in time is not kept: the next event has the state as it is then.
func serveEvents(c *call) error {
	if err := c.onlyQuery("queue..."); err != nil {
		return err
	}
	selected, err := c.selected()
	if err != nil {
		return err
	}
	if err := c.enter(&c.waiting); err != nil {
		return err
	}
	p, err := c.feed.join(c.client, c.Logger)
	if err != nil {
		return err
	}
	defer c.feed.leave(p)
	ctx, end := context.WithCancel(c.r.Context())
	defer end()
	defer context.AfterFunc(c.Stopping, end)()
	first, err := p.after(ctx, nil)
	if err == nil {
		err = first.err
	}
	if err != nil {
		return err
	}
	header := c.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // a proxy would keep events back
	c.w.WriteHeader(http.StatusOK)
	r := &reader{call: c, selected: selected, sent: map[string]*namedState{}}
	_ = r.follow(ctx, p, first) // the reader has gone
	return nil
}

// selected returns which queues the caller asks for and may read.
func (c *call) selected() (func(queue string) bool, error) {
	patterns := c.r.URL.Query()["queue"]
	if len(patterns) > maxPatterns {
		return nil, outside("queue", len(patterns), "0 to %d, the number of patterns", maxPatterns)
	}
	for _, pattern := range patterns {
		if err := c.checkPattern(pattern); err != nil {
			return nil, err
		}
	}
	return func(queue string) bool {
		return c.allow(Read, queue) == nil && (len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, queue)
			return ok && err == nil
		}))
	}, nil
}

// checkPattern returns an error for the name of a queue that the caller may not read, and for what
// is neither a name nor a pattern.
func (c *call) checkPattern(pattern string) error {
	if strings.ContainsAny(pattern, `*?[\`) {
		if _, err := path.Match(pattern, ""); err != nil || len(pattern) > store.MaxQueueName {
			return unfit("queue", pattern, " is neither a name nor a pattern of queues")
		}
		return nil
	}
	if err := store.ValidateQueue(pattern); err != nil {
		return err
	}
	return c.allow(Read, pattern)
}

// reader is one caller that gets events.
type reader struct {
	*call
	selected func(queue string) bool
	sent     map[string]*namedState // the state of each queue that the reader knows
	failed   bool                   // it knows that the store does not answer
	sentAt   time.Time              // of the last event or comment
}

// follow sends events until ctx ends or the reader is gone.
func (r *reader) follow(ctx context.Context, p *poller, last *snapshot) error {
	if err := r.send(fmt.Sprintf("retry: %d\n", retryAfterMS)); err != nil {
		return err
	}
	if err := r.event("snapshot", r.difference(last)); err != nil {
		return err
	}
	for {
		next, err := p.within(ctx, last, time.Until(r.sentAt.Add(heartbeatEvery)))
		switch {
		case err != nil:
			return nil //nolint:nilerr // the server stops, or the reader has gone
		case next == nil:
			err = r.send(": heartbeat\n\n")
		default:
			last = next
			err = r.report(next)
		}
		if err != nil {
			return err
		}
	}
}

// report sends what has changed, if anything has.
func (r *reader) report(s *snapshot) error {
	if s.err != nil {
		if r.failed {
			return nil
		}
		r.failed = true
		return r.event("problem", newProblem(s.err))
	}
	change := r.difference(s)
	if len(change.Queues)+len(change.Removed) == 0 && !r.failed {
		return nil
	}
	r.failed = false
	return r.event("change", change)
}

// difference returns what the reader does not know yet, and notes that it does now.
func (r *reader) difference(s *snapshot) changed {
	change := changed{Queues: []rawState{}}
	there := make(map[string]bool, len(r.sent))
	for i := range s.queues {
		q := &s.queues[i]
		if !r.selected(q.name) {
			continue
		}
		there[q.name] = true
		if known := r.sent[q.name]; known == nil || !q.same(known) {
			change.Queues = append(change.Queues, q.state)
			r.sent[q.name] = q
		}
	}
	for name := range r.sent {
		if !there[name] {
			change.Removed = append(change.Removed, name)
			delete(r.sent, name)
		}
	}
	slices.Sort(change.Removed)
	return change
}

// event sends an event.
func (r *reader) event(name string, data any) error {
	encoded, err := encode(data)
	if err != nil {
		return err
	}
	return r.send("event: " + name + "\ndata: " + string(encoded) + "\n") // encoded is a line
}

// send writes a text. A reader that does not take it in time is dropped.
func (r *reader) send(text string) error {
	r.sentAt = time.Now()
	control := http.NewResponseController(r.w)
	_ = control.SetWriteDeadline(time.Now().Add(transferTimeout)) // some writers have no deadlines
	if _, err := r.w.Write([]byte(text)); err != nil {
		return err
	}
	return control.Flush()
}
