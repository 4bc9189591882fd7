package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
	"github.com/dueq-dev/dueq/internal/migrate"
)

// migrateResult compares the source with what was copied.
type migrateResult struct{ migrate.Result }

func (r *migrateResult) text() string {
	rows := make([][]string, len(r.States))
	for i, s := range r.States {
		rows[i] = []string{s.State, strconv.Itoa(s.Source), strconv.Itoa(s.Copied), strconv.Itoa(s.Before), strconv.Itoa(s.Skipped)}
	}
	var b strings.Builder
	b.WriteString(term.Table([]string{"STATE", "SOURCE", "COPIED", "BEFORE", "SKIPPED"}, rows))
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "skipped: %d %s\n", s.Count, term.Escape(s.Reason))
		if s.Refused {
			fmt.Fprintf(&b, "  the first: %s\n", term.Escape(s.First))
		}
	}
	for _, l := range r.Lost {
		fmt.Fprintf(&b, "not copied: the %s of %d messages\n", term.Escape(l.Reason), l.Count)
	}
	fmt.Fprintf(&b, "sent %d messages to queue %s\n", r.Sent, term.Escape(r.Queue))
	return b.String()
}

// err returns why a part of the source is not in dueq, nil if all that can be copied is.
func (r *migrateResult) err() error {
	if n := r.Refused(); n > 0 {
		return fmt.Errorf("migrate: %d messages cannot be copied", n)
	}
	if n := r.Missing(); n > 0 {
		return fmt.Errorf("migrate: the source has changed meanwhile, %d messages were not seen: run it again", n)
	}
	return nil
}

func newMigrate(a *app) *cobra.Command {
	var c migrate.Config
	cmd := &cobra.Command{
		Use:   "migrate (asynq | bullmq | delayqueue) NAME --from URL --queue NAME",
		Short: "Copy the messages of another queue on Redis",
		Long: `Copy the messages of a queue of asynq, BullMQ or HDT3213/delayqueue to a queue of dueq, with
their due times and the attempts that are left. NAME is the name of the queue there, and the
URL that of its Redis, or of a replica. The source is only read.

Stop the consumers of the source first; its producers may run. With --follow the command
copies what they send, until Ctrl-C or SIGTERM; it looks once a second, or less often when
a look takes long. At the end it compares the counts of the source with what was copied.

A message that was copied is not copied again, by this run or another with the same --keys
and --prefix, as long as the copy exists and for 24 h after. So a run that was interrupted
is repeated, and the exit code is 1 until nothing is missing.

The body is copied as it is. The header Migrated-From names the source and the id,
Migrated-Type the type of an asynq task or the name of a BullMQ job. Messages that are done
or failed for good, groups, flows and jobs of schedulers are not copied, but counted.`,
		Example: `  dueq migrate asynq default --from redis://old:6379 --queue mail --follow
  dueq migrate asynq default --from redis://old:6379 --type email:welcome --queue mail.welcome
  dueq migrate bullmq webhooks --from redis://old:6379/1 --queue webhooks`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeKind,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.From, "from", "", "`URL` of the Redis that has the other queue (default $DUEQ_FROM)")
	flags.StringVar(&c.Prefix, "prefix", "", "prefix of its keys, if it is not the usual one (bullmq, delayqueue)")
	flags.StringVar(&c.Type, "type", "", "copy only asynq tasks of this type, or BullMQ jobs of this name")
	flags.BoolVar(&c.Keys, "keys", false, "use the ids of the source as keys, by which copies can be cancelled or rescheduled")
	flags.BoolVar(&c.Active, "active", false, "also copy what consumers of the source hold: they must have stopped")
	flags.BoolVar(&c.Follow, "follow", false, "go on copying until Ctrl-C or SIGTERM")
	return a.onQueue(a.warned(cmd, always), func(ctx context.Context, q *dueq.Queue, args []string) error {
		c.Kind, c.Name, c.To = args[0], args[1], q
		return a.runMigrate(ctx, c)
	})
}

func (a *app) runMigrate(ctx context.Context, c migrate.Config) error {
	c.From = cmp.Or(c.From, a.env("DUEQ_FROM"))
	if c.From == "" {
		return usage("--from: want the URL of the Redis that has the other queue, or set DUEQ_FROM")
	}
	if c.Prefix != "" && c.Kind == "asynq" {
		return usage("--prefix: asynq has no prefixes")
	}
	sent := 0
	c.Looked = func(r migrate.Result) {
		if r.Sent > sent {
			a.note("copied %d messages", r.Sent)
		}
		sent = r.Sent
	}
	c.Failed = func(err error) { a.note("%s; trying again", strings.TrimPrefix(oneLine(err, c.From), "dueq: ")) }
	r, err := migrate.Run(ctx, c)
	if err != nil {
		return fmt.Errorf("migrate: %d messages were sent, then: %w", r.Sent, err)
	}
	result := &migrateResult{r}
	return errors.Join(result.err(), a.print(result))
}

func completeKind(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return migrate.Kinds(), cobra.ShellCompDirectiveNoFileComp
}
