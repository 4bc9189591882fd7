package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
)

type rescheduleResult struct {
	Queue       string `json:"queue"`
	Rescheduled int    `json:"rescheduled"`
	DryRun      bool   `json:"dry_run,omitempty"` // they would be
}

func (r rescheduleResult) text() string { return counted(r.DryRun, "rescheduled", r.Rescheduled) }

func newReschedule(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reschedule --queue NAME (REF... | - | --all | FILTER...) (--delay SPAN | --at TIME)",
		Short: "Give messages another due time",
		Long: `Give messages that are scheduled or ready another due time. A named one that is running
(exit code 4), dead or unknown (exit code 3) is left as it is.

` + selectHelp,
		Example: "  dueq reschedule --queue orders key:order-42 --delay 2d",
	}
	choose := selectFlags(cmd, "scheduled and ready message of the queue")
	choose.spreadFlag()
	schedule := scheduleFlags(cmd)
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, args []string) error {
		to, err := schedule()
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("delay") && !cmd.Flags().Changed("at") {
			return usage("no due time: give --delay or --at")
		}
		named, err := choose.named(args)
		if err != nil {
			return err
		}
		r := rescheduleResult{Queue: q.Name(), DryRun: choose.bulk.DryRun}
		if named {
			r.Rescheduled, err = a.rescheduleEach(ctx, q, args, to)
		} else {
			r.Rescheduled, err = q.RescheduleAll(ctx, choose.filter, to, &choose.bulk)
		}
		if err != nil && r.Rescheduled == 0 {
			return err
		}
		return errors.Join(err, a.print(r))
	})
}

// rescheduleEach returns how many of the named messages were given the due time, and why the
// others were not.
func (a *app) rescheduleEach(ctx context.Context, q *dueq.Queue, args []string, to dueq.Schedule) (int, error) {
	refs, err := a.refs(ctx, args)
	if err != nil {
		return 0, err
	}
	n, refused := 0, []error(nil)
	for _, ref := range refs {
		err := q.Reschedule(ctx, ref, to)
		switch {
		case err == nil:
			n++
		case errors.Is(err, dueq.ErrRunning), errors.Is(err, dueq.ErrDead), errors.Is(err, dueq.ErrNotFound):
			refused = append(refused, fmt.Errorf("%w, left as it is", err))
		default:
			return n, errors.Join(append(refused, err)...)
		}
	}
	return n, errors.Join(refused...)
}
