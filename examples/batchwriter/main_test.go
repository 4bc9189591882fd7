package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/examples/internal/crash"
)

const readings = 3000

// TestMain runs the program, in the processes that the test starts, until nothing is left
// to be written.
func TestMain(m *testing.M) {
	crash.Main(m, func(dir string) error {
		client, err := dueq.Open(context.Background(), "file:"+dir+"/queue", nil)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		var steps crash.Steps
		step = steps.Reach
		batches.Lease = time.Second // so that messages of a killed process are due again soon
		go crash.WhenSettled(client.Queue("readings"), readings+1, stop)
		return errors.Join(run(ctx, client, dir+"/readings.db"), client.Close())
	})
}

func TestBatchWriter_EachReadingIsWrittenOnce(t *testing.T) {
	dir := t.TempDir()
	inQueue(t, dir, func(q *dueq.Queue) {
		batch := []dueq.Message{{Body: []byte("no JSON")}}
		for i := range readings {
			batch = append(batch, dueq.Message{Body: fmt.Appendf(nil, `{"sensor": %d, "value": 0.5}`, i)})
		}
		results, err := q.SendBatch(t.Context(), batch)
		if err != nil || results.FirstErr() != nil {
			t.Fatal(err, results.FirstErr())
		}
	})
	for _, step := range []string{"received", "inserted"} {
		for time := 1; time <= 2; time++ {
			crash.Run(t, dir, step, time)
		}
	}
	crash.Run(t, dir, "", 0)
	db, err := sql.Open("sqlite", dir+"/readings.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows, sensors int
	err = db.QueryRow("SELECT count(*), count(DISTINCT sensor) FROM readings").Scan(&rows, &sensors)
	if err != nil || rows != readings || sensors != readings {
		t.Errorf("%d rows of %d sensors, error %v: want %d", rows, sensors, err, readings)
	}
	inQueue(t, dir, func(q *dueq.Queue) {
		s, err := q.Stats(t.Context())
		if err != nil || s.Scheduled+s.Ready+s.Leased > 0 || s.Dead != 1 {
			t.Errorf("%+v, error %v: want the reading that is no JSON, dead, and nothing else", s, err)
		}
	})
}

func inQueue(t *testing.T, dir string, do func(*dueq.Queue)) {
	t.Helper()
	client, err := dueq.Open(t.Context(), "file:"+dir+"/queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	do(client.Queue("readings"))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
}
