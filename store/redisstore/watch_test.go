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

// All watches share a connection, also those of one queue, and each hears its own queue only.
func TestWatch_OneConnectionForAllQueues(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newRig(t, server.Client(t))
	ctx, cancel := context.WithCancel(t.Context())
	queues := []string{"a", "b", "c", "b"}
	events := make([]chan store.Event, len(queues))
	var watching sync.WaitGroup
	for i, queue := range queues {
		events[i] = make(chan store.Event, 10)
		watching.Go(func() { _ = r.Watch(ctx, queue, func(e store.Event) { events[i] <- e }) })
		r.want("at first", <-events[i], store.Event{Kind: store.EventResync})
	}
	r.want("connections with subscriptions", subscribers(r), 1)
	for p, queue := range queues[:3] {
		r.must(r.Notify(r.ctx(), queue, store.Event{Kind: store.EventLeft, Partition: p}))
	}
	for i, p := range []int{0, 1, 2, 1} {
		r.want("event", <-events[i], store.Event{Kind: store.EventLeft, Partition: p})
		r.want("other events", len(events[i]), 0)
	}
	cancel()
	watching.Wait()
	for subscribers(r) > 0 { // the server notices the end of a connection a moment later
		runtime.Gosched()
	}
}

func subscribers(r *rig) int {
	r.t.Helper()
	clients, err := r.rdb.ClientList(r.ctx()).Result()
	r.must(err)
	return strings.Count(clients, "cmd=subscribe")
}

// A queue that is not watched any more is not subscribed to, and can be watched again.
func TestWatch_EndsWithItsContextAndBeginsAgain(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	other, stopOther := context.WithCancel(t.Context())
	first := make(chan store.Event, 10)
	var watching sync.WaitGroup
	watching.Go(func() { _ = r.Watch(other, "other", func(e store.Event) { first <- e }) })
	<-first
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		events, done := make(chan store.Event, 10), make(chan error, 1)
		go func() { done <- r.Watch(ctx, "q", func(e store.Event) { events <- e }) }()
		r.want("at first", <-events, store.Event{Kind: store.EventResync})
		r.must(r.Notify(r.ctx(), "q", store.Event{Kind: store.EventLeft}))
		r.want("event", <-events, store.Event{Kind: store.EventLeft})
		cancel()
		r.must(<-done)
	}
	for r.rdb.PubSubNumSub(r.ctx(), r.eventsChannel(r.p)).Val()[r.eventsChannel(r.p)] > 0 {
		runtime.Gosched()
	}
	stopOther()
	watching.Wait()
}

// A user who may subscribe to some of the channels hears these.
func TestWatch_RefusedChannelDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := newRig(t, server.Client(t))
	admin.must(admin.rdb.Do(t.Context(), "ACL", "SETUSER", "dueq", "on", ">x", "~*", "resetchannels", "&x:{good*", "+@all").Err())
	options := server.Options()
	options.Username, options.Password = "dueq", "x"
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	log := &lines{}
	r := newRigWith(t, rdb, Config{Prefix: "x", Logger: log.logger()})
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	events := make(chan store.Event, 100)
	for _, queue := range []string{"bad1", "good1", "bad2", "good2"} {
		watching.Go(func() { _ = r.Watch(ctx, queue, func(e store.Event) { events <- e }) })
	}
	for range 2 {
		r.want("subscribed", <-events, store.Event{Kind: store.EventResync})
	}
	for strings.Count(log.String(), "refuses the subscription") < 2 {
		runtime.Gosched()
	}
	r.must(r.Notify(r.ctx(), "good2", store.Event{Kind: store.EventLeft}))
	r.want("event", <-events, store.Event{Kind: store.EventLeft})
	cancel()
	watching.Wait()
	for _, queue := range []string{"queue=bad1", "queue=bad2"} {
		r.want("lines about "+queue, strings.Count(log.String(), queue), 1)
	}
	r.want("lines about the others", strings.Contains(log.String(), "good"), false)
}
