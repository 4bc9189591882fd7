package dueqhttp

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/dueq-dev/dueq"
)

// metric is one metric of each queue.
type metric struct {
	name, kind, help string
	values           func(*dueq.Stats) []value
}

// value is one value of a metric, with the value of its label besides the queue, if it has one.
type value struct {
	label, of string
	number    float64
}

// metrics returns what /metrics reports. The names of queues come from the store, so there are no
// more series than queues allow for, whatever callers ask.
func metrics() []metric {
	one := func(n func(*dueq.Stats) float64) func(*dueq.Stats) []value {
		return func(s *dueq.Stats) []value { return []value{{number: n(s)}} }
	}
	return []metric{
		{"dueq_messages", "gauge", "Messages by state.", func(s *dueq.Stats) []value {
			return []value{
				{"state", "scheduled", float64(s.Scheduled)},
				{"state", "ready", float64(s.Ready)},
				{"state", "leased", float64(s.Leased)},
				{"state", "dead", float64(s.Dead)},
				{"state", "done", float64(s.Done)},
			}
		}},
		{"dueq_oldest_ready_seconds", "gauge", "How long the oldest ready message has been due.", one(func(s *dueq.Stats) float64 { return s.OldestReady.Seconds() })},
		{"dueq_consumers", "gauge", "Consumers that reported lately.", one(func(s *dueq.Stats) float64 { return float64(s.Consumers) })},
		{"dueq_remembered", "gauge", "Messages that are gone and remembered.", one(func(s *dueq.Stats) float64 { return float64(s.Remembered) })},
		{"dueq_paused", "gauge", "1 if the queue is paused.", one(func(s *dueq.Stats) float64 {
			if s.Settings.Paused {
				return 1
			}
			return 0
		})},
		{"dueq_events_total", "counter", "What happened since the queue was made.", events},
	}
}

func events(s *dueq.Stats) []value {
	c := s.Counters
	all := []value{
		{of: "sent", number: float64(c.Sent)},
		{of: "delivered", number: float64(c.Delivered)},
		{of: "acked", number: float64(c.Acked)},
		{of: "nacked", number: float64(c.Nacked)},
		{of: "released", number: float64(c.Released)},
		{of: "snoozed", number: float64(c.Snoozed)},
		{of: "repeated", number: float64(c.Repeated)},
		{of: "rejected", number: float64(c.Rejected)},
		{of: "lease_lost", number: float64(c.LeaseLost)},
		{of: "dead_lettered", number: float64(c.DeadLettered)},
		{of: "cancelled", number: float64(c.Cancelled)},
		{of: "replaced", number: float64(c.Replaced)},
		{of: "expired", number: float64(c.Expired)},
		{of: "redriven", number: float64(c.Redriven)},
		{of: "purged", number: float64(c.Purged)},
		{of: "dead_expired", number: float64(c.DeadExpired)},
		{of: "duplicates", number: float64(c.Duplicates)},
		{of: "deduplicated", number: float64(c.Deduplicated)},
		{of: "forgotten", number: float64(c.Forgotten)},
	}
	for i := range all {
		all[i].label = "event"
	}
	return all
}

// serveMetrics returns the metrics of all queues that the caller may see, in the text format of
// Prometheus.
func serveMetrics(c *call) error {
	if err := c.onlyQuery(); err != nil {
		return err
	}
	all, err := c.stats()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range metrics() {
		m.write(&b, all)
	}
	return c.write(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", []byte(b.String()))
}

// write writes a metric. Names of queues have no character that must be escaped.
func (m *metric) write(b *strings.Builder, all []dueq.Stats) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
	for i := range all {
		for _, v := range m.values(&all[i]) {
			label := ""
			if v.label != "" {
				label = fmt.Sprintf(",%s=%q", v.label, v.of)
			}
			fmt.Fprintf(b, "%s{queue=%q%s} %g\n", m.name, all[i].Queue, label, v.number)
		}
	}
}
