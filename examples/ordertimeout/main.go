// Ordertimeout cancels orders that are not paid within ten seconds. Kill it and start it again, with or
// without arguments: no order is without its timeout. In the directory examples,
//
//	go run ./ordertimeout 41=placed 42=placed 42=paid
package main

import (
	"context"
	"database/sql"
	"errors"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/dueq-dev/dueq"
)

var payWithin, step = 10 * time.Second, func(string) {} // the test kills the process at a step

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := dueq.Open(ctx, "file:queue", nil)
	if err == nil {
		err = errors.Join(run(ctx, client.Queue("timeouts"), "orders.db", os.Args[1:]), client.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, timeouts *dueq.Queue, database string, orders []string) error {
	db, err := sql.Open("sqlite", database)
	if err != nil {
		return err
	}
	// The trigger fills the outbox in the transaction that stores the order: neither is there alone.
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, state TEXT, due INTEGER); CREATE TABLE IF NOT EXISTS outbox
		(id TEXT PRIMARY KEY, due INTEGER); CREATE TRIGGER IF NOT EXISTS placed AFTER INSERT ON orders BEGIN INSERT INTO outbox VALUES (new.id, new.due); END`)
	for i := 0; err == nil && i < len(orders); i++ {
		err = set(ctx, db, orders[i])
	}
	for err == nil {
		err = relay(ctx, db, timeouts)
	}
	if errors.Is(err, sql.ErrNoRows) { // the outbox is empty
		err = timeouts.Consume(ctx, func(ctx context.Context, d *dueq.Delivery) error {
			log.Printf("the time of order %s is up", d.Key)
			return set(ctx, db, d.Key+"=cancelled")
		}, dueq.ConsumeOptions{Concurrency: 1}) // SQLite has one writer
	}
	return errors.Join(err, db.Close())
}

// set stores an order, or ends one that is open: a paid one stays paid when its timeout comes.
func set(ctx context.Context, db *sql.DB, order string) error {
	id, state, _ := strings.Cut(order, "=")
	_, err := db.ExecContext(ctx, "INSERT INTO orders VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET state = ?2 WHERE state = 'placed'",
		id, state, time.Now().Add(payWithin).UnixMilli())
	step(state)
	return err
}

// relay sends what is first in the outbox. Killed before it deletes that, it sends a duplicate later.
func relay(ctx context.Context, db *sql.DB, timeouts *dueq.Queue) error {
	id, due := "", int64(0)
	err := db.QueryRowContext(ctx, "SELECT id, due FROM outbox").Scan(&id, &due)
	if err == nil {
		_, err = timeouts.Send(ctx, dueq.Message{Key: id, Due: time.UnixMilli(due)})
		step("sent")
	}
	if err == nil || errors.Is(err, dueq.ErrDuplicate) {
		_, err = db.ExecContext(ctx, "DELETE FROM outbox WHERE id = ?", id)
	}
	return err
}
