// Reminders writes reminders, once after a time or at 9 o'clock of each working day in Berlin, to a
// database. In the directory examples,
//
//	go run ./reminders 5s "the tea is ready"
//
// Kill it and start it again: each reminder is written once.
package main

import (
	"context"
	"database/sql"
	"errors"
	"log"
	"os"
	"os/signal"
	"time"
	_ "time/tzdata"

	_ "modernc.org/sqlite"

	"github.com/dueq-dev/dueq"
)

var (
	standUp = dueq.Repeat{Cron: "0 9 * * 1-5", Zone: "Europe/Berlin"}
	step    = func(string) {} // the test kills the process here
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := dueq.Open(ctx, "file:queue", nil)
	if err == nil {
		err = errors.Join(run(ctx, client.Queue("reminders"), "reminders.db", os.Args[1:]), client.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, reminders *dueq.Queue, database string, args []string) error {
	db, err := sql.Open("sqlite", database)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS reminders (id TEXT PRIMARY KEY, text TEXT)"); err != nil {
		return err
	}
	if err := schedule(ctx, reminders, args); err != nil {
		return err
	}
	return reminders.Consume(ctx, func(ctx context.Context, d *dueq.Delivery) error {
		log.Printf("%s", d.Body)
		// All occurrences of a series have one ID, and keys of their own.
		_, err := db.ExecContext(ctx, "INSERT OR IGNORE INTO reminders VALUES (?, ?)", d.IdempotencyKey(), string(d.Body))
		step("reminded")
		return err
	}, dueq.ConsumeOptions{Concurrency: 1}) // SQLite has one writer
}

// schedule declares the series, which does nothing when it is there already, and sends a reminder.
func schedule(ctx context.Context, reminders *dueq.Queue, args []string) error {
	_, err := reminders.Send(ctx, dueq.Message{Key: "stand-up", Body: []byte("stand up"), Repeat: standUp})
	step("declared")
	if err != nil || len(args) != 2 {
		return err
	}
	delay, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	_, err = reminders.Send(ctx, dueq.Message{Key: args[1], Body: []byte(args[1]), Delay: delay, Replace: true})
	step("sent")
	return err
}
