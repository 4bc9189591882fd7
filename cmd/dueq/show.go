package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

func (r *record) text() string {
	rows := [][]string{
		{"id", r.ID},
		{"queue", r.Queue},
		{"key", r.Key},
		{"state", string(r.State)},
		{"due", r.Due},
		{"leased until", r.LeasedUntil},
		{"holder", r.Holder},
		{"died", r.DiedAt},
		{"ended", r.EndedAt},
		{"ending", string(r.Ending)},
		{"sent", r.SentAt},
		{"expires", r.ExpiresAt},
		{"repeats", r.Repeat},
		{"attempt", strconv.Itoa(r.Attempt)},
		{"token", strconv.FormatInt(r.Token, 10)},
		{"failures", fmt.Sprintf("%d of %d", r.Failures, r.MaxAttempts)},
		{"snoozes", countText(r.Snoozes)},
		{"last failure", r.LastFailure},
		{"headers", r.headerText()},
		{"body", fmt.Sprintf("%d bytes", r.BodySize)},
	}
	if r.Cancelling {
		rows = append(rows, []string{"cancelling", "its holder has been asked to stop"})
	}
	shown := rows[:0]
	for _, row := range rows {
		if row[1] != "" {
			shown = append(shown, row)
		}
	}
	return term.Table(shown[0], shown[1:]) + "\n" + term.Escape(r.bodyText()) + "\n"
}

// countText writes a count, "" for 0.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// refHelp explains arguments that name a message.
const refHelp = `A message is named by the id that send printed, or as key:NAME by its key. A key names the
message that has it or, if there is none, the dead one that had it last.`

func newShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show --queue NAME (ID | key:KEY)",
		Short: "Show one message with its whole body",
		Long:  "Show one message with its whole body: live, dead or, where the queue has a history, done.\n\n" + refHelp,
		Args:  cobra.ExactArgs(1),
	}
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, args []string) error {
		ref, err := dueq.ParseRef(args[0])
		if err != nil {
			return err
		}
		found, err := q.Get(ctx, ref)
		if err != nil {
			return err
		}
		r := newRecord(found)
		return a.print(&r)
	})
}
