package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

type pauseResult struct {
	Queue  string `json:"queue"`
	Paused bool   `json:"paused"`
}

func (r pauseResult) text() string {
	if r.Paused {
		return "paused " + term.Escape(r.Queue) + "\n"
	}
	return "resumed " + term.Escape(r.Queue) + "\n"
}

func newPause(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause --queue NAME",
		Short: "Stop handing out messages of a queue",
		Long: `Stop handing out messages of a queue, to all its consumers, until "dueq resume".
Messages can still be sent, and consumers finish those that they hold.`,
		Args: cobra.NoArgs,
	}
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		if err := q.Pause(ctx); err != nil {
			return err
		}
		return a.print(pauseResult{Queue: q.Name(), Paused: true})
	})
}

func newResume(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume --queue NAME",
		Short: "Hand out messages of a paused queue again",
		Args:  cobra.NoArgs,
	}
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		if err := q.Resume(ctx); err != nil {
			return err
		}
		return a.print(pauseResult{Queue: q.Name(), Paused: false})
	})
}
