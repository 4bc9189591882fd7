package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// delivery is a message that was received.
type delivery struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	content
	Attempt     int    `json:"attempt"`
	Token       int64  `json:"token"`
	Failures    int    `json:"failures"`
	Snoozes     int    `json:"snoozes"`
	MaxAttempts int    `json:"max_attempts"`
	Due         string `json:"due"`
	SentAt      string `json:"sent_at"`
	ExpiresAt   string `json:"expires_at,omitempty"`
}

func newDelivery(d *dueq.Delivery) *delivery {
	return &delivery{
		ID: d.ID, Queue: d.Queue, content: newContent(d.Key, d.Headers, d.Body),
		Attempt: d.Attempt, Token: d.Token, Failures: d.Failures, Snoozes: d.Snoozes, MaxAttempts: d.MaxAttempts,
		Due: timestamp(d.Due), SentAt: timestamp(d.SentAt), ExpiresAt: timestamp(d.ExpiresAt),
	}
}

func (d *delivery) text() string {
	head := fmt.Sprintf("%s  due %s  attempt %d", d.ID, d.Due, d.Attempt)
	if d.Key != "" {
		head += "  key " + d.Key
	}
	if len(d.Headers) > 0 {
		head += "  " + d.headerText()
	}
	return term.Escape(head) + "\n  " + term.Escape(d.bodyText()) + "\n"
}

type receiveFlags struct {
	dueq.ReceiveOptions
	release, follow bool
}

func newReceive(a *app) *cobra.Command {
	var f receiveFlags
	cmd := &cobra.Command{
		Use:   "receive --queue NAME",
		Short: "Receive messages that are due, print and ack them",
		Long: `Receive messages that are due and print them. A message is acked only after it was
written to standard output, so one that could not be written is delivered again.
With --release messages are given back instead, to be received again.

When nothing is due (within --wait), the exit code is 3, also for a paused queue and for one
that does not exist.

With --follow messages are received as they become due until Ctrl-C, which ends it
gracefully with exit code 0. Messages may then be delivered twice, as to any consumer,
if this process is killed between the printing and the ack.

-o json prints one object a line. A body that is not text is in body_base64.`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.IntVar(&f.Max, "max", 1, "messages to receive, 1 to 500")
	flags.Var(span{&f.Wait}, "wait", "how long to wait for a message to become due, up to 1m")
	flags.Var(span{&f.Lease}, "lease", "how long messages are held at most, 1s to 12h (default: what the queue is set to, or 30s)")
	flags.BoolVar(&f.release, "release", false, "give messages back instead of acking them")
	flags.BoolVar(&f.follow, "follow", false, "continue until Ctrl-C")
	return a.onQueue(a.warned(cmd, func() bool { return f.follow }), func(ctx context.Context, q *dueq.Queue, _ []string) error {
		switch {
		case flags.Changed("max") && f.Max < 1: // 0 would mean the default to the library
			return usage("--max: %d is outside 1 to 500", f.Max)
		case flags.Changed("lease") && f.Lease < time.Second:
			return usage("--lease: %s is outside 1s to 12h", f.Lease)
		case f.follow && (f.release || flags.Changed("max") || flags.Changed("wait")):
			return usage("--follow: is given together with --release, --max or --wait, want it alone")
		}
		if !flags.Changed("lease") {
			f.Lease = 0 // the queue's
		}
		switch {
		case f.follow:
			return a.follow(ctx, q, f)
		}
		return a.receive(ctx, q, f)
	})
}

func (a *app) receive(ctx context.Context, q *dueq.Queue, f receiveFlags) error {
	deliveries, err := q.Receive(ctx, f.ReceiveOptions)
	if err != nil {
		return err
	}
	if len(deliveries) == 0 {
		return fmt.Errorf("receive queue %q: %w", q.Name(), errEmpty)
	}
	// What was handed over is settled even if Ctrl-C comes now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	for i, d := range deliveries {
		if err := a.settle(ctx, d, f.release); err != nil {
			return giveBack(ctx, deliveries[i:], err)
		}
	}
	return nil
}

// settle writes a message, then acks it or gives it back.
func (a *app) settle(ctx context.Context, d *dueq.Delivery, release bool) error {
	if err := a.print(newDelivery(d)); err != nil {
		return err
	}
	if release {
		return d.Release(ctx, 0)
	}
	return d.Ack(ctx)
}

// giveBack releases deliveries that were not settled because of err, so that they can be
// delivered again before their leases end.
func giveBack(ctx context.Context, rest []*dueq.Delivery, err error) error {
	for _, d := range rest {
		_ = d.Release(ctx, 0) // if it fails the lease runs out; err is what is reported
	}
	return err
}

// follow prints messages until ctx ends or they can no longer be written.
func (a *app) follow(ctx context.Context, q *dueq.Queue, f receiveFlags) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var unwritten error
	err := q.Consume(ctx, func(ctx context.Context, d *dueq.Delivery) error {
		if unwritten == nil {
			unwritten = a.print(newDelivery(d))
		}
		if unwritten == nil {
			return nil
		}
		stop()
		return giveBack(ctx, []*dueq.Delivery{d}, unwritten)
	}, dueq.ConsumeOptions{Concurrency: 1, Lease: f.Lease}) // one at a time: in order
	return errors.Join(err, unwritten)
}
