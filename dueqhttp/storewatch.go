package dueqhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

// heartbeat is the time between two comments in a stream of events, by which each side notices
// that the other is gone.
const heartbeat = 10 * time.Second

// serveWatch sends the events of a queue until the caller hangs up, the server stops, or the store
// ends the watch.
func serveWatch(c *call) error {
	var r wire.Call[wire.None]
	if err := c.readUpTo(wire.MaxRequest, &r); err != nil {
		return err
	}
	if err := store.ValidateQueue(r.Queue); err != nil {
		return err
	}
	if err := c.enter(&c.waiting); err != nil {
		return err
	}
	ctx, end := context.WithCancel(c.r.Context())
	defer end()
	defer context.AfterFunc(c.Stopping, end)()
	stream := &eventStream{signal: make(chan struct{}, 1)}
	var watching sync.WaitGroup
	var caught panics
	watching.Go(func() {
		defer end()
		defer caught.catch()
		_ = c.client.Store().Watch(ctx, r.Queue, stream.add) // the caller watches again
	})
	c.w.Header().Set("Content-Type", wire.EventStream)
	c.w.WriteHeader(http.StatusOK)
	c.sendEvents(ctx, stream)
	end()
	watching.Wait()
	caught.raise()
	return nil
}

// sendEvents writes events until ctx ends, or the caller does not take them.
func (c *call) sendEvents(ctx context.Context, stream *eventStream) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if c.sendPart([]byte(":\n\n")) != nil { // with the header, at once
		return
	}
	for {
		part := []byte(":\n\n")
		select {
		case <-ctx.Done():
			return
		case <-stream.signal:
			part = stream.take()
		case <-beat.C:
		}
		if c.sendPart(part) != nil {
			return
		}
	}
}

// sendPart writes a part of an answer that has no end.
func (c *call) sendPart(part []byte) error {
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(transferTimeout)) // some writers have no deadlines
	if _, err := c.w.Write(part); err != nil {
		return err
	}
	return control.Flush()
}

// maxPending bounds the events that are kept for a caller that is slow.
const maxPending = 1024

// eventStream keeps events until they are written, so that the store never waits for a caller.
type eventStream struct {
	signal  chan struct{}
	mu      sync.Mutex
	pending []store.Event
}

// add adds an event. If there are too many, the caller is notified that it has missed some.
func (s *eventStream) add(e store.Event) {
	s.mu.Lock()
	if len(s.pending) == maxPending {
		s.pending, e = s.pending[:0], store.Event{Kind: store.EventResync}
	}
	s.pending = append(s.pending, e)
	s.mu.Unlock()
	select {
	case s.signal <- struct{}{}:
	default: // it has not been received yet
	}
}

// take returns all pending events as they are sent.
func (s *eventStream) take() []byte {
	s.mu.Lock()
	events := s.pending
	s.pending = nil
	s.mu.Unlock()
	var part []byte
	for _, e := range events {
		encoded, err := json.Marshal(e)
		if err != nil { // cannot happen: it has names and numbers
			continue
		}
		part = append(append(append(part, wire.EventPrefix...), encoded...), "\n\n"...)
	}
	return part
}
