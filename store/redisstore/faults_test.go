package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

func TestScripts_AreLoadedAgainAfterAFlush(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	for range 3 {
		r.push(r.messages(3, 10)...)
		r.must(r.rdb.ScriptFlush(r.ctx()).Err())
		ds := r.claim(3)
		r.must(r.rdb.ScriptFlush(r.ctx()).Err())
		r.want("acked", r.settle(store.Ack, ds...), []store.Code{0, 0, 0})
		r.must(r.rdb.ScriptFlush(r.ctx()).Err())
	}
	r.want("acked", r.stats().Counters.Acked, 9)
	r.wantClean()
}

func TestPush_FullRedisRefusesAndDrains(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "noeviction")
	r := newRig(t, server.Client(t))
	partitions := 2
	_, err := r.Configure(r.ctx(), r.p.Queue, store.Change{Create: true, Partitions: &partitions})
	r.must(err)
	r.push(r.messages(1, 10)...)
	r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory", "8mb").Err())
	sent := 1
	for ; err == nil && sent < 10_000; sent += 100 {
		_, err = r.Push(r.ctx(), r.p, r.request(r.messages(100, 1000)))
	}
	sent -= 100
	if !errors.Is(err, store.ErrQueueFull) {
		t.Fatalf("push into a full Redis: %v, want ErrQueueFull", err)
	}
	r.want("sent", r.stats().Counters.Sent, sent)
	// A large push that was refused leaves memory for a small one. From here on there is none.
	r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory", "1mb").Err())
	r.want("an empty partition", errors.Is(pushInto(r, 1), store.ErrQueueFull), true)
	verdicts := []store.Verdict{store.Release, store.Nack, store.Reject, storetest.Extend, storetest.Start, store.Ack}
	for _, v := range verdicts {
		for i, code := range r.settle(v, r.claim(10)...) {
			r.want(fmt.Sprintf("%s %d", v, i), code, store.CodeOK)
		}
	}
	_, err = r.Cancel(r.ctx(), r.p, r.cancelRequest(store.Ref{ID: r.claim(1)[0].Receipt.ID}))
	r.must(err)
	paused := true
	_, err = r.Configure(r.ctx(), r.p.Queue, store.Change{Paused: &paused})
	r.must(err)
	paused = false
	_, err = r.Configure(r.ctx(), r.p.Queue, store.Change{Paused: &paused})
	r.must(err)
	for ds := r.claim(500); len(ds) > 0; ds = r.claim(500) {
		r.settle(store.Ack, ds...)
	}
	r.wantClean()
	r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory", "8mb").Err())
	r.push(r.messages(1, 10)...)
}

func pushInto(r *rig, index int) error {
	_, err := r.Push(r.ctx(), store.Partition{Queue: r.p.Queue, Index: index}, r.request(r.messages(1, 10)))
	return err
}

func TestPush_WaitsForReplicas(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, "--repl-diskless-sync-delay", "0")
	host, port, _ := net.SplitHostPort(master.Addr())
	config := Config{Prefix: redistest.Prefix(), Replicas: 1, ReplicaTimeout: 300 * time.Millisecond, Logger: quiet()}
	r := newRigWith(t, master.Client(t), config)
	request := r.request(r.messages(1, 10))
	_, err := r.Push(r.ctx(), r.p, request)
	r.want("without a replica", errors.Is(err, store.ErrNotReplicated), true)
	replica := redistest.Start(t, "--replicaof", host+" "+port)
	awaitReplicated(r, request)
	r.want("sent", r.stats().Counters.Sent, 1)
	r.must(r.rdb.ScriptFlush(r.ctx()).Err())
	awaitReplicated(r, r.request(r.messages(1, 10)))

	r.must(replica.Freeze())
	request = r.request(r.messages(1, 10))
	for range 2 {
		// Also the second time, though that writes nothing: WAIT waits for all earlier writes.
		_, err = r.Push(r.ctx(), r.p, request)
		r.want("frozen replica", errors.Is(err, store.ErrNotReplicated), true)
	}
	r.must(replica.Thaw())
	awaitReplicated(r, request)
	r.want("sent", r.stats().Counters.Sent, 3)
}

