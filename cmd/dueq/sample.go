package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// change is one queue at one time, and what has happened in it since the time before. Scripts rely
// on these names.
type change struct {
	At            time.Time `json:"at"`
	Queue         string    `json:"queue"`
	Paused        bool      `json:"paused"`
	Scheduled     int64     `json:"scheduled"`
	Ready         int64     `json:"ready"`
	Leased        int64     `json:"leased"`
	Dead          int64     `json:"dead"`
	Consumers     int       `json:"consumers"`
	OldestReadyMS int64     `json:"oldest_ready_ms"`
	SpanMS        int64     `json:"span_ms"` // since the time before; 0: this is the first one
	Sent          int64     `json:"sent"`    // within the span
	Delivered     int64     `json:"delivered"`
	Acked         int64     `json:"acked"`
	Failed        int64     `json:"failed"` // nacked, rejected, and leases that ran out
	Deleted       bool      `json:"deleted,omitempty"`
}

// happened returns what the counters say has happened since before. A queue that was deleted and
// made again begins at 0.
func happened(c, before dueq.Counters) (sent, delivered, acked, failed int64) {
	if c.Sent < before.Sent || c.Delivered < before.Delivered {
		before = dueq.Counters{}
	}
	failures := func(c dueq.Counters) int64 { return c.Nacked + c.Rejected + c.LeaseLost }
	return c.Sent - before.Sent, c.Delivered - before.Delivered, c.Acked - before.Acked, failures(c) - failures(before)
}

// sample are the queues at one time.
type sample struct {
	at     time.Time
	queues []dueq.Stats
}

// takeSample reads every queue, or the one named.
func takeSample(ctx context.Context, client *dueq.Client, queue string) (sample, error) {
	all, err := stats(ctx, client, queue, queue != "")
	return sample{time.Now(), all}, err
}

func (s sample) find(queue string) (dueq.Stats, bool) {
	for _, q := range s.queues {
		if q.Queue == queue {
			return q, true
		}
	}
	return dueq.Stats{}, false
}

// since returns each queue of s, and those that were deleted since before.
func (s sample) since(before sample) []change {
	var all []change
	for _, q := range s.queues {
		c := change{
			At: s.at.UTC(), Queue: q.Queue, Paused: q.Settings.Paused, Scheduled: q.Scheduled, Ready: q.Ready, Leased: q.Leased,
			Dead: q.Dead, Consumers: q.Consumers, OldestReadyMS: q.OldestReady.Milliseconds(),
		}
		if !before.at.IsZero() {
			old, _ := before.find(q.Queue)
			c.SpanMS = s.at.Sub(before.at).Milliseconds()
			c.Sent, c.Delivered, c.Acked, c.Failed = happened(q.Counters, old.Counters)
		}
		all = append(all, c)
	}
	for _, q := range before.queues {
		if _, there := s.find(q.Queue); !there {
			all = append(all, change{At: s.at.UTC(), Queue: q.Queue, SpanMS: s.at.Sub(before.at).Milliseconds(), Deleted: true})
		}
	}
	return all
}

// differs reports whether a queue has changed since before; the age of a message that is due is no
// change.
func (c *change) differs(before sample) bool {
	old, there := before.find(c.Queue)
	return c.Deleted || !there || c.Sent+c.Delivered+c.Acked+c.Failed > 0 ||
		c.Paused != old.Settings.Paused || c.Scheduled != old.Scheduled || c.Ready != old.Ready ||
		c.Leased != old.Leased || c.Dead != old.Dead || c.Consumers != old.Consumers
}

// text is one line.
func (c *change) text() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s %s", c.At.Format(time.RFC3339), term.Escape(c.Queue))
	if c.Deleted {
		return b.String() + " deleted\n"
	}
	if c.Paused {
		b.WriteString(" paused")
	}
	_, _ = fmt.Fprintf(&b, " scheduled=%d ready=%d leased=%d dead=%d consumers=%d", c.Scheduled, c.Ready, c.Leased, c.Dead, c.Consumers)
	if c.OldestReadyMS > 0 {
		_, _ = fmt.Fprintf(&b, " oldest=%s", ago(c.OldestReadyMS))
	}
	for _, n := range []struct {
		name string
		n    int64
	}{{"sent", c.Sent}, {"delivered", c.Delivered}, {"acked", c.Acked}, {"failed", c.Failed}} {
		if n.n > 0 {
			_, _ = fmt.Fprintf(&b, " %s=+%d", n.name, n.n)
		}
	}
	return b.String() + "\n"
}
