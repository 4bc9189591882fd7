package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

type rescheduleResult struct {
	ID          string `json:"id"` // as it was given, also key:KEY
	Queue       string `json:"queue"`
	Rescheduled bool   `json:"rescheduled"`
}

func (r rescheduleResult) text() string { return "rescheduled " + term.Escape(r.ID) + "\n" }

func newReschedule(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reschedule --queue NAME (ID | key:KEY) (--delay SPAN | --at TIME)",
		Short: "Give a message another due time",
		Long: `Give a message that is scheduled or ready another due time. One that is running is
left as it is (exit code 4).

` + refHelp,
		Example: "  dueq reschedule --queue orders key:order-42 --delay 2d",
		Args:    cobra.ExactArgs(1),
	}
	schedule := scheduleFlags(cmd)
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, args []string) error {
		to, err := schedule()
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("delay") && !cmd.Flags().Changed("at") {
			return usage("no due time: give --delay or --at")
		}
		ref, err := dueq.ParseRef(args[0])
		if err != nil {
			return err
		}
		if err := q.Reschedule(ctx, ref, to); errors.Is(err, dueq.ErrRunning) {
			return fmt.Errorf("%w, left as it is", err)
		} else if err != nil {
			return err
		}
		return a.print(rescheduleResult{ID: args[0], Queue: q.Name(), Rescheduled: true})
	})
}
