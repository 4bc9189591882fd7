package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// checks returns the levels of a report by check, of several the last.
func checks(r doctorReport) map[string]dueq.FindingLevel {
	by := map[string]dueq.FindingLevel{}
	for _, f := range r {
		by[f.Check] = f.Level
	}
	return by
}

// onServer returns a session on a Redis of its own, whose settings are good.
func onServer(t *testing.T) (*session, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	rdb := server.Client(t)
	for name, value := range map[string]string{"maxmemory": "1gb", "appendonly": "yes", "maxmemory-policy": "noeviction"} {
		if err := rdb.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return &session{t: t, env: map[string]string{"DUEQ_STORE": "redis://" + server.Addr()}}, server
}

func TestDoctor_GoodStoreIsFineAndUnchanged(t *testing.T) {
	t.Parallel()
	s, server := onServer(t)
	r := decode[doctorReport](t, s.ok("doctor", "-o", "json"))
	want := map[string]dueq.FindingLevel{}
	for _, check := range []string{"version", "role", "eviction", "persistence", "memory", "latency", "operations"} {
		want[check] = dueq.FindingOK
	}
	got := checks(r)
	if got["latency"] == dueq.FindingWarn {
		got["latency"] = dueq.FindingOK // the machine is busy
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %v", r, want)
	}
	if got := decode[statsResult](t, s.ok("stats", "-o", "json")); len(got) != 0 {
		t.Errorf("doctor has left queues: %+v", got)
	}
	if text := s.ok("doctor"); !strings.Contains(text, "OK    eviction: noeviction\n") {
		t.Errorf("printed:\n%s", text)
	}
	rdb := server.Client(t)
	keys, err := rdb.Keys(t.Context(), "*doctor*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys { // a deleted queue leaves its version for a while
		if left, err := rdb.TTL(t.Context(), key).Result(); err != nil || left <= 0 {
			t.Errorf("%s stays: expires in %s, %v", key, left, err)
		}
	}
}

// TestDoctor_DirectoryThatIsServed holds that a store of files can be checked while a process has it
// open.
func TestDoctor_DirectoryThatIsServed(t *testing.T) {
	t.Parallel()
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + filepath.Join(t.TempDir(), "data") + "?sync=never"}}
	s.serve()
	got := checks(decode[doctorReport](t, s.ok("doctor", "-o", "json")))
	if got["operations"] != dueq.FindingOK || got["latency"] == "" {
		t.Errorf("%v, want that all operations succeed", got)
	}
	if got["persistence"] != dueq.FindingWarn || got["space"] != dueq.FindingOK || got["latency behind the server"] == "" {
		t.Errorf("%v, want what the server says about its directory", got)
	}
}

func TestDoctor_NamesWhatToChange(t *testing.T) {
	t.Parallel()
	s, server := onServer(t)
	if err := server.Client(t).ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	got := s.run("doctor")
	if got.code != exitFailure || !strings.Contains(got.out, "FAIL  eviction: allkeys-lru\n      fix: CONFIG SET maxmemory-policy noeviction") {
		t.Errorf("exit %d:\n%s%s", got.code, got.out, got.err)
	}
}

func TestDoctor_FindsMissingPermissions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, rule, check string }{
		{"command", "-zadd", "operation create queue"},
		{"command of one script", "-zscan", "operation check"},
		{"channels", "resetchannels", "log"},
		{"info", "-info", "settings"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, server := onServer(t)
			if err := server.Client(t).Do(t.Context(), "ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all", test.rule).Err(); err != nil {
				t.Fatal(err)
			}
			s.env["DUEQ_STORE"] = "redis://limited:secret@" + server.Addr()
			got := s.run("doctor", "-o", "json")
			by := checks(decode[doctorReport](t, got.out))
			if level := by[test.check]; level == "" || level == dueq.FindingOK {
				t.Errorf("exit %d: %s, want %q in it", got.code, got.out, test.check)
			}
		})
	}
}

// TestCanary_MakesEveryCallOfTheStore holds that a permission for any operation is tried.
func TestCanary_MakesEveryCallOfTheStore(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var made []string
	client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler), Hooks: dueq.Hooks{OnCall: func(e dueq.CallEvent) {
		mu.Lock()
		defer mu.Unlock()
		made = append(made, e.Call)
	}}})
	if err != nil {
		t.Fatal(err)
	}
	found := runCanary(t.Context(), client)
	if len(found) != 1 || found[0].Level != dueq.FindingOK {
		t.Errorf("%+v", found)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	methods := reflect.TypeFor[store.Store]()
	for i := range methods.NumMethod() {
		name := strings.ToLower(methods.Method(i).Name)
		// Known and Close are no calls, and Watch is no event, but Consume makes it. Only consumers of a
		// queue that grows list names, by a command that Check uses, too.
		if slices.Contains([]string{"known", "close", "watch", "names"}, name) {
			continue
		}
		if !slices.Contains(made, name) {
			t.Errorf("no operation makes the call %s; made: %q", name, made)
		}
	}
}

func TestCanary_LeavesNoQueueWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	_, client := onRedis(t)
	ctx, interrupt := context.WithCancel(t.Context())
	c := &canary{client: client, queue: client.Queue("dueq-doctor-x")}
	if err := c.steps()[0].try(ctx); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if err := c.remove(ctx); err != nil {
		t.Error(err)
	}
	if all, err := client.Stats(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v, want no queue", all, err)
	}
}

func TestFixOf_SaysWhatToChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("NOPERM this user has no permissions to run the 'zadd' command"), "docs/REDIS.md"},
		{fmt.Errorf("full: %w", dueq.ErrQueueFull), "maxmemory"},
		{fmt.Errorf("away: %w", dueq.ErrUnavailable), "busy"},
		{context.DeadlineExceeded, "busy"},
	} {
		if got := fixOf(test.err); !strings.Contains(got, test.want) {
			t.Errorf("%v: %q, want %q in it", test.err, got, test.want)
		}
	}
}
