package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// queueStats is one queue. Scripts rely on these names.
type queueStats struct {
	Queue      string `json:"queue"`
	Partitions int    `json:"partitions"`
	Paused     bool   `json:"paused"`

	Scheduled int64 `json:"scheduled"`
	Ready     int64 `json:"ready"`
	Leased    int64 `json:"leased"`
	Dead      int64 `json:"dead"`

	Sent       int64 `json:"sent"`
	Delivered  int64 `json:"delivered"`
	Acked      int64 `json:"acked"`
	Nacked     int64 `json:"nacked"`
	Released   int64 `json:"released"`
	Rejected   int64 `json:"rejected"`
	LeaseLost  int64 `json:"lease_lost"`
	Cancelled  int64 `json:"cancelled"`
	Expired    int64 `json:"expired"`
	Redriven   int64 `json:"redriven"`
	Duplicates int64 `json:"duplicates"`

	OldestReadyMS int64 `json:"oldest_ready_ms"`

	Replaced     int64 `json:"replaced"`
	Purged       int64 `json:"purged"`
	DeadLettered int64 `json:"dead_lettered"`
	Consumers    int   `json:"consumers"`
	Snoozed      int64 `json:"snoozed"`
	Repeated     int64 `json:"repeated"`
	DeadExpired  int64 `json:"dead_expired"`
	Deduplicated int64 `json:"deduplicated"`
	Forgotten    int64 `json:"forgotten"`
	Remembered   int64 `json:"remembered"`
	Done         int64 `json:"done"`
	GrowingFrom  int   `json:"growing_from"`

	OnDuty []string `json:"on_duty,omitempty"` // of one queue: for each partition the consumer, "" for none
}

func newQueueStats(s dueq.Stats) queueStats {
	c := s.Counters
	return queueStats{
		Queue: s.Queue, Partitions: s.Settings.Partitions, Paused: s.Settings.Paused,
		Scheduled: s.Scheduled, Ready: s.Ready, Leased: s.Leased, Dead: s.Dead,
		Sent: c.Sent, Delivered: c.Delivered, Acked: c.Acked, Nacked: c.Nacked, Released: c.Released,
		Rejected: c.Rejected, LeaseLost: c.LeaseLost, Cancelled: c.Cancelled, Expired: c.Expired,
		Redriven: c.Redriven, Duplicates: c.Duplicates,
		OldestReadyMS: s.OldestReady.Milliseconds(),
		Replaced:      c.Replaced, Purged: c.Purged, DeadLettered: c.DeadLettered, Consumers: s.Consumers,
		Snoozed: c.Snoozed, Repeated: c.Repeated, DeadExpired: c.DeadExpired,
		Deduplicated: c.Deduplicated, Forgotten: c.Forgotten, Remembered: s.Remembered, Done: s.Done,
		GrowingFrom: s.Settings.GrowingFrom,
	}
}

type statsResult []queueStats

// text has the sizes, and below them what needs attention; the JSON has all counters, too.
func (r statsResult) text() string {
	rows := make([][]string, len(r))
	for i, s := range r {
		name := s.Queue
		if s.Paused {
			name += " (paused)"
		}
		if s.GrowingFrom != 0 {
			name += fmt.Sprintf(" (growing from %d to %d partitions)", s.GrowingFrom, s.Partitions)
		}
		rows[i] = append([]string{name}, numbers(s.Scheduled, s.Ready, s.Leased, s.Dead, s.Done, int64(s.Consumers))...)
		rows[i] = append(rows[i], ago(s.OldestReadyMS))
	}
	text := term.Table([]string{"QUEUE", "SCHEDULED", "READY", "LEASED", "DEAD", "DONE", "CONSUMERS", "OLDEST READY"}, rows)
	for _, s := range r {
		text += s.duties()
	}
	return text + r.attention()
}

// duties returns a table of who is on duty for which partitions, for one queue.
func (s queueStats) duties() string {
	if len(s.OnDuty) == 0 {
		return ""
	}
	partitions := map[string][]string{}
	for p, name := range s.OnDuty {
		name = cmp.Or(name, "nobody")
		partitions[name] = append(partitions[name], strconv.Itoa(p))
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		rows = append(rows, []string{name, strings.Join(partitions[name], " ")})
	}
	return "\n" + term.Table([]string{"CONSUMER", "ON DUTY FOR PARTITIONS"}, rows)
}

