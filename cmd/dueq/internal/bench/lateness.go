package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
)

// dueRate is how many messages a second become due while lateness is measured.
const dueRate = 500

const (
	lead      = time.Second      // from the first send to the first due time
	straggler = 30 * time.Second // how long after the last due time to wait for a message
)

// arrivals are the deliveries of a lateness measurement, by the store's clock.
type arrivals struct {
	mu   sync.Mutex
	at   map[string]time.Time // id -> the first one
	all  int
	want int
	done chan struct{} // closed when every message was delivered
}

func (a *arrivals) enter(id string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all++
	if _, again := a.at[id]; again {
		return
	}
	a.at[id] = at
	if len(a.at) == a.want {
		close(a.done)
	}
}

// lateness measures how long after its due time the handler of a message starts, with
// every setting at its default.
func (r *run) lateness(ctx context.Context, q *dueq.Queue) error {
	r.Progress("watch lateness", 0, 1)
	n := max(1, int(dueRate*r.For.Seconds()))
	seen := &arrivals{at: make(map[string]time.Time, n), want: n, done: make(chan struct{})}
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- q.Consume(consuming, func(_ context.Context, d *dueq.Delivery) error {
			seen.enter(d.ID, r.now())
			return nil
		}, dueq.ConsumeOptions{})
	}()
	due, err := r.scatter(ctx, q, n)
	if err == nil {
		select {
		case <-seen.done:
		case <-ctx.Done():
		case <-time.After(lead + r.For + straggler):
		}
	}
	stop()
	if err := errors.Join(err, <-ended, ctx.Err()); err != nil {
		return err
	}
	r.report.Lateness, err = seen.judge(due, r.ahead)
	return err
}

// scatter sends n messages that become due at random times, and returns when each is.
func (r *run) scatter(ctx context.Context, q *dueq.Queue, n int) (map[string]time.Time, error) {
	due := make(map[string]time.Time, n)
	start := r.now().Add(lead)
	for len(due) < n && ctx.Err() == nil {
		messages := make([]dueq.Message, min(batch, n-len(due)))
		for i := range messages {
			at := start.Add(rand.N(r.For)).Truncate(time.Millisecond)
			messages[i] = dueq.Message{Body: r.body, Due: at}
		}
		results, err := q.SendBatch(context.WithoutCancel(ctx), messages)
		if err != nil {
			return nil, err
		}
		for i, sent := range results {
			if sent.Err != nil {
				return nil, sent.Err
			}
			due[sent.ID] = messages[i].Due
		}
	}
	return due, ctx.Err()
}

// judge compares the deliveries with the due times.
func (a *arrivals) judge(due map[string]time.Time, ahead time.Duration) (*Late, error) {
	l := &Late{Messages: len(due), Rate: dueRate, Ahead: Figure(measure.Milliseconds(ahead))}
	late := make([]time.Duration, 0, len(due))
	for id, at := range due {
		came, ok := a.at[id]
		if !ok {
			return nil, fmt.Errorf("lateness: %d of %d messages came", len(a.at), len(due))
		}
		if came.Before(at) {
			l.Early++
		}
		late = append(late, came.Sub(at))
	}
	l.Again = a.all - len(late)
	s := measure.SpreadOf(late)
	l.Min, l.P50, l.P99, l.P999, l.Max = Figure(s.Min), Figure(s.P50), Figure(s.P99), Figure(s.P999), Figure(s.Max)
	return l, nil
}