// awaitReplicated repeats a push, which waits 300 ms itself, until the replicas have it.
func awaitReplicated(r *rig, request store.PushRequest) {
	r.t.Helper()
	var err error
	for range 100 {
		if _, err = r.Push(r.ctx(), r.p, request); err == nil {
			return
		}
	}
	r.t.Fatal(err)
}

// TestStore_SurvivesKillOfTheServer needs appendfsync always: with everysec, Redis holds writes
// back while an fsync is under way, though it has answered them, and SIGKILL loses those.
func TestStore_SurvivesKillOfTheServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	r := newRig(t, server.Client(t))
	sent := int64(0)
	for range 3 {
		r.push(r.messages(10, 10)...)
		sent += 10
		server.Kill()
		request := r.request(r.messages(5, 10))
		done := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := r.Push(ctx, r.p, request)
			done <- err
		}()
		server.Restart(t)
		r.must(<-done)
		sent += 5
	}
	r.want("sent", r.stats().Counters.Sent, sent)
	r.want("acked", len(r.settle(store.Ack, r.claim(500)...)), sent)
	r.wantClean()
}

func TestPush_FlushedQueueIsCreatedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	r.push(r.messages(1, 10)...)
	most, paused := int64(5), true
	_, err := r.Configure(r.ctx(), "q", store.Change{MaxMessages: &most, Paused: &paused})
	r.must(err)
	for _, kind := range []string{"side", "msg", "leased", "due", "dead", "calls"} {
		r.must(r.rdb.Del(r.ctx(), r.key(kind)).Err())
	}
	r.push(r.messages(3, 10)...)
	r.want("deliveries of a paused queue", len(r.claim(1)), 0)
	r.must(r.rdb.FlushAll(r.ctx()).Err())
	r.push(r.messages(3, 10)...)
	r.want("live", r.stats().Ready, 3)
	r.wantClean()
}

func TestCall_UnavailableUntilTheDeadline(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newRig(t, server.Client(t))
	r.push(r.messages(1, 10)...)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := r.Push(ctx, r.p, r.request(r.messages(1, 10)))
	var typed *store.Error
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &typed) {
		t.Fatalf("dead server: %v, want ErrUnavailable and the context's error", err)
	}
	r.want("queue", typed.Queue, "q")
}

func TestClose_LaterCallsReturnErrClosed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, err := Open("redis://"+server.Addr(), Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	rdb := s.rdb
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
		t.Fatalf("the client that the store owned: %v", err)
	}
	if _, err := s.Stats(t.Context(), ""); !errors.Is(err, store.ErrClosed) {
		t.Fatalf("stats of a closed store: %v", err)
	}
}

func TestNew_BadConfigIsInvalid(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]Config{
		"prefix": {Prefix: "a{b}"}, "replicas": {Replicas: -1}, "replica timeout": {ReplicaTimeout: time.Microsecond},
		"push timeout": {PushTimeout: -1},
	} {
		_, err := New(redistest.Shared(t).Client(t), c)
		var typed *store.Error
		if !errors.Is(err, store.ErrInvalid) || !errors.As(err, &typed) || typed.Field != field {
			t.Errorf("%+v: %v, want ErrInvalid of %s", c, err, field)
		}
	}
}

func TestOpen_WarnsOfTheServersSettings(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru", "--requirepass", "sesame")
	options := server.Options()
	options.Password = "sesame"
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	log := &lines{}
	r := newRigWith(t, rdb, Config{Prefix: "x", Logger: log.logger()})
	r.push(r.messages(1, 10)...)
	r.claim(1)
	for _, part := range []string{"maxmemory_policy=allkeys-lru", "CONFIG SET maxmemory-policy noeviction", "aof_enabled=0"} {
		if strings.Count(log.String(), part) != 1 {
			t.Errorf("want %q once in:\n%s", part, log)
		}
	}
	if strings.Contains(log.String(), "sesame") {
		t.Error("the password is in the log")
	}
}

