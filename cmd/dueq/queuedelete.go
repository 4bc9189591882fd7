package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
)

type queueDeleteResult struct {
	Queue   string `json:"queue"`
	Deleted bool   `json:"deleted"`
}

func (r queueDeleteResult) text() string { return fmt.Sprintf("deleted queue %q\n", r.Queue) }

func newQueueDelete(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete --queue NAME",
		Short: "Delete a queue",
		Long: `Delete a queue with its settings and counters. One that has messages, dead ones included,
is deleted only with --force, together with them; else the exit code is 4 and nothing is
changed. Asks first on a terminal; elsewhere --yes is needed.

Its consumers notice within 2 s, and stop. A send to the queue afterwards makes a
new one with the default settings, so stop its producers first.`,
		Example: "  dueq queue delete --queue orders",
		Args:    cobra.NoArgs,
	}
	force := cmd.Flags().Bool("force", false, "delete the messages of the queue, too")
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	name := queueFlag(cmd)
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		return a.withClient(ctx, func(client *dueq.Client) error {
			if !*yes {
				question, err := deleteQuestion(ctx, client.Queue(*name), *force)
				if err != nil {
					return err
				}
				if err := a.confirm(ctx, question); err != nil {
					return err
				}
			}
			if err := client.DeleteQueue(ctx, *name, &dueq.DeleteQueueOptions{Force: *force}); err != nil {
				return err
			}
			return a.print(queueDeleteResult{Queue: *name, Deleted: true})
		})
	})
	return cmd
}

// deleteQuestion says what would be lost.
func deleteQuestion(ctx context.Context, q *dueq.Queue, force bool) (string, error) {
	st, err := q.Stats(ctx)
	if err != nil {
		return "", err
	}
	if n := st.Scheduled + st.Ready + st.Leased + st.Dead; force && n > 0 {
		return fmt.Sprintf("Delete queue %q with %d messages, %d of them dead, for good?", q.Name(), n, st.Dead), nil
	}
	return fmt.Sprintf("Delete queue %q for good?", q.Name()), nil
}