// onDuty returns the consumer on duty for each partition of a queue.
func onDuty(ctx context.Context, q *dueq.Queue, partitions int) ([]string, error) {
	members, err := q.Members(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, partitions)
	for _, m := range members {
		for _, p := range m.OnDuty {
			if p < partitions {
				names[p] = m.Name
			}
		}
	}
	return names, nil
}

// countersResult is statsResult with the counters as text.
type countersResult []queueStats

func (r countersResult) text() string {
	rows := make([][]string, len(r))
	for i, s := range r {
		rows[i] = append([]string{s.Queue}, numbers(s.Sent, s.Delivered, s.Acked, s.Nacked, s.Rejected, s.LeaseLost, s.DeadLettered, s.Expired, s.Cancelled, s.Redriven)...)
	}
	return term.Table([]string{"QUEUE", "SENT", "DELIVERED", "ACKED", "NACKED", "REJECTED", "LOST", "DIED", "EXPIRED", "CANCELLED", "REDRIVEN"}, rows)
}

func numbers(all ...int64) []string {
	texts := make([]string, len(all))
	for i, n := range all {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return texts
}

// ago writes how long something has lasted: to the second from a minute on.
func ago(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d >= time.Minute {
		d = d.Round(time.Second)
	}
	return d.String()
}

// lateAfterMS is how long a message may be due before it needs attention: longer than a consumer takes
// to find it when a hint is lost.
const lateAfterMS = 10_000

// attention returns a line for each thing that is wrong, or may be: what it is, and the command to
// look closer or to mend it.
func (r statsResult) attention() string {
	var b strings.Builder
	say := func(queue, format string, args ...any) {
		if b.Len() == 0 {
			b.WriteString("\nattention:\n")
		}
		_, _ = fmt.Fprintf(&b, "  %s: %s\n", term.Escape(queue), fmt.Sprintf(format, args...))
	}
	for _, s := range r {
		name := term.Escape(s.Queue)
		due := fmt.Sprintf("%d due, the oldest for %s", s.Ready, ago(s.OldestReadyMS))
		switch {
		case s.Paused:
			say(s.Queue, "paused, %s. Resume it: dueq resume --queue %s", due, name)
		case s.Ready > 0 && s.Consumers == 0:
			say(s.Queue, "%s, and no consumer is alive. Start one", due)
		case s.OldestReadyMS > lateAfterMS && s.Leased > 0:
			say(s.Queue, "%s: its consumers hold %d. What they hold: dueq list --queue %s --state leased", due, s.Leased, name)
		case s.OldestReadyMS > lateAfterMS:
			say(s.Queue, "%s: its consumers do not take them. Who is alive: dueq members --queue %s", due, name)
		}
		if s.Dead > 0 {
			say(s.Queue, "%d dead. Why: dueq dead --queue %s. Again: dueq redrive --queue %s --failure TEXT --spread 10m", s.Dead, name, name)
		}
	}
	return b.String()
}

func newStats(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats [--queue NAME]",
		Short: "Show sizes of queues, what is stuck and why",
		Long: `Show the sizes of every queue, or of one, and below them what needs attention: queues that
are paused, that have no consumer, whose messages wait, or which have dead messages; each with
the command to look closer or to mend it. With --queue also who is on duty for which partition:
who claims their messages when they become due. -o json prints an array with an object per queue, which
has all counters; counters are those since the queue was made.`,
		Args: cobra.NoArgs,
	}
	queue := cmd.Flags().StringP("queue", "q", "", "name of the queue (default: every queue)")
	counters := cmd.Flags().Bool("counters", false, "what has happened since the queues were made, in place of the sizes")
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		return a.withClient(ctx, func(client *dueq.Client) error {
			all, err := stats(ctx, client, *queue, cmd.Flags().Changed("queue"))
			if err != nil {
				return err
			}
			r := make(statsResult, len(all))
			for i := range all {
				r[i] = newQueueStats(all[i])
			}
			if cmd.Flags().Changed("queue") && !*counters {
				if r[0].OnDuty, err = onDuty(ctx, client.Queue(*queue), r[0].Partitions); err != nil {
					return err
				}
			}
			if *counters {
				return a.print(countersResult(r))
			}
			return a.print(r)
		})
	})
	return cmd
}

// stats returns the statistics of one queue, or of every queue.
func stats(ctx context.Context, client *dueq.Client, queue string, one bool) ([]dueq.Stats, error) {
	if !one {
		return client.Stats(ctx)
	}
	s, err := client.Queue(queue).Stats(ctx)
	return []dueq.Stats{s}, err
}
