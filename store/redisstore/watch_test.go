package redisstore

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// lines is a log that may be written to from several goroutines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func TestWatchSubscribesAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newRig(t, server.Client(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, done := make(chan store.Event, 100), make(chan error)
	go func() { done <- r.Watch(ctx, "q", func(e store.Event) { events <- e }) }()
	r.want("at first", (<-events).Kind, store.EventResync)
	r.push(r.messages(1, 10)...)
	r.want("push", <-events, store.Event{Kind: store.EventWake})
	r.must(r.rdb.Do(r.ctx(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	r.want("after a cut", (<-events).Kind, store.EventResync)
	server.Restart(t)
	r.want("after a restart", (<-events).Kind, store.EventResync)
	cancel()
	r.must(<-done)
}

func TestCloseEndsAWatch(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	events, done := make(chan store.Event, 100), make(chan error)
	go func() { done <- r.Watch(t.Context(), "q", func(e store.Event) { events <- e }) }()
	<-events
	r.must(r.Close())
	if err := <-done; !errors.Is(err, store.ErrClosed) {
		t.Fatalf("watch of a closed store: %v", err)
	}
}
