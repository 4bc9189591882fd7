package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	}
	rows = append(rows, r.earlierFailures()...)
	rows = append(rows, []string{"headers", r.headerText()}, []string{"body", fmt.Sprintf("%d bytes", r.BodySize)})
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

// earlierFailures returns a row for each failure before the last one, the newest first.
func (r *record) earlierFailures() [][]string {
	var rows [][]string
	for i, f := range r.RecentFailures {
		if i > 0 {
			rows = append(rows, []string{"failure before", fmt.Sprintf("attempt %d, %s: %s", f.Attempt, f.At, f.Text)})
		}
	}
	return rows
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

// shown are the messages of several queues that a reference names.
type shown []record

func (s shown) text() string {
	texts := make([]string, len(s))
	for i := range s {
		texts[i] = s[i].text()
	}
	return strings.Join(texts, "\n")
}

func newShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [--queue NAME] (ID | key:KEY)",
		Short: "Show one message with its whole body, and who holds it",
		Long: `Show one message with its whole body: live, dead or, where the queue has a history, done; and who
holds it, while it is leased. Without --queue it is looked for in every queue, and -o json prints an
array: several queues may have a message with the key.

` + refHelp,
		Args: cobra.ExactArgs(1),
	}
	queue := cmd.Flags().StringP("queue", "q", "", "name of the queue (default: every queue)")
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		ref, err := dueq.ParseRef(args[0])
		if err != nil {
			return err
		}
		return a.withClient(ctx, func(client *dueq.Client) error {
			if !cmd.Flags().Changed("queue") {
				return a.showAny(ctx, client, ref, args[0])
			}
			found, err := client.Queue(*queue).Get(ctx, ref)
			if err != nil {
				return err
			}
			r := newRecord(found)
			return a.print(&r)
		})
	})
	return cmd
}

// showAny shows the messages of all queues that a reference names.
func (a *app) showAny(ctx context.Context, client *dueq.Client, ref dueq.Ref, text string) error {
	names, err := client.Store().Queues(ctx)
	if err != nil {
		return err
	}
	var all shown
	for _, name := range names {
		found, err := client.Queue(name).Get(ctx, ref)
		switch {
		case errors.Is(err, dueq.ErrNotFound):
		case err != nil:
			return err
		default:
			all = append(all, newRecord(found))
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("show: message %q is in none of %d queues: %w", text, len(names), dueq.ErrNotFound)
	}
	return a.print(all)
}
