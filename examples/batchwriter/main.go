// Batchwriter writes sensor readings to a database, up to 500 rows with one INSERT. In the
// directory examples,
//
//	go run -C .. ./cmd/dueq send --store file:examples/queue -q readings '{"sensor": 7, "value": 21.5}'
//	go run ./batchwriter
//
// Kill it and start it again: a reading is in the table once, as its message's id is the key.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/dueq-dev/dueq"
)

// Reading is the body of a message.
type Reading struct {
	Sensor int
	Value  float64
}

var (
	batches = dueq.BatchOptions{Max: 500, Linger: 100 * time.Millisecond}
	step    = func(string) {} // the test kills the process here
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := dueq.Open(ctx, "file:queue", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = run(ctx, client, "readings.db")
	if err := errors.Join(err, client.Close()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *dueq.Client, database string) error {
	db, err := sql.Open("sqlite", database)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS readings (id TEXT PRIMARY KEY, sensor INTEGER, value REAL)"); err != nil {
		return err
	}
	write := func(ctx context.Context, batch []*dueq.Delivery) error { return insert(ctx, db, batch) }
	return errors.Join(client.Queue("readings").ConsumeBatch(ctx, write, batches), db.Close())
}

func insert(ctx context.Context, db *sql.DB, batch []*dueq.Delivery) error {
	var rows []string
	var values []any
	for _, d := range batch {
		var r Reading
		if err := json.Unmarshal(d.Body, &r); err != nil {
			d.Fail(dueq.Reject(err)) // the others are written all the same
			continue
		}
		rows, values = append(rows, "(?, ?, ?)"), append(values, d.ID, r.Sensor, r.Value)
	}
	step("received")
	if len(rows) == 0 {
		return nil
	}
	_, err := db.ExecContext(ctx, "INSERT OR IGNORE INTO readings VALUES "+strings.Join(rows, ", "), values...) //nolint:gosec // rows are placeholders
	step("inserted")
	return err
}
