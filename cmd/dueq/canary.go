package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/transfer"
	"github.com/dueq-dev/dueq/store"
)

// canary is a queue on which each operation is tried once.
type canary struct {
	client *dueq.Client
	queue  *dueq.Queue
	held   *dueq.Delivery
}

// canaryTimeout bounds one operation.
const canaryTimeout = 10 * time.Second

// runCanary tries every operation of dueq on a queue of its own, and returns what has failed, or
// that nothing has. Operations that need the result of one that has failed are not tried.
func runCanary(ctx context.Context, client *dueq.Client) []finding {
	c := &canary{client: client, queue: client.Queue("dueq-doctor-" + strings.ToLower(rand.Text())[:12])}
	var failed []finding
	tried := 0
	for _, step := range c.steps() {
		tried++
		call, end := context.WithTimeout(ctx, canaryTimeout)
		err := step.try(call)
		end()
		if err == nil {
			continue
		}
		failed = append(failed, finding{Check: "operation " + step.name, Level: dueq.FindingFail, Found: err.Error(), Fix: fixOf(err)})
		if step.needed {
			break
		}
	}
	if err := c.remove(ctx); err != nil && len(failed) == 0 {
		failed = append(failed, finding{Check: "operation delete queue", Level: dueq.FindingFail, Found: err.Error(), Fix: fixOf(err)})
	}
	if len(failed) > 0 {
		return failed
	}
	return []finding{{Check: "operations", Level: dueq.FindingOK, Found: fmt.Sprintf("all %d succeed", tried+1)}}
}

// fixOf returns what to change so that an operation does not fail.
func fixOf(err error) string {
	switch {
	case strings.Contains(err.Error(), "NOPERM"), strings.Contains(strings.ToLower(err.Error()), "permission"):
		return "give the user the permissions of docs/REDIS.md, Access control"
	case errors.Is(err, dueq.ErrQueueFull):
		return "raise maxmemory, or purge dead and done messages: until then sends are refused"
	case errors.Is(err, dueq.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return "see whether the server is busy, read-only or being replaced"
	}
	return "see docs/guide/operating.md"
}

// remove deletes the queue, also when ctx has ended.
func (c *canary) remove(ctx context.Context) error {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), canaryTimeout)
	defer end()
	err := c.client.DeleteQueue(ctx, c.queue.Name(), &dueq.DeleteQueueOptions{Force: true})
	if errors.Is(err, dueq.ErrNotFound) {
		return nil
	}
	return err
}

// step is one operation.
type step struct {
	name   string
	needed bool // by the operations after it
	try    func(context.Context) error
}

// steps returns the operations in their order. Each leaves one message with the key "canary".
func (c *canary) steps() []step {
	const key = "canary"
	return []step{
		{"create queue", true, func(ctx context.Context) error { return c.queue.Create(ctx, dueq.Settings{History: time.Hour}) }},
		{"update queue", false, func(ctx context.Context) error {
			_, err := c.queue.Update(ctx, func(s *dueq.Settings) { s.MaxDead = 10 })
			return err
		}},
		{"pause", false, func(ctx context.Context) error { return errors.Join(c.queue.Pause(ctx), c.queue.Resume(ctx)) }},
		{"send", true, func(ctx context.Context) error {
			_, err := c.queue.Send(ctx, dueq.Message{Key: key, MaxAttempts: 1, Delay: time.Hour, DedupID: key, DedupFor: time.Minute})
			return err
		}},
		{"send recurring", false, func(ctx context.Context) error {
			_, err := c.queue.Send(ctx, dueq.Message{Key: "recurring", Repeat: dueq.Repeat{Cron: "0 0 1 1 *"}})
			return err
		}},
		{"show", false, func(ctx context.Context) error { _, err := c.queue.Get(ctx, dueq.Key(key)); return err }},
		{"list", false, func(ctx context.Context) error { _, err := c.queue.List(ctx, dueq.ListOptions{}); return err }},
		{"reschedule", true, func(ctx context.Context) error { return c.queue.Reschedule(ctx, dueq.Key(key), dueq.Schedule{}) }},
		{"receive", true, c.receive},
		{"extend", false, func(ctx context.Context) error { return c.held.Extend(ctx, time.Minute) }},
		{"reject", true, func(ctx context.Context) error { return c.held.Reject(ctx, nil) }},
		{"redrive", true, func(ctx context.Context) error { _, err := c.queue.Redrive(ctx, dueq.Key(key)); return err }},
		{"consume", false, c.consume},
		{"cancel", false, func(ctx context.Context) error { return c.queue.Cancel(ctx, dueq.Key("recurring")) }},
		{"read duties", false, func(ctx context.Context) error { // Consume reads them, too, if it lasts long enough
			_, err := c.client.Store().Duties(ctx, []store.DutyRequest{{Queue: c.queue.Name(), Consumer: key, Partitions: 1}})
			return err
		}},
		{"members", false, func(ctx context.Context) error { _, err := c.queue.Members(ctx); return err }},
		{"stats", false, func(ctx context.Context) error { _, err := c.queue.Stats(ctx); return err }},
		{"forecast", false, func(ctx context.Context) error { _, err := c.queue.Forecast(ctx, time.Minute, 1); return err }},
		{"check", false, func(ctx context.Context) error { _, err := c.queue.Check(ctx); return err }},
		{"list queues", false, func(ctx context.Context) error { _, err := c.client.Store().Queues(ctx); return err }},
		{"notify consumers", false, func(ctx context.Context) error {
			return c.client.Store().Notify(ctx, c.queue.Name(), store.Event{Kind: store.EventLeft})
		}},
		{"leave", false, func(ctx context.Context) error {
			return c.client.Store().Leave(ctx, store.Partition{Queue: c.queue.Name()}, store.LeaveRequest{Consumers: []string{key}})
		}},
		{"export and import", false, c.move},
		{"purge", false, func(ctx context.Context) error {
			_, err := c.queue.Purge(ctx, dueq.Filter{State: dueq.Done}, nil)
			return err
		}},
	}
}

// move exports the queue, deletes it and imports it.
func (c *canary) move(ctx context.Context) error {
	var whole bytes.Buffer
	if _, err := transfer.Export(ctx, c.client.Store(), []string{c.queue.Name()}, &whole); err != nil {
		return err
	}
	if err := c.remove(ctx); err != nil {
		return err
	}
	_, err := transfer.Import(ctx, c.client.Store(), bytes.NewReader(whole.Bytes()), "", nil)
	return err
}

func (c *canary) receive(ctx context.Context) error {
	deliveries, err := c.queue.Receive(ctx, dueq.ReceiveOptions{Wait: canaryTimeout / 2})
	if err != nil {
		return err
	}
	if len(deliveries) != 1 {
		return fmt.Errorf("received %d messages, want the one that is due", len(deliveries))
	}
	c.held = deliveries[0]
	return nil
}

// consume runs a consumer until it has handled the message.
func (c *canary) consume(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	handled := false
	err := c.queue.Consume(ctx, func(context.Context, *dueq.Delivery) error {
		handled = true
		stop()
		return nil
	}, dueq.ConsumeOptions{Concurrency: 1})
	if err == nil && !handled {
		err = fmt.Errorf("no message arrived within %s: %w", canaryTimeout, context.DeadlineExceeded)
	}
	return err
}
