package dueqprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dueq-dev/dueq"
)

// state is what is reported of one queue, or of several as one.
type state struct {
	dueq.Stats
	partitions int
	own        bool // it is one queue: onDuty and the counters are known
	onDuty     int  // partitions
}

// add adds a queue to the state of several.
func (s *state) add(q *dueq.Stats) {
	s.Scheduled += q.Scheduled
	s.Ready += q.Ready
	s.Leased += q.Leased
	s.Dead += q.Dead
	s.Done += q.Done
	s.Consumers += q.Consumers
	s.Remembered += q.Remembered
	s.OldestReady = max(s.OldestReady, q.OldestReady)
	s.Settings.Paused = s.Settings.Paused || q.Settings.Paused
	s.partitions += q.Settings.Partitions
}

// gauge is one metric of each queue.
type gauge struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	values func(*state) []value
}

// value is one value of a metric, with the value of its label besides the queue, if it has one.
type value struct {
	of     string
	number float64
}

var up = prometheus.NewDesc("dueq_up", "1 if the store answered the scrape.", nil, nil)

// gauges returns the metrics of each queue. The names that "dueq serve" reports, too, are the same
// there.
func gauges() []gauge {
	one := func(name, help string, n func(*state) float64) gauge {
		return gauge{prometheus.NewDesc(name, help, []string{"queue"}, nil), prometheus.GaugeValue, func(s *state) []value { return []value{{number: n(s)}} }}
	}
	return []gauge{
		{prometheus.NewDesc("dueq_messages", "Messages by state.", []string{"queue", "state"}, nil), prometheus.GaugeValue, func(s *state) []value {
			return []value{
				{"scheduled", float64(s.Scheduled)},
				{"ready", float64(s.Ready)},
				{"leased", float64(s.Leased)},
				{"dead", float64(s.Dead)},
				{"done", float64(s.Done)},
			}
		}},
		one("dueq_oldest_ready_seconds", "How long the oldest ready message has been due.", func(s *state) float64 { return s.OldestReady.Seconds() }),
		one("dueq_consumers", "Consumers that reported lately.", func(s *state) float64 { return float64(s.Consumers) }),
		one("dueq_remembered", "Messages that are gone and remembered.", func(s *state) float64 { return float64(s.Remembered) }),
		one("dueq_paused", "1 if the queue is paused.", func(s *state) float64 {
			if s.Settings.Paused {
				return 1
			}
			return 0
		}),
		one("dueq_partitions", "Partitions of the queue.", func(s *state) float64 { return float64(s.partitions) }),
		{prometheus.NewDesc("dueq_partitions_on_duty", "Partitions for which a consumer is on duty.", []string{"queue"}, nil), prometheus.GaugeValue, func(s *state) []value {
			if !s.own {
				return nil
			}
			return []value{{number: float64(s.onDuty)}}
		}},
		{prometheus.NewDesc("dueq_events_total", "What happened since the queue was made.", []string{"queue", "event"}, nil), prometheus.CounterValue, func(s *state) []value {
			if !s.own {
				return nil
			}
			return events(&s.Counters)
		}},
	}
}

// metrics returns the values of all metrics of a queue.
func (s *state) metrics() []prometheus.Metric {
	var all []prometheus.Metric
	for _, g := range gauges() {
		for _, v := range g.values(s) {
			labels := []string{s.Queue}
			if v.of != "" {
				labels = append(labels, v.of)
			}
			all = append(all, prometheus.MustNewConstMetric(g.desc, g.kind, v.number, labels...))
		}
	}
	return all
}

// events returns the counters of a queue, with the values of the label event.
func events(c *dueq.Counters) []value {
	return []value{
		{"sent", float64(c.Sent)},
		{"delivered", float64(c.Delivered)},
		{"acked", float64(c.Acked)},
		{"nacked", float64(c.Nacked)},
		{"released", float64(c.Released)},
		{"snoozed", float64(c.Snoozed)},
		{"repeated", float64(c.Repeated)},
		{"rejected", float64(c.Rejected)},
		{"lease_lost", float64(c.LeaseLost)},
		{"dead_lettered", float64(c.DeadLettered)},
		{"cancelled", float64(c.Cancelled)},
		{"replaced", float64(c.Replaced)},
		{"expired", float64(c.Expired)},
		{"redriven", float64(c.Redriven)},
		{"purged", float64(c.Purged)},
		{"dead_expired", float64(c.DeadExpired)},
		{"duplicates", float64(c.Duplicates)},
		{"deduplicated", float64(c.Deduplicated)},
		{"forgotten", float64(c.Forgotten)},
	}
}
