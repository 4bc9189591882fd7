package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/examples/internal/crash"
)

// TestMain runs the program, in the processes that the test starts, with a series that recurs
// each second and catches up, until both reminders have come, four times together.
func TestMain(m *testing.M) {
	crash.Main(m, func(dir string) error {
		client, err := dueq.Open(context.Background(), "file:"+dir+"/queue", nil)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		var steps crash.Steps
		standUp, step = dueq.Repeat{Every: time.Second, CatchUp: true}, steps.Reach
		reminders := client.Queue("reminders")
		// So that messages of a killed process are due again soon.
		if err := reminders.Create(ctx, dueq.Settings{Lease: time.Second}); err != nil {
			return err
		}
		go crash.WhenSettled(reminders, 4, stop)
		args := []string{"1s", "tea"}
		if _, err := os.Stat(dir + "/asked"); err == nil {
			args = nil
		}
		return errors.Join(run(ctx, reminders, dir+"/reminders.db", args), client.Close())
	})
}

func TestReminders_EachIsDeliveredOnce(t *testing.T) {
	dir := t.TempDir()
	tea := map[string]bool{}
	for _, step := range []string{"declared", "declared", "sent", "sent"} { // the second time, it replaces the first
		began := time.Now()
		crash.Run(t, dir, step, 1)
		if step == "sent" {
			inQueue(t, dir, func(reminders *dueq.Queue) {
				m, err := reminders.Get(t.Context(), dueq.Key("tea"))
				if err != nil || m.At.Before(began.Add(time.Second)) || m.At.After(time.Now().Add(time.Second)) {
					t.Errorf("tea at %s, error %v: want it a second after it was sent, from %s on", m.At, err, began)
				}
				tea[m.ID] = true
			})
		}
	}
	if len(tea) != 2 {
		t.Errorf("%d messages of the key, want the second in place of the first", len(tea))
	}
	if err := os.WriteFile(dir+"/asked", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	crash.Run(t, dir, "reminded", 1)
	crash.Run(t, dir, "reminded", 2)
	crash.Run(t, dir, "", 0)
	db, err := sql.Open("sqlite", dir+"/reminders.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var series, times, teas int64
	err = db.QueryRow(`SELECT count(DISTINCT substr(id, 1, instr(id || '.', '.') - 1)), count(*), (SELECT count(*) FROM reminders WHERE text = 'tea')
		FROM reminders WHERE text = 'stand up'`).Scan(&series, &times, &teas)
	if err != nil || series != 1 || times < 3 || teas != 1 {
		t.Errorf("%d series with %d times, %d tea, error %v: want one series, and one tea", series, times, teas, err)
	}
	inQueue(t, dir, func(reminders *dueq.Queue) {
		s, err := reminders.Stats(t.Context())
		if err != nil || s.Counters.Repeated != times || s.Counters.Acked != 1 || s.Counters.LeaseLost == 0 {
			t.Errorf("%+v, error %v: want %d occurrences done, and some leases that ran out", s.Counters, err, times)
		}
		page, err := reminders.List(t.Context(), dueq.ListOptions{Filter: dueq.Filter{Key: "stand-up"}})
		if err != nil || len(page.Records) != 1 {
			t.Errorf("%d messages, error %v: want the next occurrence of the series, and nothing else", len(page.Records), err)
		}
	})
}

func inQueue(t *testing.T, dir string, do func(*dueq.Queue)) {
	t.Helper()
	client, err := dueq.Open(t.Context(), "file:"+dir+"/queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	do(client.Queue("reminders"))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestStandUp_IsAtNineInBerlinAllYear(t *testing.T) {
	for after, want := range map[string]string{
		"2026-03-27T12:00:00Z": "2026-03-30T07:00:00Z", // from Friday in winter to Monday in summer
		"2026-10-23T12:00:00Z": "2026-10-26T08:00:00Z",
	} {
		from, err := time.Parse(time.RFC3339, after)
		if err != nil {
			t.Fatal(err)
		}
		next, err := standUp.Next(from)
		if err != nil || next.UTC().Format(time.RFC3339) != want {
			t.Errorf("after %s: %s, error %v, want %s", after, next, err, want)
		}
	}
}
