package redisstore

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// lines is a log that several goroutines may write to.
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

func TestWatch_SubscribesAgainAfterADisconnect(t *testing.T) {
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
	r.want("after a cut", []store.EventKind{(<-events).Kind, (<-events).Kind}, []store.EventKind{store.EventGap, store.EventResync})
	server.Restart(t)
	r.want("after a restart", []store.EventKind{(<-events).Kind, (<-events).Kind}, []store.EventKind{store.EventGap, store.EventResync})
	r.must(r.Notify(ctx, "q", store.Event{Kind: store.EventHelp, Partition: 5, Helpers: 3}))
	r.want("a call for help", <-events, store.Event{Kind: store.EventHelp, Partition: 5, Helpers: 3})
	cancel()
	r.must(<-done)
}

func TestClose_EndsWatch(t *testing.T) {
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

// A user may use the keys and not the channel: sends and claims work, and Watch logs once why it
// gets no events.
func TestWatch_WithoutPermissionForTheChannel(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := newRig(t, server.Client(t))
	admin.must(admin.rdb.Do(t.Context(), "ACL", "SETUSER", "dueq", "on", ">x", "~*", "resetchannels", "+@all").Err())
	options := server.Options()
	options.Username, options.Password = "dueq", "x"
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	log := &lines{}
	r := newRigWith(t, rdb, Config{Prefix: "x", Logger: log.logger()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx, "q", func(store.Event) {}) }()

	everything(r) // scripts that publish are refused that, and succeed
	for !strings.Contains(log.String(), "refuses the subscription") {
		runtime.Gosched()
	}
	admin.want("subscriptions", denials(admin), 1)
	cancel()
	r.must(<-done)
	if n := strings.Count(log.String(), "x:{q}:events"); n != 1 {
		t.Errorf("the channel is in %d lines of the log, want 1:\n%s", n, log)
	}
}

// denials returns how often a subscription was refused. Without a pause between tries there would be
// thousands while the test runs.
func denials(r *rig) int {
	r.t.Helper()
	info := infoFields(r.rdb.Info(r.ctx(), "commandstats").Val())
	calls := strings.Split(info["cmdstat_subscribe"], "rejected_calls=")
	n, _, _ := strings.Cut(calls[len(calls)-1], ",")
	refused, _ := strconv.Atoi(n) // none before the first
	return refused
}
