package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// settingsResult are the settings of a queue. Scripts rely on these names; 0 is the
// default, or no limit.
type settingsResult struct {
	Queue           string `json:"queue"`
	Partitions      int    `json:"partitions"`
	GrowingFrom     int    `json:"growing_from"`
	Paused          bool   `json:"paused"`
	MaxBody         int    `json:"max_body"`
	MaxMessages     int64  `json:"max_messages"`
	DeadRetentionMS int64  `json:"dead_retention_ms"`
	MaxDead         int64  `json:"max_dead"`
	HistoryMS       int64  `json:"history_ms"`
	MaxHistory      int64  `json:"max_history"`
	MaxAttempts     int    `json:"max_attempts"`
	LeaseMS         int64  `json:"lease_ms"`
	BackoffBaseMS   int64  `json:"backoff_base_ms"`
	BackoffMostMS   int64  `json:"backoff_most_ms"`
	DedupForMS      int64  `json:"dedup_for_ms"`
}

func newSettingsResult(queue string, s dueq.Settings) settingsResult {
	return settingsResult{
		Queue: queue, Partitions: s.Partitions, GrowingFrom: s.GrowingFrom, Paused: s.Paused, MaxBody: s.MaxBody, MaxMessages: s.MaxMessages,
		DeadRetentionMS: s.DeadRetention.Milliseconds(), MaxDead: s.MaxDead,
		HistoryMS: s.History.Milliseconds(), MaxHistory: s.MaxHistory,
		MaxAttempts: s.MaxAttempts, LeaseMS: s.Lease.Milliseconds(),
		BackoffBaseMS: s.Backoff.Base.Milliseconds(), BackoffMostMS: s.Backoff.Most.Milliseconds(),
		DedupForMS: s.DedupFor.Milliseconds(),
	}
}

// partitionsText returns the number of partitions, and the one from which it is growing.
func partitionsText(partitions, from int) string {
	if from == 0 {
		return strconv.Itoa(partitions)
	}
	return fmt.Sprintf("%d, growing from %d", partitions, from)
}

func (r settingsResult) text() string {
	number := func(n int64, zero string) string {
		if n == 0 {
			return zero
		}
		return strconv.FormatInt(n, 10)
	}
	span := func(ms int64, zero string) string {
		if ms == 0 {
			return zero
		}
		return (time.Duration(ms) * time.Millisecond).String()
	}
	return term.Table([]string{"SETTING", "VALUE"}, [][]string{
		{"queue", r.Queue},
		{"partitions", partitionsText(r.Partitions, r.GrowingFrom)},
		{"paused", strconv.FormatBool(r.Paused)},
		{"max body", fmt.Sprintf("%d bytes", r.MaxBody)},
		{"max messages", number(r.MaxMessages, "no limit")},
		{"dead retention", span(r.DeadRetentionMS, "no limit")},
		{"max dead", number(r.MaxDead, "no limit")},
		{"history", span(r.HistoryMS, "off")},
		{"max history", number(r.MaxHistory, "default")},
		{"max attempts", number(int64(r.MaxAttempts), "default")},
		{"lease", span(r.LeaseMS, "default")},
		{"backoff base", span(r.BackoffBaseMS, "default")},
		{"backoff most", span(r.BackoffMostMS, "default")},
		{"dedup for", span(r.DedupForMS, "0s")},
	})
}

func newQueue(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Make and delete queues, show and change their settings",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() }, // without it any argument is accepted
	}
	cmd.AddCommand(creating(newQueueCreate(a)), newQueueSettings(a), newQueueUpdate(a), newQueueDelete(a))
	return cmd
}

func newQueueCreate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create --queue NAME",
		Short: "Make a queue with settings",
		Long: `Make a queue with settings. A queue that exists with the same settings is left as it is;
with others, the exit code is 4. A queue that does not exist is made by its
first message or consumer, with the default settings.`,
		Args: cobra.NoArgs,
	}
	var s dueq.Settings
	cmd.Flags().IntVar(&s.Partitions, "partitions", 1, "parts of the queue, 1 to 1024")
	settingsFlags(cmd.Flags(), &s)
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		if cmd.Flags().Changed("partitions") && s.Partitions < 1 {
			return usage("--partitions: %d is outside 1 to 1024", s.Partitions)
		}
		if err := q.Create(ctx, s); err != nil {
			return err
		}
		made, err := q.Settings(ctx)
		if err != nil {
			return err
		}
		return a.print(newSettingsResult(q.Name(), made))
	})
}

