package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
	"github.com/dueq-dev/dueq/internal/transfer"
)

func newExport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "export [QUEUE...]",
		Short: "Write queues with all their messages, to be imported into another store",
		Long: `Write queues, or all if none is named, to standard output: their settings and their messages in
every state, with ids, keys, headers, bodies, due times, attempts, failures and schedules. "dueq import"
makes them again, in this store or in another one. docs/EXPORT.md describes the lines.

To move a store: "dueq pause" its queues, wait until "dueq stats" shows none that is leased, export,
import, and start the producers and consumers on the other store. While a queue is not paused,
messages that change their state may be missed or written twice. A message that a consumer holds is
written as due when its lease ends; if its holder has been asked to stop, it is left out.`,
		Example: `  dueq export > all.jsonl
  dueq export orders mails | DUEQ_STORE=redis://host:6379 dueq import -`,
		ValidArgsFunction: a.completeQueue,
		RunE: a.do(func(ctx context.Context, queues []string) error {
			return a.withClient(ctx, func(client *dueq.Client) error {
				done, err := transfer.Export(ctx, client.Store(), queues, a.out)
				if err != nil {
					return fmt.Errorf("export: %w", err)
				}
				return a.exported(&done)
			})
		}),
	}
}

// exported reports an export on standard error: the messages are on standard output.
func (a *app) exported(done *transfer.Exported) error {
	for _, queue := range done.Running {
		a.note("queue %s is not paused: messages that changed their state meanwhile may be missed or written twice", term.Escape(queue))
	}
	notes := []string{fmt.Sprintf("%d queues, %d messages", done.Queues, done.Messages)}
	if done.Leased > 0 {
		notes = append(notes, fmt.Sprintf("%d of them leased, due when their leases end", done.Leased))
	}
	if done.Cancelling > 0 {
		notes = append(notes, fmt.Sprintf("%d left out whose holders have been asked to stop", done.Cancelling))
	}
	a.note("exported %s", strings.Join(notes, ", "))
	if done.Unreadable > 0 {
		return fmt.Errorf("export: %d messages cannot be read and are left out, see dueq check", done.Unreadable)
	}
	return nil
}
