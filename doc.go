// Package dueq is a reliable delayed message queue. A producer sends a message that
// becomes due later; once it is due, exactly one consumer at a time holds it; it is
// delivered again until somebody acknowledges it, or it runs out of attempts and is
// kept as a dead letter.
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
// A live message is scheduled (due later), ready (due now), leased (held by a
// consumer) or dead (out of attempts, or rejected). Everything else is gone.
//
// # Time
//
// Only the store's clock decides whether a message is due: with Redis that is the
// clock of its server. Delays are spans, so clocks of producers and consumers that
// are wrong do no harm. All spans and instants are kept in milliseconds, rounded up:
// nothing is ever delivered early.
//
// # Delivery
//
// What a handler returns settles the delivery: nil acks it, an error is a failure and is
// retried with a backoff; [RetryAfter], [Snooze], [Again], [Next], [Reject] and [Drop] say
// otherwise.
//
// # Recurring messages
//
// A message with a schedule comes back: what its handler returns for one occurrence schedules
// the next. Every process may send it at its start, see [Repeat]:
//
//	id, err := reports.Send(ctx, dueq.Message{
//		Key:    "daily-report",
//		Repeat: dueq.Repeat{Cron: "0 9 * * 1-5", Zone: "Europe/Berlin"},
//	})
//
// A handler that chooses its times itself returns [Again].
//
// # Guarantees
//
// At least once: a handler should cope with seeing a message again, which happens
// when a consumer dies, loses its lease, or returns an error. [Delivery.ID] stays the
// same over all deliveries of a message. [ConsumeOptions.AtMostOnce] chooses the opposite.
package dueq
