package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/when"
)

// rangeHelp explains flags that take a range of instants.
const rangeHelp = `A range is FROM..TO, from FROM on and before TO; either may be missing. Each is a time in
RFC 3339, or a duration before or after now: -2h.. is the last two hours, ..30m up to
half an hour from now.`

// selectHelp explains how messages are chosen.
const selectHelp = `Messages are named by id or as key:KEY, as arguments or, with -, one on each line of
standard input, or they are all those that --all or filters choose; a message must meet
every filter that is given. Without any of these nothing is done.

` + rangeHelp

// filterFlags adds the flags that choose messages.
func filterFlags(cmd *cobra.Command, f *dueq.Filter) {
	flags := cmd.Flags()
	f.Headers = map[string]string{}
	flags.StringVar(&f.Key, "key", "", "only keys that match this `pattern`: * any text, ? any character, [a-z] a set, \\ quotes")
	flags.Var(headers{f.Headers}, "header", "only with this header; may be repeated")
	flags.StringVar(&f.Failure, "failure", "", "only with this `text` in the last failure")
	flags.Var(timeRange{&f.Due}, "due", "only scheduled and ready messages that are due in this range")
	flags.Var(timeRange{&f.Sent}, "sent", "only those sent in this range, by the clock of the sender")
	flags.Var(timeRange{&f.Died}, "died", "only dead messages that died in this range")
	flags.Var(timeRange{&f.Ended}, "ended", "only done messages that ended in this range")
	flags.IntVar(&f.MinAttempts, "min-attempts", 0, "only those delivered at least this often")
}

// timeRange is a flag for a range of instants.
type timeRange struct{ value *dueq.TimeRange }

func (r timeRange) String() string { return "" }
func (r timeRange) Type() string   { return "from..to" }

func (r timeRange) Set(text string) (err error) {
	r.value.From, r.value.To, err = when.Range(text, time.Now())
	return err
}

// selection is what a command acts on: named messages, or all that a filter chooses.
type selection struct {
	filter dueq.Filter
	bulk   dueq.BulkOptions
	all    bool
	cmd    *cobra.Command
}

// selectFlags adds the flags of a command that acts on what a filter chooses.
func selectFlags(cmd *cobra.Command, of string) *selection {
	s := &selection{cmd: cmd}
	cmd.Flags().BoolVar(&s.all, "all", false, "every "+of)
	cmd.Flags().BoolVar(&s.bulk.DryRun, "dry-run", false, "only count what would be done")
	filterFlags(cmd, &s.filter)
	return s
}

// spreadFlag adds --spread.
func (s *selection) spreadFlag() {
	s.cmd.Flags().Var(span{&s.bulk.Spread}, "spread", "spread the due times evenly over this time, in the order of death or due time")
}

// filtered reports whether a filter is given, the state apart.
func (s *selection) filtered() bool {
	found := false
	s.cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "key", "header", "failure", "due", "sent", "died", "ended", "min-attempts":
			found = true
		}
	})
	return found
}

// named reports whether the messages are given by reference, in args. Neither these nor a
// filter is an error, and so is both.
func (s *selection) named(args []string) (bool, error) {
	chosen := s.all || s.filtered()
	switch {
	case s.all && s.filtered():
		return false, usage("--all: is given together with a filter, want one of them")
	case len(args) == 0 && !chosen:
		return false, usage("nothing to act on: want ids, -, --all or a filter such as --key")
	case len(args) > 0 && chosen:
		return false, usage("--all: want ids, --all or filters, one of the three")
	case len(args) > 0 && (s.bulk.DryRun || s.bulk.Spread != 0):
		return false, usage("--dry-run and --spread: are for --all and filters, not for ids")
	}
	return len(args) > 0, nil
}

// refs reads references: the arguments or, with "-" alone, the lines of standard input.
func (a *app) refs(ctx context.Context, args []string) ([]dueq.Ref, error) {
	if len(args) == 1 && args[0] == "-" {
		var err error
		if args, err = a.lines(ctx); err != nil {
			return nil, err
		}
		if len(args) == 0 {
			a.note("there are no ids on standard input: nothing is done")
		}
	}
	refs := make([]dueq.Ref, len(args))
	for i, text := range args {
		var err error
		if refs[i], err = dueq.ParseRef(text); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// lines returns the lines of standard input that are not blank.
func (a *app) lines(ctx context.Context) ([]string, error) {
	in := interruptible(ctx, a.in)
	defer func() { _ = in.Close() }() // always nil
	var lines []string
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" {
			lines = append(lines, line)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return lines, nil
}
