package dueqotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/errorname"
)

// metrics are the instruments. Those that begin with messaging are of the conventions.
type metrics struct {
	sent     messagingconv.ClientSentMessages
	consumed messagingconv.ClientConsumedMessages
	calls    messagingconv.ClientOperationDuration
	handlers messagingconv.ProcessDuration

	lateness metric.Float64Histogram
	failures metric.Int64Counter
	dead     metric.Int64Counter
	lost     metric.Int64Counter
}

func newMetrics(m metric.Meter) (all metrics, err error) {
	bounds := metric.WithExplicitBucketBoundaries
	errs := make([]error, 8)
	all.sent, errs[0] = messagingconv.NewClientSentMessages(m)
	all.consumed, errs[1] = messagingconv.NewClientConsumedMessages(m)
	all.calls, errs[2] = messagingconv.NewClientOperationDuration(m, bounds(.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10))
	all.handlers, errs[3] = messagingconv.NewProcessDuration(m, bounds(.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800))
	all.lateness, errs[4] = m.Float64Histogram("dueq.delivery.lateness", metric.WithUnit("s"),
		metric.WithDescription("How long a message had been due when its handler was called."),
		bounds(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 60, 300, 3600))
	all.failures, errs[5] = m.Int64Counter("dueq.delivery.failures", metric.WithUnit("{delivery}"),
		metric.WithDescription("Failed deliveries whose message will be delivered again."))
	all.dead, errs[6] = m.Int64Counter("dueq.message.dead", metric.WithUnit("{message}"), metric.WithDescription("Messages that became dead letters."))
	all.lost, errs[7] = m.Int64Counter("dueq.delivery.lost", metric.WithUnit("{delivery}"),
		metric.WithDescription("Deliveries whose verdict was not applied, by the reason."))
	return all, errors.Join(errs...)
}

// labels are the attributes of the metrics of a queue.
type labels struct {
	queue         string // "" for the queues without labels of their own
	sent, handled metric.MeasurementOption
}

func newLabels(queue string) *labels {
	of := func(operation string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(attributes(operation, "", queue)...))
	}
	return &labels{queue: queue, sent: of("send"), handled: of("process")}
}

// with returns the attributes of an operation with an error.
func (l *labels) with(operation, kind string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(attributes(operation, "", l.queue), semconv.ErrorTypeKey.String(kind))...))
}

// labels returns those of a queue, as long as there are not too many queues.
func (t *Telemetry) labels(queue string) *labels {
	if l, ok := t.queues.Load(queue); ok {
		return l.(*labels)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, ok := t.queues.Load(queue); ok {
		return l.(*labels)
	}
	if t.used == t.most {
		return t.rest
	}
	t.used++
	l := newLabels(queue)
	t.queues.Store(queue, l)
	return l
}

// Hooks returns the hooks for dueq.Options that record metrics. To use others beside them, see
// [dueq.JoinHooks].
func (t *Telemetry) Hooks() dueq.Hooks {
	return dueq.Hooks{
		OnSend: t.onSend, OnDeliver: t.onDeliver, OnSettle: t.onSettle, OnCall: t.onCall,
		OnFailure: func(e dueq.FailureEvent) {
			t.metrics.failures.Add(context.Background(), 1, t.labels(e.Queue).handled)
		},
		OnDead: func(e dueq.DeadEvent) { t.metrics.dead.Add(context.Background(), 1, t.labels(e.Queue).handled) },
	}
}

func (t *Telemetry) onSend(e dueq.SendEvent) {
	l := t.labels(e.Queue)
	with := l.sent
	if e.Err != nil {
		with = l.with("send", errorType(e.Err))
	}
	t.metrics.sent.Inst().Add(context.Background(), 1, with)
}

func (t *Telemetry) onDeliver(e dueq.DeliverEvent) {
	with := t.labels(e.Queue).handled
	t.metrics.consumed.Inst().Add(context.Background(), 1, with)
	t.metrics.lateness.Record(context.Background(), e.Late.Seconds(), with)
}

func (t *Telemetry) onSettle(e dueq.SettleEvent) {
	l := t.labels(e.Queue)
	with := l.handled
	if failed(e.Verdict) {
		with = l.with("process", e.Verdict)
	}
	if e.Took > 0 {
		t.metrics.handlers.Inst().Record(context.Background(), e.Took.Seconds(), with)
	}
	if e.Lost != nil {
		t.metrics.lost.Add(context.Background(), 1, l.with("process", errorType(e.Lost)))
	}
}

func (t *Telemetry) onCall(e dueq.CallEvent) {
	queue := ""
	if e.Queue != "" {
		queue = t.labels(e.Queue).queue
	}
	all := attributes(e.Call, kinds(e.Call), queue)
	if e.Err != nil {
		all = append(all, semconv.ErrorTypeKey.String(errorType(e.Err)))
	}
	t.metrics.calls.Inst().Record(context.Background(), e.Took.Seconds(), metric.WithAttributeSet(attribute.NewSet(all...)))
}

// kinds returns the messaging.operation.type of a call of the store, "" if the conventions have
// none for it.
func kinds(call string) string {
	switch call {
	case "push":
		return "send"
	case "claim":
		return "receive"
	case "settle":
		return "settle"
	}
	return ""
}

// errorType returns the error.type of an error. There are few of them.
func errorType(err error) string {
	return errorname.Of(err, "_OTHER")
}
