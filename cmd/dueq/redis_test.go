package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/demo"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// lines decodes an object a line.
func lines[T any](t *testing.T, text string) []T {
	t.Helper()
	var all []T
	for line := range strings.Lines(text) {
		all = append(all, decode[T](t, line))
	}
	return all
}

func (s *session) stats(queue string) queueStats {
	s.t.Helper()
	return decode[[]queueStats](s.t, s.ok("stats", "--queue", queue, "-o", "json"))[0]
}

func TestSend_ScheduledMessageUntilItsAck(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	id := strings.TrimSpace(s.ok("send", "--queue", "orders", "--delay", "2d", "--key", "order-42", "--header", "b=2", "--header", "a=1", `{"order":42}`))

	shown := decode[record](t, s.ok("show", "--queue", "orders", id, "-o", "json"))
	due, err := time.Parse(time.RFC3339, shown.Due)
	if err != nil || time.Until(due) < 47*time.Hour || time.Until(due) > 48*time.Hour+time.Millisecond { // spans count from the next full millisecond
		t.Errorf("due %q, %v, want in 2 days", shown.Due, err)
	}
	if shown.ID != id || shown.Key != "order-42" || *shown.Body != `{"order":42}` || shown.State != dueq.Scheduled || shown.Headers["a"] != "1" {
		t.Errorf("shown is %+v", shown)
	}
	text := s.ok("show", "--queue", "orders", "key:order-42")
	if !strings.Contains(text, `a="1" b="2"`) || !strings.Contains(text, "\n{\"order\":42}\n") {
		t.Errorf("shown is %s", text)
	}
	s.fails(exitConflict, []string{"duplicate key", id}, "send", "--queue", "orders", "--key", "order-42", "again")

	s.ok("reschedule", "--queue", "orders", "key:order-42", "--at", "2001-01-01T00:00:00Z")
	if shown := decode[record](t, s.ok("show", "--queue", "orders", id, "-o", "json")); shown.State != dueq.Ready {
		t.Errorf("rescheduled into the past it is %s, want ready", shown.State)
	}
	replaced := decode[sendResult](t, s.ok("send", "--queue", "orders", "--key", "order-42", "--replace", "--delay", "1h", "-o", "json", "newer"))
	if got := decode[cancelResult](t, s.ok("cancel", "--queue", "orders", "key:order-42", "-o", "json")); !got.Cancelled {
		t.Errorf("cancel printed %+v", got)
	}
	s.fails(exitNotFound, []string{replaced.ID, "not found"}, "show", "--queue", "orders", replaced.ID)
	s.fails(exitNotFound, []string{"not found"}, "cancel", "--queue", "orders", replaced.ID)
	got := s.stats("orders")
	if got.Sent != 2 || got.Replaced != 1 || got.Cancelled != 1 || got.Duplicates != 1 || got.Scheduled+got.Ready != 0 {
		t.Errorf("stats are %+v", got)
	}
}

// TestOpen_WarningsOfTheStoreArePrinted uses the tests' Redis, which keeps nothing on disk: dueq warns
// of that.
func TestOpen_WarningsOfTheStoreArePrinted(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	if got := s.run("send", "--queue", "q", "body"); !strings.Contains(got.warnings, "append-only") || got.err != "" {
		t.Errorf("send said %q", got.warnings+got.err)
	}
	if got := s.run("stats"); got.warnings+got.err != "" {
		t.Errorf("stats said %q", got.warnings+got.err)
	}
}

func TestReceive_AcksWhatItHasPrinted(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	for _, body := range []string{"one", "two", "three"} {
		s.ok("send", "--queue", "q", body)
	}
	got := lines[delivery](t, s.ok("receive", "--queue", "q", "--max", "2", "-o", "json"))
	if len(got) != 2 || *got[0].Body != "one" || *got[1].Body != "two" || got[0].Attempt != 1 || got[0].Queue != "q" {
		t.Errorf("received %+v", got)
	}
	text := s.ok("receive", "--queue", "q", "--release", "--wait", "1s")
	if !strings.Contains(text, "attempt 1\n  three\n") {
		t.Errorf("received %q", text)
	}
	if got := lines[delivery](t, s.ok("receive", "--queue", "q", "-o", "json"))[0]; got.Attempt != 2 || got.Failures != 0 {
		t.Errorf("after a release it came as %+v", got)
	}
	s.fails(exitNotFound, []string{"nothing is due"}, "receive", "--queue", "q")
	if got := s.stats("q"); got.Acked != 3 || got.Released != 1 || got.Delivered != 4 || got.Ready+got.Leased != 0 {
		t.Errorf("stats are %+v", got)
	}
}

