package dueqotel_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqotel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a client with telemetry that is kept in memory.
type rig struct {
	testing.TB
	telemetry *dueqotel.Telemetry
	spans     *tracetest.InMemoryExporter
	metrics   *sdkmetric.ManualReader
	client    *dueq.Client
	queue     *dueq.Queue
}

func newRig(t testing.TB, middleware ...dueq.SendMiddleware) *rig {
	t.Helper()
	r := &rig{TB: t, spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
	var err error
	r.telemetry, err = dueqotel.New(&dueqotel.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans)),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.metrics)),
		Propagator:     propagation.TraceContext{},
		MaxQueues:      2,
	})
	must(t, err)
	r.client, err = dueq.NewMemory(&dueq.Options{
		Hooks: r.telemetry.Hooks(), SendMiddleware: append([]dueq.SendMiddleware{r.telemetry.Send}, middleware...), Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	t.Cleanup(func() { _ = r.client.Close() })
	r.queue = r.client.Queue("orders")
	return r
}

// send sends a message and returns its id.
func (r *rig) send(m dueq.Message) string {
	r.Helper()
	id, err := r.queue.Send(r.Context(), m)
	must(r, err)
	return id
}

// consume runs a consumer for a while.
func (r *rig) consume(during time.Duration, o dueq.ConsumeOptions, h dueq.Handler) {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.queue.Consume(ctx, h, o) }()
	timer := time.NewTimer(during)
	<-timer.C
	stop()
	must(r, <-ended)
}

// only returns the spans with a name, of which there must be a number.
func (r *rig) only(name string, want int) []tracetest.SpanStub {
	r.Helper()
	var found []tracetest.SpanStub
	for _, s := range r.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != want {
		r.Fatalf("%d spans %q, want %d; all: %v", len(found), name, want, r.spans.GetSpans())
	}
	return found
}

// attributes returns attributes as sorted text.
func attributes(all []attribute.KeyValue) string {
	var texts []string
	for _, a := range all {
		texts = append(texts, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// points returns the values of a metric as sorted text; of a histogram, the number of its values
// and their sum.
func (r *rig) points(name string) []string {
	r.Helper()
	var all metricdata.ResourceMetrics
	must(r, r.metrics.Collect(r.Context(), &all))
	var texts []string
	add := func(set attribute.Set, value string) { texts = append(texts, value+" "+attributes(set.ToSlice())) }
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, fmt.Sprint(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, fmt.Sprint(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, fmt.Sprint(p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, fmt.Sprintf("%d values, sum %g", p.Count, p.Sum))
				}
			default:
				r.Fatalf("%s is a %T", name, data)
			}
		}
	}
	slices.Sort(texts)
	return texts
}

func (r *rig) wantPoints(name string, want ...string) {
	r.Helper()
	slices.Sort(want)
	if got := r.points(name); !slices.Equal(got, want) {
		r.Errorf("%s:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
