package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/migrate"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// fromBullMQ returns a session with a store, and the URL of a Redis with a queue of BullMQ: jobs 1
// and 2 wait, job 3 is done.
func fromBullMQ(t *testing.T) (s *session, url string, do func(args ...any)) {
	t.Helper()
	server := redistest.Start(t)
	rdb := server.Client(t)
	do = func(args ...any) {
		t.Helper()
		if err := rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"1", "2"} {
		do("HSET", "bull:hooks:"+id, "name", "hook", "data", `{"n":`+id+`}`, "opts", `{"attempts":3,"backoff":1000}`, "timestamp", 1000)
		do("LPUSH", "bull:hooks:wait", id)
	}
	do("ZADD", "bull:hooks:completed", 1, "3")
	s, _ = onRedis(t)
	return s, "redis://" + server.Addr(), do
}

func TestMigrate_CountsAreCompared(t *testing.T) {
	t.Parallel()
	s, url, _ := fromBullMQ(t)
	const want = `STATE             SOURCE  COPIED  BEFORE  SKIPPED
delayed           0       0       0       0
prioritized       0       0       0       0
paused            0       0       0       0
wait              2       2       0       0
active            0       0       0       0
waiting-children  0       0       0       0
failed            0       0       0       0
completed         1       0       0       1
skipped: 1 done
not copied: the backoff of 2 messages
sent 2 messages to queue q
`
	if got := s.ok("migrate", "bullmq", "hooks", "--from", url, "--queue", "q"); got != want {
		t.Errorf("the result is\n%s, want\n%s", got, want)
	}
	s.env["DUEQ_FROM"] = url
	r := decode[migrate.Result](t, s.ok("migrate", "bullmq", "hooks", "-q", "q", "-o", "json"))
	if r.Sent != 0 || !slices.Contains(r.States, migrate.State{State: "wait", Source: 2, Before: 2}) {
		t.Errorf("the second time: %+v, want 2 that were copied before", r)
	}
	if got := s.stats("q"); got.Ready != 2 {
		t.Errorf("%+v, want 2 messages", got)
	}
}

func TestMigrate_RefusedMessagesAreAFailure(t *testing.T) {
	t.Parallel()
	s, url, do := fromBullMQ(t)
	do("HSET", "bull:hooks:2", "data", strings.Repeat("x", 1<<19))
	got := s.run("migrate", "bullmq", "hooks", "--from", url, "--queue", "q")
	if got.code != exitFailure || got.err != "dueq: migrate: 1 messages cannot be copied\n" || !strings.Contains(got.out, "skipped: 1 refused: body\n  the first: 2: send queue") {
		t.Errorf("exit %d, stderr %q, stdout %s", got.code, got.err, got.out)
	}
}

// await waits until a queue has as many messages that are due.
func (s *session) await(queue string, ready int64) {
	s.t.Helper()
	for {
		if got := s.run("stats", "--queue", queue, "-o", "json"); got.code == exitOK && s.stats(queue).Ready == ready {
			return
		}
		select {
		case <-s.t.Context().Done():
			s.t.Fatal("the messages did not come")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestMigrate_SignalEndsFollowWithALastLook(t *testing.T) {
	t.Parallel()
	s, url, _ := fromBullMQ(t)
	cmd, out := s.start(nil, "migrate", "bullmq", "hooks", "--from", url, "--queue", "q", "--follow", "-o", "json")
	s.await("q", 2)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if r := decode[migrate.Result](t, line); r.Sent != 2 || r.Missing() != 0 {
		t.Errorf("%+v, want 2 sent", r)
	}
	if code := exitOf(t, cmd); code != exitOK {
		t.Errorf("exit %d, want %d", code, exitOK)
	}
}

func TestMigrate_WrongUsage(t *testing.T) {
	t.Parallel()
	s, url, _ := fromBullMQ(t)
	s.fails(exitNotFound, []string{`bullmq has no queue "other"`}, "migrate", "bullmq", "other", "--from", url, "--queue", "q")
	s.fails(exitUsage, []string{"--from", "DUEQ_FROM"}, "migrate", "bullmq", "hooks", "--queue", "q")
	s.fails(exitUsage, []string{"kind", "celery"}, "migrate", "celery", "hooks", "--from", url, "--queue", "q")
	s.fails(exitUsage, []string{"--prefix"}, "migrate", "asynq", "default", "--from", url, "--prefix", "p", "--queue", "q")
	s.fails(exitUsage, []string{"queue"}, "migrate", "bullmq", "hooks", "--from", url, "--queue", "a:b")
	got := s.run("migrate", "bullmq", "hooks", "--from", "redis://:geheim@127.0.0.1:1?max_retries=-1", "--queue", "q")
	if got.code != exitUnavailable || strings.Contains(got.err, "geheim") {
		t.Errorf("exit %d, stderr %q", got.code, got.err)
	}
}

func TestMigrate_CompletesLibraries(t *testing.T) {
	t.Parallel()
	if got, directive := inMemory(t).completions("migrate", "--queue", "q", ""); !slices.Equal(got, migrate.Kinds()) || directive != noFile {
		t.Errorf("%q, %s", got, directive)
	}
}