func TestReceive_ReleasesWhatItCannotPrint(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.ok("send", "--queue", "q", "one")
	s.ok("send", "--queue", "q", "two")
	for _, args := range [][]string{{"receive", "--queue", "q", "--max", "2"}, {"receive", "--queue", "q", "--follow"}} {
		if got := s.write(t.Context(), "", fullDisk{}, args...); got.code != exitFailure || !strings.Contains(got.err, "disk full") {
			t.Errorf("dueq %q: exit %d, stderr %q", args, got.code, got.err)
		}
		if got := s.stats("q"); got.Ready != 2 || got.Leased != 0 || got.Acked+got.Nacked != 0 {
			t.Errorf("dueq %q left %+v", args, got)
		}
	}
}

func TestReschedule_RunningMessageIsRefused(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	id := strings.TrimSpace(s.ok("send", "--queue", "q", "body"))
	held, err := client.Queue("q").Receive(t.Context(), dueq.ReceiveOptions{})
	if err != nil || len(held) != 1 {
		t.Fatalf("received %v, %v", held, err)
	}
	if got := decode[record](t, s.ok("show", "--queue", "q", id, "-o", "json")); got.State != dueq.Leased || got.LeasedUntil == "" {
		t.Errorf("shown is %+v", got)
	}
	s.fails(exitConflict, []string{id, "running", "left as it is"}, "reschedule", "--queue", "q", id, "--delay", "1h")
	s.fails(exitConflict, []string{id, "running", "asked to stop"}, "cancel", "--queue", "q", id)
	if text := s.ok("show", "--queue", "q", id); !strings.Contains(text, "cancelling") {
		t.Errorf("shown is %s", text)
	}
}

func TestPause_UntilResume(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.ok("send", "--queue", "q", "body")
	if got := decode[pauseResult](t, s.ok("pause", "--queue", "q", "-o", "json")); !got.Paused {
		t.Errorf("pause printed %+v", got)
	}
	s.fails(exitNotFound, []string{`"q"`, "paused"}, "receive", "--queue", "q")
	if text := s.ok("stats"); !s.stats("q").Paused || !strings.Contains(text, "q (paused)") {
		t.Errorf("stats do not show the pause: %s", text)
	}
	s.ok("resume", "--queue", "q")
	if text := s.ok("receive", "--queue", "q"); !strings.Contains(text, "body") {
		t.Errorf("received %q", text)
	}
}

