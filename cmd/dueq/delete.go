package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
)

type deleteResult struct {
	Queue   string `json:"queue"`
	Deleted int    `json:"deleted"`
}

func (r deleteResult) text() string { return fmt.Sprintf("deleted %d\n", r.Deleted) }

func newDelete(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete --queue NAME (REF... | -)",
		Short: "Remove single messages for good",
		Long: `Remove messages for good: scheduled, ready and dead ones. One that is running is cancelled
(exit code 4). Asks first on a terminal; elsewhere --yes is needed. To remove all messages
that a filter chooses, use purge.

Messages are named by id or as key:KEY, as arguments or, with -, one on each line of
standard input.`,
		Example: "  dueq delete --queue orders key:order-42",
		Args:    cobra.MinimumNArgs(1),
	}
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, args []string) error {
		refs, err := a.refs(ctx, args)
		if err != nil {
			return err
		}
		if len(refs) > 0 && !*yes {
			if err := a.confirm(ctx, fmt.Sprintf("Remove %d messages of queue %q for good?", len(refs), q.Name())); err != nil {
				return err
			}
		}
		n, err := q.Delete(ctx, refs...)
		if err != nil && n == 0 {
			return err
		}
		return errors.Join(err, a.print(deleteResult{Queue: q.Name(), Deleted: n}))
	})
}
