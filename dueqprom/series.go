package dueqprom

import (
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dueq-dev/dueq"
)

var (
	latenessBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 60, 300, 3600}
	handlerBuckets  = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800}
	callBuckets     = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
)

// bucketsOr returns buckets, or fallback if there are none.
func bucketsOr(field string, buckets, fallback []float64) ([]float64, error) {
	if len(buckets) == 0 {
		return fallback, nil
	}
	for i, bound := range buckets {
		if math.IsNaN(bound) || i > 0 && bound <= buckets[i-1] {
			return nil, fmt.Errorf("dueqprom: %s: %g is not above the bound before it: %w", field, bound, dueq.ErrInvalid)
		}
	}
	return slices.Clone(buckets), nil
}

// series are the metrics of one queue, found once so that an event does not look up the queue in
// each of them.
type series struct {
	sends, settlements                *prometheus.CounterVec // by their other labels
	stored, acked                     prometheus.Counter     // the most frequent of them
	deliveries, failures, dead, skips prometheus.Counter
	sending, lateness, handlers       prometheus.Observer
	running                           prometheus.Gauge
}

func (m *Metrics) newSeries(queue string) *series {
	own := prometheus.Labels{"queue": queue}
	return &series{
		sends: m.sends.MustCurryWith(own), settlements: m.settlements.MustCurryWith(own),
		stored: m.sends.WithLabelValues(queue, "stored"), acked: m.settlements.WithLabelValues(queue, "ack", applied),
		deliveries: m.deliveries.With(own), failures: m.failures.With(own), dead: m.dead.With(own), skips: m.skips.With(own),
		sending: m.sending.With(own), lateness: m.lateness.With(own), handlers: m.handlers.With(own),
		running: m.running.With(own),
	}
}

// of returns the series of a queue: its own, as long as there are not too many queues.
func (m *Metrics) of(queue string) *series {
	if s, ok := m.own.Load(queue); ok {
		return s.(*series)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.own.Load(queue); ok {
		return s.(*series)
	}
	if m.used == m.most {
		return m.others()
	}
	m.used++
	s := m.newSeries(queue)
	m.own.Store(queue, s)
	return s
}

// others returns the series that all queues share which have none of their own.
func (m *Metrics) others() *series {
	if m.rest == nil {
		m.rest = m.newSeries(other)
	}
	return m.rest
}
