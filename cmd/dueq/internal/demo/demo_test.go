package demo

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestRun_EveryOutcomeOccurs(t *testing.T) {
	t.Parallel()
	flights, err := loadFlights()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[course]int{}
	keys := map[string]bool{}
	for i, f := range flights {
		seen[f.course]++
		keys[f.message.Key] = true
		if i > 0 && f.message.Due.Before(flights[i-1].message.Due) {
			t.Errorf("flight %s is out of order", f.message.Key)
		}
	}
	if len(flights) != 441 || len(keys) != 441 {
		t.Errorf("%d flights with %d keys, want 441", len(flights), len(keys))
	}
	if seen[failsOnce] != 10 || seen[failsTwice] != 5 || seen[failsAlways] != 1 || seen[cancelled] != 1 || seen[delayed] != 1 {
		t.Errorf("courses are %v", seen)
	}
}

// rig is a tally of two flights that were due a minute ago.
func rig() (*tally, *flight, *flight, *dueq.Delivery) {
	a, b := &flight{}, &flight{}
	a.message.Key, b.message.Key = "a", "b"
	t, due := newTally([]*flight{a, b}), time.Now().Add(-time.Minute)
	t.plan(a, due)
	t.plan(b, due)
	t.sent(2)
	return t, a, b, &dueq.Delivery{Key: "a", Attempt: 1, MaxAttempts: 20, Due: due}
}

func TestTally_CountsEarlyDeliveries(t *testing.T) {
	t.Parallel()
	tally, a, b, d := rig()
	tally.delivered(a, "A", d, d.Due.Add(-time.Microsecond), nil) // before the due time that the store reported
	tally.plan(b, d.Due.Add(time.Second))
	tally.delivered(b, "A", d, d.Due.Add(time.Millisecond), nil) // before the due time of the flight
	if r := tally.result(); r.Early != 2 || r.Lost != 0 || r.Delivered != 2 {
		t.Errorf("%+v, want 2 early, 2 delivered", r)
	}
}

func TestTally_CountsLostMessages(t *testing.T) {
	t.Parallel()
	tally, a, _, d := rig()
	tally.delivered(a, "A", d, d.Due, errors.New("engine"))
	if r := tally.result(); r.Lost != 2 || r.Delivered != 0 || r.Retried != 0 {
		t.Errorf("%+v, want 2 lost: one failed and never came back, one was never seen", r)
	}
}

func TestTally_OnlyDeadMessagesOfTheQueueCountAsDead(t *testing.T) {
	t.Parallel()
	tally, a, b, d := rig()
	d.Failures = d.MaxAttempts - 1
	tally.delivered(a, "A", d, d.Due, errors.New("engine"))
	tally.delivered(b, "A", d, d.Due, errors.New("engine"))
	tally.foundDead(dueq.Record{Key: "a"})
	if r := tally.result(); r.Dead != 1 || r.Lost != 1 {
		t.Errorf("%+v, want 1 dead and 1 lost", r)
	}
	select {
	case <-tally.finished:
	default:
		t.Error("both flights have ended, but the show is not over")
	}
}

func TestTally_CountsBrokenPromises(t *testing.T) {
	t.Parallel()
	tally, a, _, d := rig()
	tally.cancelled(a)
	if err := tally.broken(); err != nil {
		t.Error(err)
	}
	tally.delivered(a, "A", d, d.Due, nil)
	if err := tally.broken(); err == nil || !strings.Contains(err.Error(), "after it had been cancelled") {
		t.Errorf("error is %v", err)
	}
	tally.foundDead(dueq.Record{Key: "c", ID: "stranger"})
	if err := tally.broken(); err == nil || !strings.HasPrefix(err.Error(), "2 promises") {
		t.Errorf("error is %v", err)
	}
}

func TestTally_CountsRedeliveriesOnce(t *testing.T) {
	t.Parallel()
	tally, a, _, d := rig()
	tally.delivered(a, "A", d, d.Due.Add(time.Millisecond), nil)
	d.Attempt = 2
	tally.delivered(a, "B", d, d.Due.Add(3*time.Millisecond), nil)
	r := tally.result()
	if r.Delivered != 1 || r.Retried != 1 {
		t.Errorf("%+v, want 1 delivered, 1 retried", r)
	}
	if want := (Lateness{P50: 1, P99: 3, Max: 3}); r.Lateness != want {
		t.Errorf("lateness is %+v, want %+v", r.Lateness, want)
	}
}

func TestBoard_ShowsTheLastFlights(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	board := Board(&b, true)
	events := make([]Event, 20)
	for i := range events {
		events[i] = Event{Kind: Departed, Origin: "O" + string(rune('A'+i)), Attempt: 1, Gate: "A"}
	}
	events[19].Kind = Cancelled
	board(View{Share: 0.5, Counts: Result{Sent: 20, Delivered: 19}, Events: events})
	text := b.String()
	if strings.Contains(text, "OH →") || !strings.Contains(text, "OI →") || !strings.Contains(text, "\x1b[31m") || !strings.Contains(text, "19 of 20 departed") {
		t.Errorf("the board is %q", text)
	}
	if first := strings.Count(text, "\n"); first != 17 {
		t.Errorf("the board has %d lines, want 17", first)
	}
}

func TestLog_UsualEventsAreNotLogged(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := Log(&b)
	usual := Event{Kind: Departed, Attempt: 1}
	log(View{Share: 0.1, Events: []Event{usual, {Kind: Held, Attempt: 1, Reason: "engine"}}})
	log(View{Share: 0.13})
	log(View{Share: 0.14, Events: []Event{usual}})
	if text := b.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "held: engine (attempt 1), tried again") {
		t.Errorf("the log is %q", text)
	}
}