// settingsFlags are those that create and update have.
func settingsFlags(flags *pflag.FlagSet, s *dueq.Settings) {
	flags.IntVar(&s.MaxBody, "max-body", 0, "bytes of the largest body, up to 4194304 (0: 262144)")
	flags.Int64Var(&s.MaxMessages, "max-messages", 0, "messages that the queue holds at most, dead ones not counted, in equal shares for its partitions (0: no limit)")
	flags.Var(span{&s.DeadRetention}, "dead-retention", "how long dead messages are kept (0: until they are removed)")
	flags.Int64Var(&s.MaxDead, "max-dead", 0, "dead messages that the queue keeps, the oldest of more are removed, in equal shares for its partitions (0: no limit)")
	flags.Var(span{&s.History}, "history", "how long messages are kept as done after they ended (0: they are not)")
	flags.Int64Var(&s.MaxHistory, "max-history", 0, "done messages that the queue keeps, in equal shares for its partitions, up to 1000000 (0: 10000, with --history)")
	flags.IntVar(&s.MaxAttempts, "max-attempts", 0, "failures after which a message is dead, unless it sets another number, up to 1000 (0: the library's default)")
	flags.Var(span{&s.Lease}, "lease", "how long consumers hold a message at a time, unless they set another lease, 1s to 12h (0: 30s)")
	flags.Var(span{&s.Backoff.Base}, "backoff-base", "the longest wait after the first failure, which doubles with each (0: the library's default)")
	flags.Var(span{&s.Backoff.Most}, "backoff-most", "the longest wait after a failure (0: the library's default)")
	flags.Var(span{&s.DedupFor}, "dedup-for", "how long messages that are gone are recognized when they are sent again, unless they set another time, up to 1d (0: not)")
}

func newQueueSettings(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settings --queue NAME",
		Short: "Show the settings of a queue",
		Args:  cobra.NoArgs,
	}
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		s, err := q.Settings(ctx)
		if err != nil {
			return err
		}
		return a.print(newSettingsResult(q.Name(), s))
	})
}

func newQueueUpdate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update --queue NAME",
		Short: "Change the settings of a queue",
		Long: `Change those settings of a queue for which a flag is given, for all its producers and
consumers; see also "dueq pause". A queue can get more partitions, not fewer: it is growing then,
until its keys have moved to their partitions, and cannot get more before.`,
		Args: cobra.NoArgs,
	}
	var given dueq.Settings
	cmd.Flags().IntVar(&given.Partitions, "partitions", 0, "parts of the queue, up to 1024, not fewer than it has")
	settingsFlags(cmd.Flags(), &given)
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		change, some := changedSettings(cmd.Flags(), &given)
		if !some {
			return usage("no setting is given, see --help")
		}
		s, err := q.Update(ctx, change)
		if err != nil {
			return err
		}
		return a.print(newSettingsResult(q.Name(), s))
	})
}

// changedSettings returns what sets those settings for which a flag was given, and whether
// there is one.
func changedSettings(flags *pflag.FlagSet, given *dueq.Settings) (change func(*dueq.Settings), some bool) {
	set := map[string]func(*dueq.Settings){
		"partitions":     func(s *dueq.Settings) { s.Partitions = given.Partitions },
		"max-body":       func(s *dueq.Settings) { s.MaxBody = given.MaxBody },
		"max-messages":   func(s *dueq.Settings) { s.MaxMessages = given.MaxMessages },
		"dead-retention": func(s *dueq.Settings) { s.DeadRetention = given.DeadRetention },
		"max-dead":       func(s *dueq.Settings) { s.MaxDead = given.MaxDead },
		"history":        func(s *dueq.Settings) { s.History = given.History },
		"max-history":    func(s *dueq.Settings) { s.MaxHistory = given.MaxHistory },
		"max-attempts":   func(s *dueq.Settings) { s.MaxAttempts = given.MaxAttempts },
		"lease":          func(s *dueq.Settings) { s.Lease = given.Lease },
		"backoff-base":   func(s *dueq.Settings) { s.Backoff.Base = given.Backoff.Base },
		"backoff-most":   func(s *dueq.Settings) { s.Backoff.Most = given.Backoff.Most },
		"dedup-for":      func(s *dueq.Settings) { s.DedupFor = given.DedupFor },
	}
	var changes []func(*dueq.Settings)
	for name, to := range set {
		if flags.Changed(name) {
			changes = append(changes, to)
		}
	}
	return func(s *dueq.Settings) {
		for _, to := range changes {
			to(s)
		}
	}, len(changes) > 0
}