func TestRedrive_DeadLettersByIDAndFilter(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	q := client.Queue("q")
	for _, key := range []string{"a", "b", "c"} {
		s.ok("send", "--queue", "q", "--key", key, "body of "+key)
	}
	held, err := q.Receive(t.Context(), dueq.ReceiveOptions{Max: 3})
	if err != nil || len(held) != 3 {
		t.Fatalf("received %v, %v", held, err)
	}
	for _, d := range held {
		if err := d.Reject(t.Context(), errors.New("card "+attack+" refused")); err != nil {
			t.Fatal(err)
		}
	}
	text := s.ok("dead", "--queue", "q")
	if strings.Count(text, "\n") != 4 || !strings.Contains(text, `card \x1b]52;c;`) || strings.Contains(text, "\x1b") {
		t.Errorf("dead letters are %q", text)
	}
	dead := decode[page](t, s.ok("dead", "--queue", "q", "-o", "json"))
	if len(dead.Messages) != 3 || dead.Messages[0].DiedAt == "" || !strings.HasPrefix(dead.Messages[0].LastFailure, "card \x1b") {
		t.Errorf("dead letters are %+v", dead)
	}

	s.ok("send", "--queue", "q", "--delay", "1h", "--key", "a", "a new one")
	for _, m := range dead.Messages {
		switch m.Key {
		case "a":
			s.fails(exitConflict, []string{"duplicate key"}, "redrive", "--queue", "q", m.ID)
		case "b":
			if got := decode[redriveResult](t, s.ok("redrive", "--queue", "q", "-o", "json", m.ID)); got.Redriven != 1 {
				t.Errorf("redriven %+v", got)
			}
			s.fails(exitNotFound, []string{m.ID, "not found"}, "redrive", "--queue", "q", m.ID)
		}
	}
	some := s.run("redrive", "--queue", "q", "--all", "-o", "json")
	if some.code != exitConflict || decode[redriveResult](t, some.out).Redriven != 1 || strings.Count(some.err, "\n") != 1 {
		t.Errorf("redrive of what can be redriven: %+v", some)
	}
	if got := decode[purgeResult](t, s.ok("purge", "--queue", "q", "--state", "dead", "--all", "--yes", "-o", "json")); got.Purged != 1 || got.State != dueq.Dead {
		t.Errorf("purged %+v", got)
	}
	if got := s.stats("q"); got.Dead != 0 || got.Redriven != 2 || got.Ready != 2 || got.Purged != 1 || got.DeadLettered != 3 || got.Rejected != 3 {
		t.Errorf("stats are %+v", got)
	}
}

func TestList_Pages(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	for _, delay := range []string{"3h", "1h", "2h", "0s", "0s"} {
		s.ok("send", "--queue", "q", "--delay", delay, "delay of "+delay+" "+strings.Repeat("日", 200))
	}
	up := decode[page](t, s.ok("list", "--queue", "q", "--state", "scheduled", "--order", "asc", "-o", "json"))
	down := decode[page](t, s.ok("list", "--queue", "q", "--state", "scheduled", "--order", "desc", "-o", "json"))
	if last := len(up.Messages) - 1; last < 1 || down.Messages[len(down.Messages)-1].ID != up.Messages[0].ID {
		t.Errorf("%+v is not %+v in reverse", down, up)
	}
	first := decode[page](t, s.ok("list", "--queue", "q", "--state", "scheduled", "--limit", "2", "-o", "json", "--body", "14"))
	if len(first.Messages) != 2 || *first.Messages[0].Body != "delay of 1h " || first.Messages[0].BodySize != 612 || first.Next == "" {
		t.Errorf("first page is %+v", first)
	}
	second := decode[page](t, s.ok("list", "--queue", "q", "--state", "scheduled", "--limit", "2", "-o", "json", "--cursor", first.Next))
	if len(second.Messages) != 1 || !strings.HasPrefix(*second.Messages[0].Body, "delay of 3h") || second.Next != "" {
		t.Errorf("second page is %+v", second)
	}
	pages := lines[page](t, s.ok("list", "--queue", "q", "--all", "--limit", "2", "-o", "json"))
	count := 0
	for _, p := range pages {
		count += len(p.Messages)
	}
	if count != 5 {
		t.Errorf("all pages together have %d messages, want 5", count)
	}
	got := s.run("list", "--queue", "q", "--limit", "2")
	if got.code != exitOK || strings.Count(got.out, "\n") != 5 || !strings.Contains(got.err, "--state scheduled --cursor") {
		t.Errorf("list printed %q and said %q", got.out, got.err)
	}
}

func TestStats_JSON(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	if got := s.ok("stats", "-o", "json"); got != "[]\n" {
		t.Errorf("stats of an empty store are %s", got)
	}
	s.ok("send", "--queue", "b", "body")
	s.ok("send", "--queue", "a", "--delay", "1h", "body")
	raw := decode[[]json.RawMessage](t, s.ok("stats", "-o", "json"))
	if len(raw) != 2 {
		t.Fatalf("%d queues, want 2", len(raw))
	}
	want := []string{
		"queue", "partitions", "paused", "scheduled", "ready", "leased", "dead", "sent", "delivered", "acked", "nacked", "released", "rejected",
		"lease_lost", "cancelled", "expired", "redriven", "duplicates", "oldest_ready_ms", "replaced", "purged", "dead_lettered", "consumers", "snoozed", "repeated", "dead_expired", "deduplicated", "forgotten", "remembered", "done", "growing_from",
	}
	if got := fieldNames(t, raw[0]); !slices.Equal(got, want) {
		t.Errorf("fields are %v, want %v", got, want)
	}
	if a := s.stats("a"); !slices.Equal(a.OnDuty, []string{""}) {
		t.Errorf("on duty for the only partition is %q, want nobody", a.OnDuty)
	}
	if a := s.stats("a"); a.Queue != "a" || a.Partitions != 1 || a.Scheduled != 1 || a.Sent != 1 || a.OldestReadyMS != 0 {
		t.Errorf("stats are %+v", a)
	}
}

