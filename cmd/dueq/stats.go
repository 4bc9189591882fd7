package main

import (
	"context"
	"strconv"
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
	}
}

type statsResult []queueStats

// text has the common counters only; the JSON has all.
func (r statsResult) text() string {
	rows := make([][]string, len(r))
	for i, s := range r {
		name := s.Queue
		if s.Paused {
			name += " (paused)"
		}
		rows[i] = []string{name}
		for _, n := range []int64{
			s.Scheduled, s.Ready, s.Leased, s.Dead, s.Sent, s.Delivered, s.Acked, s.Nacked, s.LeaseLost, s.Cancelled, int64(s.Consumers),
		} {
			rows[i] = append(rows[i], strconv.FormatInt(n, 10))
		}
		rows[i] = append(rows[i], (time.Duration(s.OldestReadyMS) * time.Millisecond).String())
	}
	return term.Table([]string{
		"QUEUE", "SCHEDULED", "READY", "LEASED", "DEAD", "SENT", "DELIVERED", "ACKED", "NACKED", "LEASE LOST", "CANCELLED", "CONSUMERS", "OLDEST READY",
	}, rows)
}

func newStats(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats [--queue NAME]",
		Short: "Show sizes and counters of queues",
		Long: `Show sizes and counters of every queue, or of one. -o json prints an array with an
object per queue; counters are those since the queue was made.`,
		Args: cobra.NoArgs,
	}
	queue := cmd.Flags().StringP("queue", "q", "", "name of the queue (default: every queue)")
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
