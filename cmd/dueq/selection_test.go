package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// withDead makes dead messages with the keys a/0, a/1 and so on, and b/0 and so on.
func withDead(t *testing.T, q *dueq.Queue, n int) {
	t.Helper()
	for _, tenant := range []string{"a", "b"} {
		for i := range n {
			m := dueq.Message{Key: fmt.Sprintf("%s/%d", tenant, i), Headers: map[string]string{"tenant": tenant}}
			if _, err := q.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, err := q.Receive(t.Context(), dueq.ReceiveOptions{Max: 2 * n})
	if err != nil || len(held) != 2*n {
		t.Fatalf("received %d, %v, want %d", len(held), err, 2*n)
	}
	for _, d := range held {
		if err := d.Reject(t.Context(), fmt.Errorf("no route to %s", d.Headers["tenant"])); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRedriveAndPurge_ByFilter(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	q := client.Queue("q")
	withDead(t, q, 3)
	if got := s.ok("redrive", "--queue", "q", "--key", "a/*", "--failure", "route to a", "--died", "-1h..1h", "--dry-run"); got != "would be redriven: 3\n" {
		t.Errorf("dry run printed %q", got)
	}
	if got := s.ok("redrive", "--queue", "q", "--header", "tenant=a", "--min-attempts", "1", "--spread", "2h"); got != "redriven 3\n" {
		t.Errorf("redrive printed %q", got)
	}
	if got := s.stats("q"); got.Dead != 3 || got.Scheduled != 2 || got.Ready != 1 {
		t.Errorf("stats are %+v, want 1 due now and 2 later", got)
	}
	if got := s.ok("reschedule", "--queue", "q", "--due", "30m..", "--delay", "5h"); got != "rescheduled 2\n" {
		t.Errorf("reschedule printed %q", got)
	}
	if got := s.ok("reschedule", "--queue", "q", "key:a/0", "key:a/1", "--delay", "6h"); got != "rescheduled 2\n" {
		t.Errorf("reschedule printed %q", got)
	}
	if got := s.ok("purge", "--queue", "q", "--state", "dead", "--died", "..-1h", "--yes"); got != "purged 0\n" {
		t.Errorf("purge of what died long ago printed %q", got)
	}
	if got := s.ok("purge", "--queue", "q", "--state", "dead", "--sent", "..1h", "--dry-run"); got != "would be purged: 3\n" {
		t.Errorf("dry run printed %q", got)
	}
	list := s.ok("list", "--queue", "q", "--key", "b/*")
	if strings.Count(list, "\n") != 4 || strings.Contains(list, "a/") {
		t.Errorf("list printed %q", list)
	}
	if list := s.ok("dead", "--queue", "q", "--failure", "route to a"); strings.Count(list, "\n") != 1 {
		t.Errorf("dead printed %q, want the header alone", list)
	}
}

func TestDelete_ReadsReferencesFromStandardInput(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	q := client.Queue("q")
	withDead(t, q, 1)
	ids := s.ok("send", "--queue", "q", "--delay", "1h", "one") + "\n" + s.ok("send", "--queue", "q", "--key", "two", "two")
	for _, command := range []string{"delete", "redrive"} {
		args := []string{command, "--queue", "q", "-"}
		if command == "delete" {
			args = append(args, "--yes")
		}
		got := s.feed(" \n\n", args...)
		if got.code != exitOK || !strings.Contains(got.err, "nothing is done") || !strings.HasSuffix(got.out, " 0\n") {
			t.Errorf("%s of nothing: %+v", command, got)
		}
	}
	if got := s.stats("q"); got.Dead != 2 || got.Scheduled != 1 || got.Ready != 1 {
		t.Errorf("stats are %+v, want all there", got)
	}
	got := s.feed(ids+"key:three\n", "delete", "--queue", "q", "-", "--yes")
	if got.code != exitNotFound || got.out != "deleted 2\n" || !strings.Contains(got.err, "key:three") {
		t.Errorf("delete: %+v", got)
	}
	if got := s.stats("q"); got.Dead != 2 || got.Scheduled != 0 || got.Ready != 0 {
		t.Errorf("stats are %+v, want the dead alone", got)
	}
}

func TestList_PrintsItsHeaderOnce(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	for range 7 {
		s.ok("send", "--queue", "q", "--delay", "1h", "body")
	}
	list := s.ok("list", "--queue", "q", "--all", "--limit", "2")
	if strings.Count(list, "\n") != 8 || strings.Count(list, "STATE") != 1 {
		t.Errorf("list printed %q", list)
	}
	first := decode[page](t, s.ok("list", "--queue", "q", "--state", "scheduled", "--due", "..2h", "--limit", "3", "-o", "json"))
	if len(first.Messages) != 3 || first.Next == "" {
		t.Errorf("the first page is %+v", first)
	}
}

func TestRange_OfNow(t *testing.T) {
	t.Parallel()
	var r dueq.TimeRange
	before := time.Now()
	if err := (timeRange{&r}).Set("-2h..2040-01-31T18:00:00Z"); err != nil {
		t.Fatal(err)
	}
	if ago := before.Sub(r.From); ago > 2*time.Hour || ago < time.Hour || r.To.Unix() != 2211645600 {
		t.Errorf("%+v", r)
	}
}
