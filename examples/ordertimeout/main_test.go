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

const orders = 20

// TestMain runs the program, in the processes that the test starts, until all orders have
// ended. Every second one is paid.
func TestMain(m *testing.M) {
	crash.Main(m, func(dir string) error {
		client, err := dueq.Open(context.Background(), "file:"+dir+"/queue", nil)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		var steps crash.Steps
		payWithin, step = 100*time.Millisecond, steps.Reach
		timeouts := client.Queue("timeouts")
		// So that messages of a killed process are due again soon.
		if err := timeouts.Create(ctx, dueq.Settings{Lease: time.Second}); err != nil {
			return err
		}
		var changes []string
		for i := range orders {
			changes = append(changes, fmt.Sprintf("%d=placed", i))
			if paid(i) {
				changes = append(changes, fmt.Sprintf("%d=paid", i))
			}
		}
		go crash.WhenSettled(timeouts, orders, stop)
		return errors.Join(run(ctx, timeouts, dir+"/orders.db", changes), client.Close())
	})
}

func paid(order int) bool { return order%2 == 1 }

func TestOrderTimeout_EachOrderEndsOnce(t *testing.T) {
	dir := t.TempDir()
	crash.Run(t, dir, "placed", 1)
	db, err := sql.Open("sqlite", dir+"/orders.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const changes = `CREATE TABLE changes (id TEXT, state TEXT);
		CREATE TRIGGER changed AFTER UPDATE OF state ON orders WHEN new.state <> old.state
		BEGIN INSERT INTO changes VALUES (new.id, new.state); END`
	if _, err := db.Exec(changes); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"placed", "paid", "sent", "cancelled"} {
		crash.Run(t, dir, step, 1)
		crash.Run(t, dir, step, 2)
	}
	crash.Run(t, dir, "", 0)
	for i := range orders {
		want := "cancelled"
		if paid(i) {
			want = "paid"
		}
		var got string
		err := db.QueryRow("SELECT group_concat(state) FROM changes WHERE id = ?", i).Scan(&got)
		if err != nil || got != want {
			t.Errorf("order %d became %q, error %v: want %q", i, got, err, want)
		}
	}
	client, err := dueq.Open(t.Context(), "file:"+dir+"/queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s, err := client.Queue("timeouts").Stats(t.Context())
	if err != nil || s.Counters.Sent != orders || s.Counters.Gone() != orders || s.Dead > 0 {
		t.Errorf("%+v, error %v: want %d timeouts, each sent once and acked", s, err, orders)
	}
}
