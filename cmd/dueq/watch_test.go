package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func (s *session) watching(samples ...sample) (*watching, *bytes.Buffer) {
	s.t.Helper()
	var out bytes.Buffer
	w := &watching{a: &app{console: console{out: &out, err: &out}, output: formatText}, left: len(samples)}
	w.take = func() (sample, error) {
		taken := samples[0]
		samples = samples[1:]
		return taken, nil
	}
	return w, &out
}

func at(seconds int, queues ...dueq.Stats) sample {
	return sample{time.Date(2030, 1, 31, 3, 0, seconds, 0, time.UTC), queues}
}

func TestWatch_PrintsALineForEachChange(t *testing.T) {
	t.Parallel()
	orders := dueq.Stats{Queue: "orders", Ready: 2, OldestReady: 90 * time.Second, Consumers: 1, Counters: dueq.Counters{Sent: 9, Delivered: 7}}
	mails := dueq.Stats{Queue: "ma\x1bils", Scheduled: 1}
	older, later, again := orders, orders, orders
	older.OldestReady = 2 * time.Minute // no change
	later.Ready, later.Leased, later.Counters = 1, 1, dueq.Counters{Sent: 9, Delivered: 8, Nacked: 2, LeaseLost: 1}
	again.Ready, again.Counters = 5, dueq.Counters{Sent: 5}
	again.Settings.Paused = true
	w, out := without(t).watching(at(0, mails, orders), at(2, mails, older), at(4, mails, later), at(6, again))
	ticks := make(chan time.Time)
	close(ticks)
	if err := w.run(t.Context(), ticks); err != nil {
		t.Fatal(err)
	}
	want := `2030-01-31T03:00:00Z ma\x1bils scheduled=1 ready=0 leased=0 dead=0 consumers=0
2030-01-31T03:00:00Z orders scheduled=0 ready=2 leased=0 dead=0 consumers=1 oldest=1m30s
2030-01-31T03:00:04Z orders scheduled=0 ready=1 leased=1 dead=0 consumers=1 oldest=1m30s delivered=+1 failed=+3
2030-01-31T03:00:06Z orders paused scheduled=0 ready=5 leased=0 dead=0 consumers=1 oldest=1m30s sent=+5
2030-01-31T03:00:06Z ma\x1bils deleted
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
}

func TestWatch_AllPrintsEveryQueueEachTime(t *testing.T) {
	t.Parallel()
	same := dueq.Stats{Queue: "orders"}
	w, out := without(t).watching(at(0, same), at(2, same))
	w.all = true
	ticks := make(chan time.Time)
	close(ticks)
	if err := w.run(t.Context(), ticks); err != nil || strings.Count(out.String(), "orders") != 2 {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestWatch_ErrorOfTheStoreEndsIt(t *testing.T) {
	t.Parallel()
	w, _ := without(t).watching()
	w.take = func() (sample, error) { return sample{}, dueq.ErrUnavailable }
	if err := w.run(t.Context(), nil); !errors.Is(err, dueq.ErrUnavailable) {
		t.Errorf("%v, want %v", err, dueq.ErrUnavailable)
	}
}

func TestWatch_OnAStore(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.ok("send", "--queue", "orders", "body")
	s.ok("send", "--queue", "mails", "--delay", "1h", "body")
	got := lines[change](t, s.ok("watch", "--count", "2", "--every", "100ms", "-o", "json"))
	if len(got) != 2 || got[0].Queue != "mails" || got[0].Scheduled != 1 || got[1].Queue != "orders" || got[1].Ready != 1 {
		t.Errorf("%+v", got)
	}
	if text := s.ok("watch", "orders", "--count", "1"); strings.Contains(text, "mails") || !strings.Contains(text, " orders scheduled=0 ready=1 ") {
		t.Errorf("watch of one queue:\n%s", text)
	}
	s.fails(exitUsage, []string{"--every", "1ms"}, "watch", "--every", "1ms")
	s.fails(exitNotFound, []string{"none"}, "watch", "none", "--count", "1")
}

func TestTop_NeedsATerminalAndNamesWatch(t *testing.T) {
	t.Parallel()
	inMemory(t).fails(exitUsage, []string{"terminal", "dueq watch"}, "top")
}

// TestTop_SnapshotOfAStore holds that the screen gets what the store has, of all queues and of the
// one that is open.
func TestTop_SnapshotOfAStore(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	s.ok("send", "--queue", "orders", "--key", "held", "body")
	held, err := client.Queue("orders").Receive(t.Context(), dueq.ReceiveOptions{Wait: time.Minute})
	if err != nil || len(held) != 1 {
		t.Fatal(held, err)
	}
	s.ok("send", "--queue", "orders", "--delay", "30m", "body")
	source := &topSource{client: client}
	source.snapshot(t.Context(), "")
	s.ok("send", "--queue", "orders", "body")
	got := source.snapshot(t.Context(), "orders")
	if got.Err != "" || len(got.Queues) != 1 {
		t.Fatalf("%+v", got)
	}
	q, d := got.Queues[0], got.Detail
	if q.Scheduled != 1 || q.Ready != 1 || q.Leased != 1 || q.Sent <= 0 || q.Acked != 0 {
		t.Errorf("queue %+v", q)
	}
	if d == nil || d.Ready != 1 || d.InHour != 1 || len(d.Leased) != 1 || !strings.Contains(d.Leased[0], "held  attempt 1  until ") || len(d.Dead) != 0 {
		t.Errorf("detail %+v", d)
	}
	if got := source.snapshot(t.Context(), "none"); !strings.Contains(got.Err, "not found") {
		t.Errorf("a queue that does not exist: %+v", got)
	}
}
