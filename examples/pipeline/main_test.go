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

const orders = 50

// TestMain runs the program, in the processes that the test starts, until all mails are
// written. Between the sends of Next and its ack is a step, too.
func TestMain(m *testing.M) {
	crash.Main(m, func(dir string) error {
		var steps crash.Steps
		sent := func(next dueq.SendFunc) dueq.SendFunc {
			return func(ctx context.Context, queue string, messages []dueq.Message) (dueq.SendResults, error) {
				results, err := next(ctx, queue, messages)
				steps.Reach("sent")
				return results, err
			}
		}
		client, err := dueq.Open(context.Background(), "file:"+dir+"/queue", &dueq.Options{SendMiddleware: []dueq.SendMiddleware{sent}})
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		step = steps.Reach
		go crash.WhenSettled(client.Queue("orders"), orders, func() {
			crash.WhenEmpty(client.Queue("mails"), stop)
		})
		return errors.Join(run(ctx, client, dir+"/pipeline.db"), client.Close())
	})
}

func TestPipeline_EachOrderHasOneInvoiceAndOneMail(t *testing.T) {
	dir := t.TempDir()
	inStore(t, dir, func(client *dueq.Client) {
		for _, queue := range []string{"orders", "mails"} { // so that messages of a killed process are due again soon
			if err := client.Queue(queue).Create(t.Context(), dueq.Settings{Lease: time.Second}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range orders {
			order := Order{Customer: fmt.Sprintf("customer %d", i), Cents: i}
			if _, err := dueq.SendJSON(t.Context(), client.Queue("orders"), order, dueq.Message{}); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, step := range []string{"invoiced", "sent", "mailed"} {
		crash.Run(t, dir, step, 1)
		crash.Run(t, dir, step, 2)
	}
	crash.Run(t, dir, "", 0)
	db, err := sql.Open("sqlite", dir+"/pipeline.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var invoices, mails, both int
	err = db.QueryRow(`SELECT (SELECT count(*) FROM invoices), (SELECT count(*) FROM mails),
		(SELECT count(DISTINCT text) FROM invoices JOIN mails USING (text))`).Scan(&invoices, &mails, &both)
	if err != nil || invoices != orders || mails != orders || both != orders {
		t.Errorf("%d invoices, %d mails, %d of both, error %v: want %d", invoices, mails, both, err, orders)
	}
	for i := range orders {
		text, found := fmt.Sprintf("customer %d owes us %d.%02d EUR", i, i/100, i%100), 0
		if err := db.QueryRow("SELECT count(*) FROM mails WHERE text = ?", text).Scan(&found); err != nil || found != 1 {
			t.Errorf("%d mails %q, error %v, want one", found, text, err)
		}
	}
	inStore(t, dir, func(client *dueq.Client) {
		for _, queue := range []string{"orders", "mails"} {
			s, err := client.Queue(queue).Stats(t.Context())
			if err != nil || s.Scheduled+s.Ready+s.Leased+s.Dead > 0 {
				t.Errorf("%+v, error %v: want nothing left", s, err)
			}
		}
	})
}

func inStore(t *testing.T, dir string, do func(*dueq.Client)) {
	t.Helper()
	client, err := dueq.Open(t.Context(), "file:"+dir+"/queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	do(client)
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
}
