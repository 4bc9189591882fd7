// Pipeline has two steps: it writes an invoice for each order, then a mail about the invoice. In the
// directory examples,
//
//	go run -C .. ./cmd/dueq send --store file:examples/queue -q orders '{"customer": "Zoë", "cents": 1990}'
//	go run ./pipeline
//
// Kill it and start it again: each order has one invoice and one mail, as their ids are the keys.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	_ "modernc.org/sqlite"

	"github.com/dueq-dev/dueq"
)

var step = func(string) {} // the test kills the process here

// Order is the body of a message of the first step.
type Order struct {
	Customer string
	Cents    int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := dueq.Open(ctx, "file:queue", nil)
	if err == nil {
		err = errors.Join(run(ctx, client, "pipeline.db"), client.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *dueq.Client, database string) error {
	db, err := sql.Open("sqlite", database)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS invoices (id TEXT PRIMARY KEY, text TEXT);
		CREATE TABLE IF NOT EXISTS mails (id TEXT PRIMARY KEY, text TEXT)`)
	steps, err2 := dueq.NewWorker(client, dueq.WorkerOptions{Concurrency: 1}) // SQLite has one writer
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	invoice := func(ctx context.Context, order Order, d *dueq.Delivery) error {
		text := fmt.Sprintf("%s owes us %d.%02d EUR", order.Customer, order.Cents/100, order.Cents%100)
		// A second delivery finds the row of the first, and sends the mail's message under the same id.
		_, err := db.ExecContext(ctx, "INSERT OR IGNORE INTO invoices VALUES (?, ?)", d.ID, text)
		step("invoiced")
		if err != nil {
			return err
		}
		return dueq.Next(dueq.NextMessage{Queue: "mails", Message: dueq.Message{Body: []byte(text)}})
	}
	mail := func(ctx context.Context, d *dueq.Delivery) error {
		_, err := db.ExecContext(ctx, "INSERT OR IGNORE INTO mails VALUES (?, ?)", d.ID, string(d.Body))
		step("mailed")
		return err
	}
	err = errors.Join(steps.Handle("orders", dueq.JSON(invoice), dueq.HandleOptions{}), steps.Handle("mails", mail, dueq.HandleOptions{}))
	if err != nil {
		return err
	}
	return steps.Run(ctx)
}
