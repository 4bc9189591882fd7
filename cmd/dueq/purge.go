package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

type purgeResult struct {
	Queue  string     `json:"queue"`
	State  dueq.State `json:"state"`
	Purged int        `json:"purged"`
	DryRun bool       `json:"dry_run,omitempty"` // they would be
}

func (r purgeResult) text() string { return counted(r.DryRun, "purged", r.Purged) }

func newPurge(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "purge --queue NAME --state STATE (--all | FILTER...)",
		Short: "Remove all messages in a state for good",
		Long: `Remove the messages in a state for good: all of them, or those that filters choose; a
message must meet every filter that is given. Asks first on a terminal; elsewhere --yes is
needed. To remove single messages, use delete.

` + rangeHelp,
		Example: "  dueq purge --queue mail --state dead --died ..-30d",
		Args:    cobra.NoArgs,
	}
	choose := selectFlags(cmd, "message in the state")
	state := cmd.Flags().String("state", "", "scheduled, ready, dead or done")
	_ = cmd.MarkFlagRequired("state") // fails only when there is no such flag
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, args []string) error {
		if _, err := choose.named(args); err != nil {
			return err
		}
		choose.filter.State = dueq.State(*state)
		if !*yes && !choose.bulk.DryRun {
			if err := a.confirm(ctx, purgeQuestion(q.Name(), *state, choose.filtered())); err != nil {
				return err
			}
		}
		n, err := q.Purge(ctx, choose.filter, &choose.bulk)
		if err != nil {
			return err
		}
		return a.print(purgeResult{Queue: q.Name(), State: dueq.State(*state), Purged: n, DryRun: choose.bulk.DryRun})
	})
}

func purgeQuestion(queue, state string, filtered bool) string {
	if filtered {
		return fmt.Sprintf("Remove the %s messages of queue %q that match for good?", state, queue)
	}
	return fmt.Sprintf("Remove every %s message of queue %q for good?", state, queue)
}

// confirm asks a question on the terminal, or returns an error that says how to do
// without.
func (a *app) confirm(ctx context.Context, question string) error {
	if !term.IsTerminal(a.in) {
		return usage("--yes: is needed, as standard input is no terminal to ask on")
	}
	return a.ask(ctx, question)
}

// ask returns nil if the answer is yes. It does not wait for one longer than ctx lasts.
func (a *app) ask(ctx context.Context, question string) error {
	_, _ = fmt.Fprintf(a.err, "%s [y/N] ", term.Escape(question)) // unseen, it is not answered
	in := interruptible(ctx, a.in)
	defer func() { _ = in.Close() }() // always nil
	answer, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	switch {
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(a.err) // behind the question and ^C
		return fmt.Errorf("%w: %w", errUnanswered, ctx.Err())
	case err == nil && strings.EqualFold(strings.TrimSpace(answer), "y"):
		return nil
	}
	return errors.New("not confirmed, nothing was removed")
}
