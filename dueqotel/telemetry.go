package dueqotel

import (
	"cmp"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/dueq-dev/dueq"
)

// Options of [New]. The zero value and nil mean the defaults.
type Options struct {
	// TracerProvider makes the spans. Default: the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics. Default: the global one.
	MeterProvider metric.MeterProvider
	// Propagator writes trace contexts to headers and reads them. Default: the global one.
	Propagator propagation.TextMapPropagator
	// MaxQueues is how many queues metrics are reported for: the first that the process uses. The
	// metrics of all others have no messaging.destination.name. Default 100. Spans always have it.
	MaxQueues int
}

const (
	scope            = "github.com/dueq-dev/dueq/dueqotel"
	defaultMaxQueues = 100
)

// Telemetry makes spans and metrics. It can be used by several clients.
type Telemetry struct {
	tracer     trace.Tracer
	meter      metric.Meter
	propagator propagation.TextMapPropagator
	metrics    metrics
	unknown    unknown

	most   int // queues
	mu     sync.Mutex
	used   int
	queues sync.Map // name -> *labels
	rest   *labels  // of all other queues
}

// New returns telemetry. o may be nil. Errors: [dueq.ErrInvalid]; those of the meter.
func New(o *Options) (*Telemetry, error) {
	if o == nil {
		o = &Options{}
	}
	if o.MaxQueues < 0 {
		return nil, fmt.Errorf("dueqotel: max queues: %d is negative: %w", o.MaxQueues, dueq.ErrInvalid)
	}
	tracers, meters, propagator := o.TracerProvider, o.MeterProvider, o.Propagator
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	if propagator == nil {
		propagator = otel.GetTextMapPropagator()
	}
	t := &Telemetry{
		tracer: tracers.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)), meter: meters.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)),
		propagator: propagator, most: cmp.Or(o.MaxQueues, defaultMaxQueues), rest: newLabels(""),
	}
	var err error
	if t.metrics, err = newMetrics(t.meter); err != nil {
		return nil, fmt.Errorf("dueqotel: %w", err)
	}
	return t, nil
}

// system is the messaging.system of all spans and metrics.
const system = "dueq"

// attributes returns those that every span and metric of an operation has.
func attributes(operation, kind, queue string) []attribute.KeyValue {
	all := []attribute.KeyValue{
		semconv.MessagingSystemKey.String(system), semconv.MessagingOperationName(operation),
	}
	if kind != "" {
		all = append(all, semconv.MessagingOperationTypeKey.String(kind))
	}
	if queue != "" {
		all = append(all, semconv.MessagingDestinationName(queue))
	}
	return all
}
