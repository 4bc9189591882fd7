package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// page is a part of a list.
type page struct {
	Messages []record `json:"messages"`
	Next     string   `json:"next,omitempty"`
	dead     bool     // as text, show what only dead messages have
	rest     bool     // as text, leave out the header: a page before had it
	recurs   bool     // as text, show schedules: a message that has been shown has one
	held     bool     // likewise, holders
}

// bodyColumn is where the body is shown, in front of which holders and schedules are if there
// are any.
const bodyColumn = 6

func (p *page) text() string {
	header := []string{"ID", "STATE", "WHEN", "ATTEMPT", "KEY", "SIZE", "BODY"}
	if p.dead {
		header = []string{"ID", "DIED", "FAILURES", "KEY", "LAST FAILURE"}
	}
	p.recurs = p.recurs || slices.ContainsFunc(p.Messages, func(r record) bool { return r.Repeat != "" })
	p.held = p.held || slices.ContainsFunc(p.Messages, func(r record) bool { return r.Holder != "" })
	if p.recurs && !p.dead {
		header = slices.Insert(header, bodyColumn, "REPEAT")
	}
	if p.held && !p.dead {
		header = slices.Insert(header, bodyColumn, "HOLDER")
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
		if p.recurs {
			rows[i] = slices.Insert(rows[i], bodyColumn, column(r.Repeat))
		}
		if p.held {
			rows[i] = slices.Insert(rows[i], bodyColumn, r.Holder)
		}
	}
	text := term.Table(header, rows)
	if p.rest {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

type listFlags struct {
	dueq.ListOptions
	order string
	state string
	all   bool
}

func newList(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list --queue NAME",
		Short: "List messages",
		Long: `List messages: those in one state, partition by partition, in the order of WHEN (due time;
leased: end of the lease; dead: time of death; done: when it ended), or without --state the first
of each state. --order desc has the latest first, over all partitions.
HOLDER is the consumer that has a leased message: the name of its process, or a name that the
program sets, and a unique suffix.

A message must meet every filter that is given.

` + rangeHelp + `

-o json prints an object per page: {"messages": [...], "next": "cursor"}.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&f.state, "state", "", "scheduled, ready, leased, dead or done (default: each of them)")
	f.addFlags(cmd)
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		states := f.states()
		switch {
		case f.state != "":
			states = []dueq.State{dueq.State(f.state)}
		case f.Cursor != "":
			return usage("--cursor: needs --state, as it is a position in the list of one state")
		}
		return a.list(ctx, q, f, states, false)
	})
}

func newDead(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "dead --queue NAME",
		Short: "List dead messages and why they failed",
		Long: `List dead messages (out of attempts, or rejected) with their last failure, in each
partition the oldest death first; --order desc has the latest first, over all partitions.
"dueq redrive" makes them due again, "dueq purge --state dead --all" removes them.`,
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
	filterFlags(cmd, &f.Filter)
	flags.IntVar(&f.Limit, "limit", 100, "messages of a page, 1 to 1000")
	flags.StringVar(&f.order, "order", "", "by time over all partitions: asc, the earliest first, or desc (default: partition by partition)")
	flags.StringVar(&f.Cursor, "cursor", "", "begin behind a page: its next")
	flags.BoolVar(&f.all, "all", false, "every page, not only the first")
	flags.IntVar(&f.BodyLimit, "body", 200, "bytes of each body to show, 0 for none")
}

// states returns the states that messages can be in which the filter chooses.
func (f *listFlags) states() []dueq.State {
	switch {
	case f.Filter.Due != dueq.TimeRange{}:
		return []dueq.State{dueq.Ready, dueq.Scheduled}
	case f.Filter.Died != dueq.TimeRange{}:
		return []dueq.State{dueq.Dead}
	case f.Filter.Ended != dueq.TimeRange{}:
		return []dueq.State{dueq.Done}
	}
	return []dueq.State{dueq.Ready, dueq.Leased, dueq.Scheduled, dueq.Dead, dueq.Done}
}

// check refuses what the library would take for "the default".
func (f *listFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("limit") && f.Limit < 1 {
		return usage("--limit: %d is outside 1 to 1000", f.Limit)
	}
	f.Order = dueq.Order(f.order)
	return nil
}

// list prints one page, or all, of messages in the given states.
func (a *app) list(ctx context.Context, q *dueq.Queue, f listFlags, states []dueq.State, dead bool) error {
	whole := page{Messages: []record{}, dead: dead}
	for _, state := range states {
		f.Filter.State = state
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

// listState adds messages of one state to whole: as many as make up a page, or with --all
// every one. Then pages before the last are printed as they come, so that memory stays flat.
func (a *app) listState(ctx context.Context, q *dueq.Queue, f listFlags, whole *page) (next string, err error) {
	o, left := f.ListOptions, f.Limit
	for {
		if !f.all {
			o.Limit = left
		}
		found, err := q.List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range found.Records {
			whole.Messages = append(whole.Messages, newRecord(found.Records[i]))
		}
		left -= len(found.Records)
		o.Cursor = found.Next
		if o.Cursor == "" || !f.all && left <= 0 {
			return o.Cursor, nil
		}
		if f.all && len(whole.Messages) >= f.Limit {
			if err := a.print(whole); err != nil {
				return "", err
			}
			whole.Messages, whole.rest = whole.Messages[:0], true
		}
	}
}
