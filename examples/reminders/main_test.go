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
// each second, until both reminders have come, four times together.
func TestMain(m *testing.M) {
	crash.Main(m, func(dir string) error {
		client, err := dueq.Open(context.Background(), "file:"+dir+"/queue", nil)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		var steps crash.Steps
		standUp, step = dueq.Repeat{Every: time.Second}, steps.Reach
		reminders := client.Queue("reminders")
		// What a killed process held comes back sooner.
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

func TestEachReminderComesOnce(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []string{"declared", "declared", "sent", "sent"} { // the second time, it replaces the first
		crash.Run(t, dir, step, 1)
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
	var series, times, tea int
	err = db.QueryRow(`SELECT count(DISTINCT id), count(*), (SELECT count(*) FROM reminders WHERE text = 'tea')
		FROM reminders WHERE text = 'stand up'`).Scan(&series, &times, &tea)
	if err != nil || series != 1 || times < 3 || tea != 1 {
		t.Errorf("%d series with %d times, %d tea, error %v: want one series, and one tea", series, times, tea, err)
	}
	client, err := dueq.Open(t.Context(), "file:"+dir+"/queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	page, err := client.Queue("reminders").List(t.Context(), dueq.ListOptions{Filter: dueq.Filter{Key: "stand-up"}})
	if err != nil || len(page.Records) != 1 {
		t.Errorf("%d messages, error %v: want the next occurrence of the series, and nothing else", len(page.Records), err)
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