func fieldNames(t *testing.T, object []byte) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestSend_FullQueue(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	most := int64(1)
	if err := client.Queue("q").Create(t.Context(), dueq.Settings{MaxMessages: most}); err != nil {
		t.Fatal(err)
	}
	s.ok("send", "--queue", "q", "one")
	s.fails(exitRefused, []string{`"q"`, "full"}, "send", "--queue", "q", "two")
	got := s.feed(`{"body":1}`, "import", "--queue", "q", "-", "-o", "json")
	if got.code != exitRefused || decode[importResult](t, got.out).Refused != 1 || strings.Count(got.err, "\n") != 1 {
		t.Errorf("import into a full queue: %+v", got)
	}
}

func TestShow_BodyIsEscaped(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	id := strings.TrimSpace(s.feed(attack, "send", "--queue", "q", "-").out)
	for _, args := range [][]string{{"show", "--queue", "q", id}, {"list", "--queue", "q"}, {"receive", "--queue", "q"}} {
		if text := s.ok(args...); strings.ContainsAny(text, "\x1b\x07\r\x00") {
			t.Errorf("dueq %q printed %q", args, text)
		}
	}
}

func TestCheck_HealthyStore(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.ok("send", "--queue", "a", "--key", "k", "body")
	s.ok("send", "--queue", "b", "--delay", "1h", "body")
	got := decode[checkResult](t, s.ok("check", "-o", "json"))
	if len(got) != 2 || got[0].Queue != "a" || got[0].Examined == 0 || got[0].Problems == nil || len(got[0].Problems) != 0 {
		t.Errorf("check found %+v", got)
	}
	if text := s.ok("check", "--queue", "a"); !strings.HasPrefix(text, "a: ok, ") {
		t.Errorf("check printed %q", text)
	}
}

func TestCheck_DamagedStore(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	id := strings.TrimSpace(s.ok("send", "--queue", "q", "--delay", "1h", "body"))
	_, prefix, _ := strings.Cut(s.env["DUEQ_STORE"], "prefix=")
	if err := redistest.Shared(t).Client(t).HDel(t.Context(), prefix+":{q:0}:msg", id).Err(); err != nil {
		t.Fatal(err)
	}
	got := s.run("check", "-o", "json")
	report := decode[checkResult](t, got.out)
	found := slices.ContainsFunc(report[0].Problems, func(p problem) bool { return p.ID == id })
	if got.code != exitFailure || !found || strings.Count(got.err, "\n") != 1 {
		t.Errorf("check of a store without the record of %s: %+v", id, got)
	}
	if text := s.run("check").out; !strings.Contains(text, "problems") || !strings.Contains(text, "\n  "+id) {
		t.Errorf("check printed %q", text)
	}
}

func TestDemo_OnRedis(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	checkShow(t, decode[demo.Result](t, s.ok("demo", "-o", "json")))
	all, err := client.Stats(t.Context())
	if err != nil || len(all) != 1 || all[0].Queue != demoQueue || all[0].Scheduled+all[0].Ready+all[0].Leased+all[0].Dead != 0 {
		t.Errorf("left behind: %+v, %v", all, err)
	}
}

func TestDemo_QueueInUseIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.ok("send", "--queue", demoQueue, "--delay", "1h", "left behind")
	got := s.run("demo")
	if got.code != exitFailure || !strings.Contains(got.err, demoQueue) || !strings.Contains(got.err, "dueq purge") {
		t.Errorf("demo on a queue with a message: %+v", got)
	}
}
