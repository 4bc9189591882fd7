package dueqprom

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dueq-dev/dueq"
)

// QueuesOptions are the options of [NewQueues]. The zero value and nil mean the defaults.
type QueuesOptions struct {
	// MaxQueues is how many queues have series of their own. Of all others, the sums are reported
	// under the value "(other)" of the label queue, except for dueq_events_total: a sum would
	// decrease when a queue is deleted. Default 100.
	MaxQueues int
	// Every is how often the store is read at most: a scrape that comes sooner gets the values of
	// the scrape before. Default 5 s.
	Every time.Duration
	// Timeout is how long a scrape waits for the store. Default 5 s.
	Timeout time.Duration
	// Logger logs reads of the store that failed, as warnings. Default [slog.Default].
	Logger *slog.Logger
}

const (
	defaultEvery   = 5 * time.Second
	defaultTimeout = 5 * time.Second
)

func (o *QueuesOptions) complete() (QueuesOptions, error) {
	var c QueuesOptions
	if o != nil {
		c = *o
	}
	for _, span := range []struct {
		field string
		value *time.Duration
		none  time.Duration
	}{{"every", &c.Every, defaultEvery}, {"timeout", &c.Timeout, defaultTimeout}} {
		if *span.value < 0 {
			return c, fmt.Errorf("dueqprom: %s: %s is negative: %w", span.field, *span.value, dueq.ErrInvalid)
		}
		if *span.value == 0 {
			*span.value = span.none
		}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	var err error
	c.MaxQueues, err = maxQueues(c.MaxQueues)
	return c, err
}

// Queues is a collector of the state of the queues in a store.
//
// A scrape reads each partition of each queue once, and the consumers of each queue that has some
// and has series of its own; it reads no messages. If the store does not answer, the only series
// is dueq_up with 0.
type Queues struct {
	options QueuesOptions
	client  *dueq.Client

	mu   sync.Mutex // one scrape reads, the others wait for it
	read time.Time  // when the values were read; zero: never
	all  []prometheus.Metric
	own  map[string]bool // queues with series of their own
}

// NewQueues returns a collector of the queues of client, which the caller closes after the last
// scrape. o may be nil. Errors: [dueq.ErrInvalid].
func NewQueues(client *dueq.Client, o *QueuesOptions) (*Queues, error) {
	options, err := o.complete()
	if err == nil && client == nil {
		err = fmt.Errorf("dueqprom: client: is nil: %w", dueq.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	return &Queues{options: options, client: client, own: map[string]bool{}}, nil
}

// Describe sends the descriptions of the metrics.
func (q *Queues) Describe(to chan<- *prometheus.Desc) {
	to <- up
	for _, m := range gauges() {
		to <- m.desc
	}
}

// Collect reads the store, or repeats values that are younger than Every.
func (q *Queues) Collect(to chan<- prometheus.Metric) {
	for _, m := range q.values() {
		to <- m
	}
}

func (q *Queues) values() []prometheus.Metric {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.read.IsZero() || time.Since(q.read) >= q.options.Every {
		q.all = q.readAll()
		q.read = time.Now()
	}
	return q.all
}

func (q *Queues) readAll() []prometheus.Metric {
	ctx, end := context.WithTimeout(context.Background(), q.options.Timeout)
	defer end()
	all, err := q.states(ctx)
	if err != nil {
		q.options.Logger.WarnContext(ctx, "dueqprom: could not read the queues; they are missing from this scrape", slog.Any("error", err))
		return []prometheus.Metric{prometheus.MustNewConstMetric(up, prometheus.GaugeValue, 0)}
	}
	metrics := []prometheus.Metric{prometheus.MustNewConstMetric(up, prometheus.GaugeValue, 1)}
	for i := range all {
		metrics = append(metrics, all[i].metrics()...)
	}
	return metrics
}

// states returns the state of each queue, and that of the queues without series of their own as
// one.
func (q *Queues) states(ctx context.Context) ([]state, error) {
	stats, err := q.client.Stats(ctx)
	if err != nil {
		return nil, err
	}
	q.choose(stats)
	all, rest := make([]state, 0, len(q.own)+1), state{Stats: dueq.Stats{Queue: other}}
	for i := range stats {
		if !q.own[stats[i].Queue] {
			rest.add(&stats[i])
			continue
		}
		s := state{Stats: stats[i], partitions: stats[i].Settings.Partitions, own: true}
		if s.Consumers > 0 {
			members, err := q.client.Queue(s.Queue).Members(ctx)
			if err != nil {
				return nil, err
			}
			s.onDuty = onDuty(members)
		}
		all = append(all, s)
	}
	if len(q.own) < len(stats) {
		all = append(all, rest)
	}
	return all, nil
}

// choose updates the queues that have series of their own. A queue keeps them as long as it exists.
func (q *Queues) choose(stats []dueq.Stats) {
	exists := make(map[string]bool, len(stats))
	for i := range stats {
		exists[stats[i].Queue] = true
	}
	maps.DeleteFunc(q.own, func(name string, _ bool) bool { return !exists[name] })
	for i := range stats {
		if len(q.own) == q.options.MaxQueues {
			return
		}
		q.own[stats[i].Queue] = true
	}
}

// onDuty returns for how many partitions a consumer is on duty.
func onDuty(members []dueq.Member) int {
	var partitions []int
	for _, m := range members {
		partitions = append(partitions, m.OnDuty...)
	}
	slices.Sort(partitions)
	return len(slices.Compact(partitions))
}
