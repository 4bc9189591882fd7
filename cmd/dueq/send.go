package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
)

type sendResult struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	// Deduplicated: the message of that id had been sent before with the same --dedup-id.
	Deduplicated bool `json:"deduplicated,omitempty"`
}

func (r sendResult) text() string { return r.ID + "\n" }

func newSend(a *app) *cobra.Command {
	m := dueq.Message{Headers: map[string]string{}}
	cmd := &cobra.Command{
		Use:   "send --queue NAME [BODY | - | --file FILE]",
		Short: "Send a message and print its id",
		Long: `Send a message and print its id.

The body is the argument; "-" reads it from standard input, --file from a file.
Durations are Go's, with d for days and w for weeks: 90s, 1h30m, 2d, 1d12h, 1w.

With --repeat and --key the message recurs: by an interval, "every 10m", or at the times of a
cron expression in a time zone (default UTC), "cron 0 9 * * 1-5 Europe/Berlin". Missed times are
skipped or, with "catch-up" behind the schedule, run once. Sending it again with the same schedule
changes nothing; with another one it changes the live message and prints the id of that.`,
		Example: `  dueq send --queue orders --delay 30m --key order-42 '{"order":42}'
  dueq send --queue reports --key daily --repeat "cron 0 9 * * 1-5 Europe/Berlin" ''
  pg_dump shop | dueq send --queue backups -`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	file := flags.String("file", "", "read the body from this file")
	schedule := scheduleFlags(cmd)
	flags.StringVar(&m.Key, "key", "", "name of your own; at most one live message has it")
	flags.Var(headers{m.Headers}, "header", "header of the message; may be repeated")
	flags.StringVar(&m.DedupID, "dedup-id", "", "name of this send; if it has been used before, print the id of that message and send nothing")
	flags.Var(span{&m.DedupFor}, "dedup-for", "how long to remember the message when it is gone, up to 1d (default: as the queue says)")
	attempts := flags.Int("max-attempts", 0, "deliveries that may fail before the message is dead, 1 to 1000 (default 25)")
	flags.Var(span{&m.TTL}, "ttl", "time from now after which it is no longer delivered (default: it is kept)")
	flags.BoolVar(&m.Replace, "replace", false, "remove the scheduled or ready message that has the key")
	flags.Var(repeat{&m.Repeat}, "repeat", `schedule of a recurring message, such as "every 10m"`)
	return a.onQueue(a.warned(cmd, always), func(ctx context.Context, q *dueq.Queue, args []string) error {
		to, err := schedule()
		if err != nil {
			return err
		}
		if flags.Changed("max-attempts") && *attempts < 1 {
			return usage("--max-attempts: %d is outside 1 to 1000", *attempts)
		}
		m.Delay, m.Due, m.MaxAttempts = to.Delay, to.Due, *attempts
		if m.Body, err = a.body(ctx, args, *file); err != nil {
			return err
		}
		sent, err := q.SendBatch(ctx, []dueq.Message{m})
		if err := cmp.Or(err, sent.FirstErr()); err != nil {
			return err
		}
		return a.print(sendResult{ID: sent[0].ID, Queue: q.Name(), Deduplicated: sent[0].Deduplicated})
	})
}

// maxBody is the most that is read of a body: one byte more than any queue takes, so
// that the library can refuse it.
const maxBody = 4<<20 + 1

// body returns the body, from the one place that was given.
func (a *app) body(ctx context.Context, args []string, file string) ([]byte, error) {
	switch {
	case len(args) == 0 && file == "":
		return nil, usage("no body: give it as an argument, - for standard input, or --file FILE")
	case len(args) > 0 && file != "":
		return nil, usage("--file: is given together with a body, want one of them")
	case len(args) > 0 && args[0] != "-":
		return []byte(args[0]), nil
	}
	in, _, err := a.openInput(ctx, file)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(in, maxBody))
	_ = in.Close() // it was only read
	if err != nil {
		return nil, usage("read the body: %w", err)
	}
	return body, nil
}
