// Ordertimeout cancels orders that are not paid in time. In the directory examples,
//
//	go run ./ordertimeout -store redis://localhost:6379
//
// and shows a shop that takes an order every second, customers of whom two in three
// pay, and a consumer that cancels what is unpaid after ten seconds. Start it twice: the
// two share the work. Stop it with Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/dueq-dev/dueq"
)

const payWithin = 10 * time.Second

func main() {
	url := flag.String("store", "redis://localhost:6379", "where the queue is kept; mem: needs no server")
	flag.Parse()
	if err := run(*url); err != nil {
		log.Fatal(err)
	}
}

func run(url string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := dueq.Open(ctx, url, nil)
	if err != nil {
		return err
	}
	timeouts := client.Queue("order-timeouts")
	go takeOrders(ctx, timeouts)
	err = timeouts.Consume(ctx, cancelUnpaid, dueq.ConsumeOptions{})
	return errors.Join(err, client.Close())
}

// takeOrders starts a timeout with each order; a payment cancels it.
func takeOrders(ctx context.Context, timeouts *dueq.Queue) {
	for ctx.Err() == nil {
		order := fmt.Sprintf("order-%d", time.Now().UnixMilli())
		m := dueq.Message{Key: order, Body: []byte(order), Delay: payWithin}
		if _, err := timeouts.Send(ctx, m); err != nil {
			log.Print(err)
		}
		log.Print(order, " placed")
		if rand.N(3) > 0 {
			time.AfterFunc(rand.N(payWithin), func() { pay(ctx, timeouts, order) })
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func pay(ctx context.Context, timeouts *dueq.Queue, order string) {
	err := timeouts.Cancel(ctx, dueq.Key(order))
	switch {
	case err == nil:
		log.Print(order, " paid")
	case errors.Is(err, dueq.ErrNotFound), errors.Is(err, dueq.ErrRunning):
		log.Print(order, " was paid too late")
	default:
		log.Print(err)
	}
}

func cancelUnpaid(_ context.Context, d *dueq.Delivery) error {
	late := time.Since(d.Due).Round(time.Millisecond)
	log.Printf("%s cancelled, unpaid (%s after it was due)", d.Body, late)
	return nil
}
