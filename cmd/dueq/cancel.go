package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

type cancelResult struct {
	ID        string `json:"id"` // as it was given, also key:KEY
	Queue     string `json:"queue"`
	Cancelled bool   `json:"cancelled"`
}

func (r cancelResult) text() string { return "cancelled " + term.Escape(r.ID) + "\n" }

func newCancel(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel --queue NAME (ID | key:KEY)",
		Short: "Cancel a message, so that it is never delivered",
		Long: `Cancel a message that is scheduled or ready: it is removed and never delivered.

For one that is running the exit code is 4: its holder is asked to stop, may still
finish it, and it is never delivered again. A dead message stays as it is (exit code 3);
remove it with purge.

` + refHelp,
		Example: "  dueq cancel --queue orders key:order-42",
		Args:    cobra.ExactArgs(1),
	}
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, args []string) error {
		ref, err := dueq.ParseRef(args[0])
		if err != nil {
			return err
		}
		if err := q.Cancel(ctx, ref); errors.Is(err, dueq.ErrRunning) {
			return fmt.Errorf("%w, its holder has been asked to stop", err)
		} else if err != nil {
			return err
		}
		return a.print(cancelResult{ID: args[0], Queue: q.Name(), Cancelled: true})
	})
}
