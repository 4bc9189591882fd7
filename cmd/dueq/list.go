package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// page is a part of a list.
type page struct {
	Messages []record `json:"messages"`
	Next     string   `json:"next,omitempty"`
	dead     bool     // as text, show what only dead messages have
}

func (p *page) text() string {
	header := []string{"ID", "STATE", "WHEN", "ATTEMPT", "KEY", "SIZE", "BODY"}
	if p.dead {
		header = []string{"ID", "DIED", "FAILURES", "KEY", "LAST FAILURE"}
	}
	rows := make([][]string, len(p.Messages))
	for i := range p.Messages {
		r := &p.Messages[i]
		if p.dead {
			rows[i] = []string{r.ID, r.DiedAt, strconv.Itoa(r.Failures), r.Key, column(r.LastFailure)}
			continue
		}
		rows[i] = []string{
			r.ID, string(r.State), r.when(), strconv.Itoa(r.Attempt), r.Key, strconv.Itoa(r.BodySize), column(r.bodyText()),
		}
	}
	return term.Table(header, rows)
}

type listFlags struct {
	dueq.ListOptions
	state string
	all   bool
}

func newList(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list --queue NAME",
		Short: "List messages",
		Long: `List messages: those in one state in the order of WHEN (due time; leased: end of the
lease; dead: time of death), or without --state the first of each state.

-o json prints an object per page: {"messages": [...], "next": "cursor"}.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&f.state, "state", "", "scheduled, ready, leased or dead (default: each of them)")
	f.addFlags(cmd)
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		states := []dueq.State{dueq.Ready, dueq.Leased, dueq.Scheduled, dueq.Dead}
		switch {
		case f.state != "":
			states = []dueq.State{dueq.State(f.state)}
		case f.Cursor != "":
			return usage("--cursor: needs --state, as it is a place in the list of one state")
		}
		return a.list(ctx, q, f, states, false)
	})
}

func newDead(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "dead --queue NAME",
		Short: "List dead messages and why they failed",
		Long: `List dead messages (out of attempts, or rejected) with their last failure, the oldest
death first. "dueq redrive" makes them due again, "dueq purge --state dead" removes them.`,
		Args: cobra.NoArgs,
	}
	f.addFlags(cmd)
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return a.list(ctx, q, f, []dueq.State{dueq.Dead}, true)
	})
}

func (f *listFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.Limit, "limit", 100, "messages of a page, 1 to 1000")
	flags.StringVar(&f.Cursor, "cursor", "", "go on where a page ended: its next")
	flags.BoolVar(&f.all, "all", false, "every page, not only the first")
	flags.IntVar(&f.BodyLimit, "body", 200, "bytes of each body to show, 0 for none")
}

// check refuses what the library would take for "the default".
func (f *listFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("limit") && f.Limit < 1 {
		return usage("--limit: %d is outside 1 to 1000", f.Limit)
	}
	return nil
}

// list prints one page, or all, of messages in the given states.
func (a *app) list(ctx context.Context, q *dueq.Queue, f listFlags, states []dueq.State, dead bool) error {
	whole := page{Messages: []record{}, dead: dead}
	for _, state := range states {
		f.State = state
		next, err := a.listState(ctx, q, f, &whole)
		if err != nil {
			return err
		}
		if next == "" {
			continue
		}
		a.note("there are more %s messages: --all, or --state %s --cursor %s", state, state, next)
		if len(states) == 1 {
			whole.Next = next
		}
	}
	return a.print(&whole)
}

// listState adds messages of one state to whole. With --all, pages before the last
// are printed as they come, so that memory stays flat.
func (a *app) listState(ctx context.Context, q *dueq.Queue, f listFlags, whole *page) (next string, err error) {
	for {
		found, err := q.List(ctx, f.ListOptions)
		if err != nil {
			return "", err
		}
		for i := range found.Records {
			whole.Messages = append(whole.Messages, newRecord(found.Records[i]))
		}
		f.Cursor = found.Next
		if !f.all || f.Cursor == "" {
			return f.Cursor, nil
		}
		if len(whole.Messages) >= f.Limit {
			if err := a.print(whole); err != nil {
				return "", err
			}
			whole.Messages = whole.Messages[:0]
		}
	}
}
