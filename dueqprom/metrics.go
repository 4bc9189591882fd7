package dueqprom

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dueq-dev/dueq"
)

// Options of [NewMetrics]. The zero value and nil mean the defaults.
type Options struct {
	// MaxQueues is how many queues have series of their own: the first that the process uses. All
	// others share the value "(other)" of the label queue. Default 100.
	MaxQueues int
	// LatenessBuckets, HandlerBuckets, SendBuckets and CallBuckets are the upper bounds of the
	// buckets of the histograms, in seconds and ascending. Defaults: 1 ms to 1 h, 1 ms to 30 min,
	// 0.25 ms to 10 s and 0.25 ms to 10 s.
	LatenessBuckets, HandlerBuckets, SendBuckets, CallBuckets []float64
}

// Metrics is a collector of what one process does with dueq. [Metrics.Hooks] feeds it. One
// Metrics can be used by several clients, whose figures are then added up.
type Metrics struct {
	sends       *prometheus.CounterVec
	sending     *prometheus.HistogramVec
	deliveries  *prometheus.CounterVec
	lateness    *prometheus.HistogramVec
	handlers    *prometheus.HistogramVec
	running     *prometheus.GaugeVec
	settlements *prometheus.CounterVec
	failures    *prometheus.CounterVec
	dead        *prometheus.CounterVec
	skips       *prometheus.CounterVec
	calls       *prometheus.HistogramVec
	callErrors  *prometheus.CounterVec
	reachable   prometheus.Gauge

	most int // queues
	mu   sync.Mutex
	used int
	own  sync.Map // name -> *series
	rest *series  // of all other queues, nil if there are none
	down atomic.Bool
}

// NewMetrics returns metrics without values. o may be nil. Errors: [dueq.ErrInvalid].
func NewMetrics(o *Options) (*Metrics, error) {
	if o == nil {
		o = &Options{}
	}
	most, err := maxQueues(o.MaxQueues)
	if err != nil {
		return nil, err
	}
	m := &Metrics{most: most}
	if err := m.define(o); err != nil {
		return nil, err
	}
	m.reachable.Set(1)
	return m, nil
}

func (m *Metrics) define(o *Options) error {
	histogram := func(name, help, field string, buckets, fallback []float64, labels ...string) (*prometheus.HistogramVec, error) {
		bounds, err := bucketsOr(field, buckets, fallback)
		if err != nil {
			return nil, err
		}
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels), nil
	}
	var err error
	if m.lateness, err = histogram("dueq_client_lateness_seconds", "How long a message had been due when its handler was called.", "lateness buckets", o.LatenessBuckets, latenessBuckets, "queue"); err != nil {
		return err
	}
	if m.handlers, err = histogram("dueq_client_handler_duration_seconds", "Duration of handlers that returned without settling the delivery themselves.", "handler buckets", o.HandlerBuckets, handlerBuckets, "queue"); err != nil {
		return err
	}
	if m.sending, err = histogram("dueq_client_send_duration_seconds", "Duration of the calls that sent messages, once for each message.", "send buckets", o.SendBuckets, callBuckets, "queue"); err != nil {
		return err
	}
	if m.calls, err = histogram("dueq_client_store_call_duration_seconds", "Duration of calls of the store, failed ones included.", "call buckets", o.CallBuckets, callBuckets, "call"); err != nil {
		return err
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m.sends = counter("dueq_client_sends_total", "Messages sent, by result.", "queue", "result")
	m.deliveries = counter("dueq_client_deliveries_total", "Messages given to handlers.", "queue")
	m.settlements = counter("dueq_client_settlements_total", "Ends of deliveries, by verdict and by whether it was applied.", "queue", "verdict", "result")
	m.failures = counter("dueq_client_failures_total", "Failed deliveries whose message will be delivered again.", "queue")
	m.dead = counter("dueq_client_dead_letters_total", "Messages that became dead letters.", "queue")
	m.skips = counter("dueq_client_skips_total", "Occurrences of recurring messages that no handler got.", "queue")
	m.callErrors = counter("dueq_client_store_call_errors_total", "Calls of the store that failed, by error.", "call", "error")
	m.running = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "dueq_client_handlers_running", Help: "Deliveries given to handlers and not settled yet."}, []string{"queue"})
	m.reachable = prometheus.NewGauge(prometheus.GaugeOpts{Name: "dueq_client_store_reachable", Help: "0 if the last call of the store got no answer."})
	return nil
}

// Describe sends the descriptions of the metrics.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(to)
	}
}

// Collect sends the values. It makes no calls.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(to)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.sends, m.sending, m.deliveries, m.lateness, m.handlers, m.running, m.settlements,
		m.failures, m.dead, m.skips, m.calls, m.callErrors, m.reachable,
	}
}

// Hooks returns the hooks for dueq.Options. To use others beside them, see [dueq.JoinHooks].
func (m *Metrics) Hooks() dueq.Hooks {
	return dueq.Hooks{
		OnSend: m.onSend, OnDeliver: m.onDeliver, OnSettle: m.onSettle,
		OnFailure: func(e dueq.FailureEvent) { m.of(e.Queue).failures.Inc() },
		OnDead:    func(e dueq.DeadEvent) { m.of(e.Queue).dead.Inc() },
		OnSkip:    func(e dueq.SkipEvent) { m.of(e.Queue).skips.Inc() },
		OnCall:    m.onCall,
	}
}

func (m *Metrics) onSend(e dueq.SendEvent) {
	s := m.of(e.Queue)
	s.sending.Observe(e.Took.Seconds())
	switch {
	case e.Err != nil:
		s.sends.WithLabelValues(result(e.Err)).Inc()
	case e.Deduplicated:
		s.sends.WithLabelValues("deduplicated").Inc()
	default:
		s.stored.Inc()
	}
}

func (m *Metrics) onDeliver(e dueq.DeliverEvent) {
	s := m.of(e.Queue)
	s.deliveries.Inc()
	s.running.Inc()
	s.lateness.Observe(e.Late.Seconds())
}

func (m *Metrics) onSettle(e dueq.SettleEvent) {
	s := m.of(e.Queue)
	s.running.Dec()
	switch {
	case e.Lost != nil:
		s.settlements.WithLabelValues(e.Verdict, result(e.Lost)).Inc()
	case e.Verdict == "ack":
		s.acked.Inc()
	default:
		s.settlements.WithLabelValues(e.Verdict, applied).Inc()
	}
	if e.Took > 0 {
		s.handlers.Observe(e.Took.Seconds())
	}
}

func (m *Metrics) onCall(e dueq.CallEvent) {
	m.calls.WithLabelValues(e.Call).Observe(e.Took.Seconds())
	name := ""
	if e.Err != nil {
		name = result(e.Err)
		m.callErrors.WithLabelValues(e.Call, name).Inc()
	}
	if down := name == "unavailable"; m.down.Swap(down) != down {
		m.reachable.Set(map[bool]float64{false: 1}[down])
	}
}
