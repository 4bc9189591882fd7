package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// Messages that are sent in one call, and those of a hundred that end up in a state other than
// scheduled.
const (
	batch     = 1000
	deadShare = 4
	dueShare  = 6
)

// filler fills a store.
type filler struct {
	client *dueq.Client
	random *rand.Rand
}

// fill sends messages to queues, the n-th of which gets the n-th part of what the first gets.
func fill(ctx context.Context, client *dueq.Client, o options) error {
	f := &filler{client, rand.New(rand.NewPCG(1, 2))}
	parts, sent := 0.0, 0
	for i := range o.queues {
		parts += 1 / float64(i+1)
	}
	for i := range o.queues {
		n := int(float64(o.messages) / parts / float64(i+1))
		if i == o.queues-1 {
			n = o.messages - sent
		}
		sent += n
		if err := f.queue(ctx, i, n); err != nil {
			return fmt.Errorf("queue %d: %w", i, err)
		}
	}
	return f.consumers(ctx, o.queues/4)
}

// nameOf returns the name of a queue.
func nameOf(i int) string { return fmt.Sprintf("tenant-%03d", i) }

// queue makes a queue with n messages.
func (f *filler) queue(ctx context.Context, i, n int) error {
	q := f.client.Queue(nameOf(i))
	s := dueq.Settings{History: 24 * time.Hour, MaxHistory: 10_000}
	if i == 0 {
		s.Partitions = 4
	}
	if err := q.Create(ctx, s); err != nil {
		return err
	}
	dead, due := n*deadShare/100, n*dueShare/100
	if err := f.send(ctx, q, dead, func(m *dueq.Message) { m.MaxAttempts = 1 }); err != nil {
		return err
	}
	if err := f.fail(ctx, q, dead); err != nil {
		return err
	}
	if err := f.end(ctx, q, min(5000, n/100)); err != nil {
		return err
	}
	if err := f.send(ctx, q, due, func(*dueq.Message) {}); err != nil {
		return err
	}
	if _, err := q.Receive(ctx, dueq.ReceiveOptions{Max: min(100, 1+due/100), Lease: 12 * time.Hour}); err != nil {
		return err
	}
	if err := f.recurring(ctx, q); err != nil {
		return err
	}
	return f.send(ctx, q, n-dead-due, func(m *dueq.Message) { m.Delay = f.delay() })
}

// delay returns when a message is due: half of them within a day, the others within a month.
func (f *filler) delay() time.Duration {
	const day = 24 * time.Hour
	if f.random.IntN(2) == 0 {
		return time.Hour + time.Duration(f.random.Int64N(int64(day)))
	}
	return day + time.Duration(f.random.Int64N(int64(29*day)))
}

func (f *filler) send(ctx context.Context, q *dueq.Queue, n int, change func(*dueq.Message)) error {
	for done := 0; done < n; done += batch {
		messages := make([]dueq.Message, min(batch, n-done))
		for i := range messages {
			order := f.random.Uint64()
			messages[i] = dueq.Message{
				Key:     fmt.Sprintf("order-%x", order),
				Headers: map[string]string{"tenant": q.Name(), "event": "order.paid"},
				Body:    fmt.Appendf(nil, `{"event":"order.paid","order":%d,"amount":%d.95,"currency":"EUR"}`, order, order%1000),
			}
			change(&messages[i])
		}
		results, err := q.SendBatch(ctx, messages)
		if err = errors.Join(err, results.FirstErr()); err != nil {
			return err
		}
	}
	return nil
}

// fail makes n dead letters, with failures of which some differ only in numbers.
func (f *filler) fail(ctx context.Context, q *dueq.Queue, n int) error {
	reasons := []string{
		"503 Service Unavailable: upstream connect error", "context deadline exceeded", "404 Not Found: no such endpoint",
		"401 Unauthorized: signature has expired", "tls: certificate has expired", "no such customer: cus_#", "row # is locked",
	}
	for done := 0; done < n; {
		deliveries, err := q.Receive(ctx, dueq.ReceiveOptions{Max: 500})
		if err != nil {
			return err
		}
		reason := strings.Replace(reasons[f.random.IntN(len(reasons))], "#", strconv.Itoa(f.random.IntN(1_000_000)), 1)
		if err := dueq.NackAll(ctx, deliveries, 0, errors.New(reason)); err != nil {
			return err
		}
		done += len(deliveries)
	}
	return nil
}

// end makes n messages that were acked.
func (f *filler) end(ctx context.Context, q *dueq.Queue, n int) error {
	if err := f.send(ctx, q, n, func(*dueq.Message) {}); err != nil {
		return err
	}
	for done := 0; done < n; {
		deliveries, err := q.Receive(ctx, dueq.ReceiveOptions{Max: 500})
		if err != nil {
			return err
		}
		if err := dueq.AckAll(ctx, deliveries); err != nil {
			return err
		}
		done += len(deliveries)
	}
	return nil
}

// recurring sends messages with schedules.
func (f *filler) recurring(ctx context.Context, q *dueq.Queue) error {
	for i, repeat := range []dueq.Repeat{{Cron: "0 6 * * *", Zone: "Europe/Berlin"}, {Every: time.Hour}, {Cron: "@monthly"}} {
		if _, err := q.Send(ctx, dueq.Message{Key: fmt.Sprintf("report-%d", i), Repeat: repeat}); err != nil {
			return err
		}
	}
	return nil
}

// consumers reports four consumers for each of the first n queues.
func (f *filler) consumers(ctx context.Context, n int) error {
	r := store.BeatRequest{Client: "worker", TTL: store.MaxLease}
	for i := range n {
		for c := range 4 {
			r.Join = append(r.Join, store.Member{Queue: nameOf(i), Consumer: fmt.Sprintf("worker-%d", c)})
		}
	}
	for begin := 0; begin < len(r.Join); begin += store.MaxBatch {
		part := r
		part.Join = r.Join[begin:min(begin+store.MaxBatch, len(r.Join))]
		if _, err := f.client.Store().Beat(ctx, part); err != nil {
			return err
		}
	}
	return nil
}
