// Package dueq is a reliable delayed message queue. A producer sends a message that becomes due
// later. Once it is due, one consumer at a time holds it. It is delivered again until a consumer
// acknowledges it, or until it runs out of attempts and is kept as a dead letter.
//
//	client, err := dueq.Open(ctx, "redis://localhost:6379", nil) // or "mem:"
//	orders := client.Queue("orders")
//	id, err := orders.Send(ctx, dueq.Message{Key: "order-42", Body: body, Delay: 30 * time.Minute})
//	err = orders.Cancel(ctx, dueq.ID(id)) // the order was paid
//
//	err = orders.Consume(ctx, func(ctx context.Context, d *dueq.Delivery) error {
//		return cancelIfUnpaid(ctx, d.Body)
//	}, dueq.ConsumeOptions{})
//
// # States
//
// A live message is scheduled (due later), ready (due now), leased (held by a consumer) or dead
// (out of attempts, or rejected). All other messages are gone.
//
// # Time
//
// Only the store's clock decides whether a message is due: with Redis that is the clock of its
// server. Delays are spans, so wrong clocks of producers and consumers do not matter. All spans
// and instants are kept in milliseconds, rounded up: nothing is ever delivered early.
//
// # Delivery
//
// The result of a handler settles the delivery: nil acks it, an error is a failure and is retried
// with a backoff. The errors of [RetryAfter], [Snooze], [Again], [Next], [Reject] and [Drop]
// choose otherwise.
//
// # Recurring messages
//
// A message with a schedule is delivered again and again: the result of its handler for one
// occurrence schedules the next. Every process may send it when it starts, see [Repeat]:
//
//	id, err := reports.Send(ctx, dueq.Message{
//		Key:    "daily-report",
//		Repeat: dueq.Repeat{Cron: "0 9 * * 1-5", Zone: "Europe/Berlin"},
//	})
//
// A handler that computes the next time returns [Again].
//
// # Guarantees
//
// Delivery is at least once: a handler must expect to get a message again, which happens when a
// consumer dies, loses its lease, or returns an error. [Delivery.ID] stays the same over all
// deliveries of a message. [ConsumeOptions.AtMostOnce] chooses at-most-once delivery.
package dueq
