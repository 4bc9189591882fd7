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
}

func (r redriveResult) text() string { return fmt.Sprintf("redriven %d\n", r.Redriven) }

func newRedrive(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "redrive --queue NAME (ID... | --all)",
		Short: "Make dead messages due again",
		Long: `Make dead messages due now, with their failures forgotten. A message that is not dead
(exit code 3), or whose key another message has by now (exit code 4), stays as it is;
all others are redriven.`,
	}
	all := cmd.Flags().Bool("all", false, "every dead message of the queue")
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, ids []string) error {
		if *all == (len(ids) > 0) {
			return usage("--all: want ids or --all, one of the two")
		}
		n, err := q.Redrive(ctx, ids...)
		if err != nil && n == 0 {
			return err
		}
		return errors.Join(err, a.print(redriveResult{Queue: q.Name(), Redriven: n}))
	})
}
