package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/top"
)

// topSource takes the snapshots of dueq top.
type topSource struct {
	client *dueq.Client
	mu     sync.Mutex // a snapshot is taken at a time
	before sample
}

// snapshot reads every queue and, if one is open, more of that.
func (t *topSource) snapshot(ctx context.Context, open string) top.Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, err := takeSample(ctx, t.client, "")
	if err != nil {
		return top.Snapshot{Err: err.Error()}
	}
	s := top.Snapshot{At: now.at}
	for _, c := range now.since(t.before) {
		if !c.Deleted {
			s.Queues = append(s.Queues, topQueue(&c))
		}
	}
	t.before = now
	if open == "" {
		return s
	}
	if s.Detail, err = detailOf(ctx, t.client.Queue(open)); err != nil {
		return top.Snapshot{Err: err.Error()}
	}
	return s
}

func topQueue(c *change) top.Queue {
	rate := func(n int64) float64 {
		if c.SpanMS == 0 {
			return 0
		}
		return float64(n) * 1000 / float64(c.SpanMS)
	}
	return top.Queue{
		Name: c.Queue, Paused: c.Paused, Scheduled: c.Scheduled, Ready: c.Ready, Leased: c.Leased, Dead: c.Dead, Consumers: c.Consumers,
		Oldest: time.Duration(c.OldestReadyMS) * time.Millisecond,
		Sent:   rate(c.Sent), Delivered: rate(c.Delivered), Acked: rate(c.Acked), Failed: rate(c.Failed),
	}
}

// topMessages is how many leased and dead messages are shown.
const topMessages = 10

func detailOf(ctx context.Context, q *dueq.Queue) (*top.Detail, error) {
	o, err := outlookOf(ctx, q)
	if err != nil {
		return nil, err
	}
	members, err := q.Members(ctx)
	if err != nil {
		return nil, err
	}
	d := &top.Detail{Queue: q.Name(), Ready: o.Ready, InHour: o.InHour, InDay: o.InDay}
	for _, m := range members {
		d.Members = append(d.Members, m.Name+" "+m.Client)
	}
	for state, lines := range map[dueq.State]*[]string{dueq.Leased: &d.Leased, dueq.Dead: &d.Dead} {
		page, err := q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: state}, Limit: topMessages})
		if err != nil {
			return nil, err
		}
		for i := range page.Records {
			r := newRecord(page.Records[i])
			*lines = append(*lines, topLine(&r))
		}
	}
	return d, nil
}

// topLine describes a leased or dead message.
func topLine(r *record) string {
	parts := []string{r.ID, r.Key}
	if r.State == dueq.Leased {
		parts = append(parts, fmt.Sprintf("attempt %d", r.Attempt), "until "+r.LeasedUntil, r.Holder)
	} else {
		parts = append(parts, r.DiedAt, r.LastFailure)
	}
	return strings.Join(parts, "  ")
}
