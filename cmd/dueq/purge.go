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
}

func (r purgeResult) text() string { return fmt.Sprintf("purged %d\n", r.Purged) }

func newPurge(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "purge --queue NAME --state STATE [ID...]",
		Short: "Remove messages for good",
		Long: `Remove the messages in a state for good, or those of the given ids that are in that
state. Asks first on a terminal; elsewhere --yes is needed.`,
	}
	state := cmd.Flags().String("state", "", "scheduled, ready or dead")
	_ = cmd.MarkFlagRequired("state") // fails only when there is no such flag
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, ids []string) error {
		if !*yes {
			if err := a.confirm(purgeQuestion(q.Name(), *state, len(ids))); err != nil {
				return err
			}
		}
		n, err := q.Purge(ctx, dueq.State(*state), ids...)
		if err != nil {
			return err
		}
		return a.print(purgeResult{Queue: q.Name(), State: dueq.State(*state), Purged: n})
	})
}

func purgeQuestion(queue, state string, ids int) string {
	if ids > 0 {
		return fmt.Sprintf("Remove %d %s messages of queue %q for good?", ids, state, queue)
	}
	return fmt.Sprintf("Remove every %s message of queue %q for good?", state, queue)
}

// confirm asks a question on the terminal, or returns an error that says how to do
// without.
func (a *app) confirm(question string) error {
	if !term.IsTerminal(a.in) {
		return usage("--yes: is needed, as standard input is no terminal to ask on")
	}
	return a.ask(question)
}

func (a *app) ask(question string) error {
	_, _ = fmt.Fprintf(a.err, "%s [y/N] ", term.Escape(question)) // unseen, it is not answered
	answer, err := bufio.NewReader(io.LimitReader(a.in, 100)).ReadString('\n')
	if err == nil && strings.EqualFold(strings.TrimSpace(answer), "y") {
		return nil
	}
	return errors.New("not confirmed, nothing was removed")
}