func TestOpen_OldVersionsAreRecognized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{ // too old for one server, and for a Cluster
		"5.0.14": {true, true}, "6.0.16": {true, true}, "6.2.0": {false, true}, "7.0.15": {}, "8.1": {}, "": {}, "x.y": {},
	} {
		if got := [2]bool{before(text, oldestVersion(false)), before(text, oldestVersion(true))}; got != want {
			t.Errorf("%q is too old: %t, want %t", text, got, want)
		}
	}
}

// allow makes a user with the documented permissions, which begin after each of texts and end with
// the line.
func allow(t *testing.T, admin *redis.Client, texts ...string) {
	t.Helper()
	command := []any{"ACL", "SETUSER", "dueq"}
	for _, text := range texts {
		_, line, found := strings.Cut(renderDoc(t), text)
		if !found {
			t.Fatalf("docs/REDIS.md does not have %q", text)
		}
		line, _, _ = strings.Cut(line, "\n")
		for _, word := range strings.Fields(line) {
			command = append(command, word)
		}
	}
	if err := admin.Do(t.Context(), command...).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestDoc_DocumentedACLIsEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	allow(t, admin, "ACL SETUSER dueq ")
	options := server.Options()
	options.Username, options.Password = "dueq", "PASSWORD"
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	r := newRigWith(t, rdb, Config{Prefix: "dueq", Logger: quiet()})
	everything(r)
	r.must(r.Store.rdb.Publish(r.ctx(), r.eventsChannel(r.p), "wake 0").Err())
	denied, err := admin.Do(t.Context(), "ACL", "LOG").Slice()
	r.must(err)
	r.want("denied", denied, []any{})
}

// everything runs each operation on messages, so that each script has work to do.
func everything(r *rig) {
	r.t.Helper()
	ms := r.messages(9, 10)
	for i := range ms {
		ms[i].Key = fmt.Sprint("k", i)
		ms[i].TTL = 1_000_000
	}
	r.push(ms...)
	again := r.messages(1, 10)
	again[0].Key, again[0].Replace = "k0", true
	r.push(again...)
	ds := r.claim(6)
	ref := store.Ref{ID: ds[5].Receipt.ID}
	codes, err := r.Cancel(r.ctx(), r.p, r.cancelRequest(ref, store.Ref{Key: "k8"}))
	r.must(err)
	r.want("cancel", codes, []store.Code{store.CodeRunning, store.CodeOK})
	for i, v := range []store.Verdict{store.Ack, store.Nack, store.Release, store.Reject, storetest.Extend, storetest.Start} {
		r.settle(v, ds[i])
	}
	_, err = r.Get(r.ctx(), r.p, store.Ref{Key: "k7"})
	r.must(err)
	_, err = r.Reschedule(r.ctx(), r.p, r.rescheduleRequest(store.Move{Ref: store.Ref{Key: "k7"}, Delay: 10}))
	r.must(err)
	for _, state := range []store.State{store.Scheduled, store.Ready, store.Leased, store.Dead} {
		_, err = r.List(r.ctx(), r.p, store.ListRequest{State: state, Limit: 10, BodyLimit: 3})
		r.must(err)
	}
	_, err = r.Redrive(r.ctx(), r.p, r.redriveRequest(ds[3].Receipt.ID))
	r.must(err)
	_, err = r.Purge(r.ctx(), r.p, r.purgeRequest(store.Ready, 1))
	r.must(err)
	r.beat(store.BeatRequest{Client: "x", TTL: 1000, Join: []store.Member{{Queue: r.p.Queue, Consumer: "c"}}})
	_, err = r.Duties(r.ctx(), []store.DutyRequest{{Queue: r.p.Queue, Consumer: "c", Partitions: 1}})
	r.must(err)
	_, err = r.Members(r.ctx(), r.p.Queue)
	r.must(err)
	r.must(r.Notify(r.ctx(), r.p.Queue, store.Event{Kind: store.EventHelp, Helpers: 1}))
	r.beat(store.BeatRequest{Client: "x"})
	_, err = r.Stats(r.ctx(), "")
	r.must(err)
	r.wantClean()
}
