package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq"
)

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client, err := dueq.Open(ctx, "mem:", nil) // or "redis://localhost:6379"
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	orders := client.Queue("orders")

	_, err = orders.Send(ctx, dueq.Message{Body: []byte("order 42"), Delay: 20 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = orders.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
		fmt.Printf("cancel %s if it is unpaid\n", d.Body)
		stop()
		return nil // acked
	}, dueq.ConsumeOptions{})
	fmt.Println("stopped:", err)
	// Output:
	// cancel order 42 if it is unpaid
	// stopped: <nil>
}

func ExampleQueue_Send_key() {
	ctx := context.Background()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	orders := client.Queue("orders")

	m := dueq.Message{Key: "order-42", Delay: 30 * time.Minute}
	first, _ := orders.Send(ctx, m)
	_, err = orders.Send(ctx, m)

	var refusal *dueq.Error
	if errors.As(err, &refusal) && errors.Is(err, dueq.ErrDuplicate) {
		fmt.Println("sent already:", refusal.Holder == first)
	}
	m.Replace = true
	second, err := orders.Send(ctx, m)
	fmt.Println("replaced:", second != first, err)
	// Output:
	// sent already: true
	// replaced: true <nil>
}

func ExampleQueue_SendBatch() {
	ctx := context.Background()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	results, err := client.Queue("reminders").SendBatch(ctx, []dueq.Message{
		{Key: "anna", Delay: time.Hour},
		{Key: "ben", Delay: -time.Hour},
		{Key: "anna", Delay: time.Hour},
	})
	fmt.Println(err)
	for _, r := range results {
		switch {
		case r.Err == nil:
			fmt.Println("stored")
		case errors.Is(r.Err, dueq.ErrDuplicate):
			fmt.Println("has one already")
		default:
			fmt.Println(r.Err)
		}
	}
	// Output:
	// <nil>
	// stored
	// send queue "reminders": delay: -1h0m0s is negative: invalid argument
	// has one already
}

func ExampleQueue_Cancel() {
	ctx := context.Background()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	orders := client.Queue("orders")

	_, _ = orders.Send(ctx, dueq.Message{Key: "order-42", Delay: 30 * time.Minute})
	fmt.Println(orders.Cancel(ctx, dueq.Key("order-42")))
	err = orders.Cancel(ctx, dueq.Key("order-42"))
	fmt.Println(errors.Is(err, dueq.ErrNotFound))
	// Output:
	// <nil>
	// true
}

func ExampleQueue_Reschedule() {
	ctx := context.Background()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	orders := client.Queue("orders")

	id, _ := orders.Send(ctx, dueq.Message{Delay: 30 * time.Minute})
	err = orders.Reschedule(ctx, dueq.ID(id), dueq.Schedule{Delay: 24 * time.Hour})
	fmt.Println(err)
	m, _ := orders.Get(ctx, dueq.ID(id))
	fmt.Println(m.State, "in", time.Until(m.At).Round(time.Hour))
	// Output:
	// <nil>
	// scheduled in 24h0m0s
}

func ExampleQueue_Receive() {
	ctx := context.Background()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	work := client.Queue("work")

	_, _ = work.Send(ctx, dueq.Message{Body: []byte("hello"), Delay: 10 * time.Millisecond})
	deliveries, err := work.Receive(ctx, dueq.ReceiveOptions{Max: 10, Wait: 20 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range deliveries {
		fmt.Printf("%s, attempt %d, ack: %v\n", d.Body, d.Attempt, d.Ack(ctx))
	}
	// Output:
	// hello, attempt 1, ack: <nil>
}

func ExampleJSON() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	mails := client.Queue("mails")

	type mail struct{ To, Subject string }
	_, _ = mails.Send(ctx, dueq.Message{Body: []byte(`{"to": "anna@example.org", "subject": "Your order"}`)})
	_ = mails.Consume(ctx, dueq.JSON(func(_ context.Context, m mail, _ *dueq.Delivery) error {
		fmt.Printf("to %s: %s\n", m.To, m.Subject)
		stop()
		return nil
	}), dueq.ConsumeOptions{})
	// Output:
	// to anna@example.org: Your order
}

func ExampleRetryAfter() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	calls := client.Queue("calls")

	_, _ = calls.Send(ctx, dueq.Message{})
	_ = calls.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
		if d.Failures == 0 {
			return dueq.RetryAfter(10*time.Millisecond, errors.New("429 Too Many Requests"))
		}
		fmt.Println("attempt", d.Attempt)
		stop()
		return nil
	}, dueq.ConsumeOptions{})
	// Output:
	// attempt 2
}

func ExampleQueue_Redrive() {
	ctx := context.Background()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	work := client.Queue("work")

	_, _ = work.Send(ctx, dueq.Message{Body: []byte("no address")})
	deliveries, _ := work.Receive(ctx, dueq.ReceiveOptions{})
	_ = deliveries[0].Reject(ctx, errors.New("whom is it for?"))

	dead := dueq.ListOptions{Filter: dueq.Filter{State: dueq.Dead}, BodyLimit: 100}
	for m, err := range work.Messages(ctx, dead) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s\n", m.Body, m.LastFailure)
	}
	n, err := work.RedriveAll(ctx, dueq.Filter{Failure: "whom"}, &dueq.BulkOptions{Spread: time.Hour})
	fmt.Println("redriven:", n, err)
	// Output:
	// no address: whom is it for?
	// redriven: 1 <nil>
}

func ExampleWorker() {
	ctx := context.Background()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	_, _ = client.Queue("orders").Send(ctx, dueq.Message{Body: []byte("order 42")})
	_, _ = client.Queue("mail.anna").Send(ctx, dueq.Message{Body: []byte("hello")})

	worker, err := dueq.NewWorker(client, dueq.WorkerOptions{Concurrency: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	handled := make(chan string, 2)
	note := func(_ context.Context, d *dueq.Delivery) error {
		handled <- fmt.Sprintf("%s: %s", d.Queue, d.Body)
		return nil
	}
	err = errors.Join(
		worker.Handle("orders", note, dueq.HandleOptions{Weight: 6}),
		worker.Handle("mail.*", note, dueq.HandleOptions{Concurrency: 8}), // of each of them
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		fmt.Println(<-handled)
		fmt.Println(<-handled)
		worker.Stop()
	}()
	fmt.Println(worker.Run(ctx))
	// Unordered output:
	// orders: order 42
	// mail.anna: hello
	// <nil>
}

func ExampleMiddleware() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	work := client.Queue("work")

	logged := func(next dueq.Handler) dueq.Handler {
		return func(ctx context.Context, d *dueq.Delivery) error {
			err := next(ctx, d)
			fmt.Println("handled:", err)
			return err
		}
	}
	_, _ = work.Send(ctx, dueq.Message{})
	_ = work.Consume(ctx, func(context.Context, *dueq.Delivery) error {
		stop()
		return nil
	}, dueq.ConsumeOptions{Middleware: []dueq.Middleware{logged}})
	// Output:
	// handled: <nil>
}
