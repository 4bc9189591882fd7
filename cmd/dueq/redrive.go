package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
)

type redriveResult struct {
	Queue    string `json:"queue"`
	Redriven int    `json:"redriven"`
	DryRun   bool   `json:"dry_run,omitempty"` // they would be
}

func (r redriveResult) text() string { return counted(r.DryRun, "redriven", r.Redriven) }

// counted returns what was done, or with --dry-run would be done, to a number of messages.
func counted(dryRun bool, done string, n int) string {
	if dryRun {
		done = "would be " + done + ":"
	}
	return fmt.Sprintf("%s %d\n", done, n)
}

func newRedrive(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "redrive --queue NAME (REF... | - | --all | FILTER...)",
		Short: "Make dead messages due again",
		Long: `Make dead messages due now, or spread over a time, with their failures forgotten. A named
message that is not dead (exit code 3), or one whose key has been taken by another message
(exit code 4), stays as it is; all others are redriven.

` + selectHelp,
		Example: "  dueq redrive --queue mail --failure timeout --died -1d.. --spread 1h",
	}
	choose := selectFlags(cmd, "dead message of the queue")
	choose.spreadFlag()
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, args []string) error {
		named, err := choose.named(args)
		if err != nil {
			return err
		}
		r := redriveResult{Queue: q.Name(), DryRun: choose.bulk.DryRun}
		if named {
			refs, bad := a.refs(ctx, args)
			if bad != nil {
				return bad
			}
			r.Redriven, err = q.Redrive(ctx, refs...)
		} else {
			r.Redriven, err = q.RedriveAll(ctx, choose.filter, &choose.bulk)
		}
		if err != nil && r.Redriven == 0 {
			return err
		}
		return errors.Join(err, a.print(r))
	})
}
