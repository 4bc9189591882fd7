package dueqprom_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	model "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqprom"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(removeCommand)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newMetrics(t testing.TB, o *dueqprom.Options) *dueqprom.Metrics {
	t.Helper()
	m, err := dueqprom.NewMetrics(o)
	must(t, err)
	return m
}

// newClient returns a client of a store in memory with hooks.
func newClient(t testing.TB, hooks dueq.Hooks) *dueq.Client {
	t.Helper()
	client, err := dueq.NewMemory(&dueq.Options{Hooks: hooks, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// series returns the values of metrics as sorted lines of text; of a histogram, the number of its
// observations and their sum.
func series(t testing.TB, c prometheus.Collector, names ...string) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	must(t, registry.Register(c))
	families, err := registry.Gather()
	must(t, err)
	var lines []string
	for _, f := range families {
		if len(names) == 0 || slices.Contains(names, f.GetName()) {
			lines = append(lines, seriesOf(f)...)
		}
	}
	slices.Sort(lines)
	return lines
}

func seriesOf(f *model.MetricFamily) (lines []string) {
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range slices.SortedFunc(slices.Values(m.GetLabel()), func(a, b *model.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) }) {
			labels = append(labels, l.GetValue())
		}
		values := fmt.Sprint(m.GetCounter().GetValue() + m.GetGauge().GetValue())
		if h := m.GetHistogram(); h != nil {
			values = fmt.Sprintf("%d observations of %g", h.GetSampleCount(), h.GetSampleSum())
		}
		lines = append(lines, strings.Join(append([]string{f.GetName()}, labels...), " ")+": "+values)
	}
	return lines
}

func wantSeries(t testing.TB, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("metrics:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// consume runs h until the bubble has slept for a while.
func consume(t *testing.T, q *dueq.Queue, h dueq.Handler, during time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Consume(ctx, h, dueq.ConsumeOptions{
			Concurrency: 1, Backoff: func(*dueq.Delivery, error) time.Duration { return time.Second },
		})
	}()
	timer := time.NewTimer(during)
	<-timer.C
	stop()
	must(t, <-ended)
}

func TestMetrics_CountSendsByResult(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, nil)
	q := newClient(t, m.Hooks()).Queue("orders")
	for _, message := range []dueq.Message{{Key: "k"}, {Key: "k"}, {DedupID: "d"}, {DedupID: "d"}, {Body: make([]byte, 1<<20)}, {Delay: -1}} {
		_, _ = q.Send(t.Context(), message) // the results are in the metrics
	}
	wantSeries(t, series(t, m, "dueq_client_sends_total"),
		"dueq_client_sends_total orders stored: 2", "dueq_client_sends_total orders deduplicated: 1", "dueq_client_sends_total orders duplicate: 1",
		"dueq_client_sends_total orders too_large: 1", "dueq_client_sends_total orders invalid: 1")
}

func TestMetrics_CountDeliveriesAndTheirEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMetrics(t, nil)
		q := newClient(t, m.Hooks()).Queue("orders")
		for _, key := range []string{"acked", "settled", "failing", "cancelled"} {
			_, err := q.Send(t.Context(), dueq.Message{Key: key, MaxAttempts: 3})
			must(t, err)
		}
		consume(t, q, func(ctx context.Context, d *dueq.Delivery) error {
			switch d.Key {
			case "failing":
				return errors.New("no luck")
			case "settled":
				return d.Ack(ctx)
			case "cancelled":
				if err := q.Cancel(ctx, dueq.Key(d.Key)); !errors.Is(err, dueq.ErrRunning) {
					t.Error(err)
				}
			default:
				timer := time.NewTimer(2 * time.Second)
				<-timer.C
			}
			return nil
		}, time.Minute)
		wantSeries(t, series(t, m, "dueq_client_deliveries_total", "dueq_client_settlements_total", "dueq_client_failures_total",
			"dueq_client_dead_letters_total", "dueq_client_handlers_running", "dueq_client_skips_total", "dueq_client_handler_duration_seconds"),
			"dueq_client_deliveries_total orders: 6", "dueq_client_settlements_total orders applied ack: 3",
			"dueq_client_settlements_total orders applied nack: 3",
			"dueq_client_failures_total orders: 2", "dueq_client_dead_letters_total orders: 1", "dueq_client_skips_total orders: 0",
			"dueq_client_handlers_running orders: 0", "dueq_client_handler_duration_seconds orders: 1 observations of 2")
	})
}

func TestMetrics_LatenessIsThatOfTheHandlersStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMetrics(t, nil)
		q := newClient(t, m.Hooks()).Queue("orders")
		_, err := q.SendBatch(t.Context(), []dueq.Message{{Key: "first"}, {Key: "second"}})
		must(t, err)
		consume(t, q, func(context.Context, *dueq.Delivery) error {
			timer := time.NewTimer(3 * time.Second)
			<-timer.C
			return nil
		}, time.Minute)
		wantSeries(t, series(t, m, "dueq_client_lateness_seconds"), "dueq_client_lateness_seconds orders: 2 observations of 3")
	})
}

func TestMetrics_QueuesOverTheLimitShareASeries(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, &dueqprom.Options{MaxQueues: 2})
	client := newClient(t, m.Hooks())
	for _, queue := range []string{"a", "b", "c", "d", "a"} {
		_, err := client.Queue(queue).Send(t.Context(), dueq.Message{})
		must(t, err)
	}
	wantSeries(t, series(t, m, "dueq_client_sends_total"),
		"dueq_client_sends_total a stored: 2", "dueq_client_sends_total b stored: 1", "dueq_client_sends_total (other) stored: 2")
}

func TestMetrics_StoreCallsAndWhetherItAnswers(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, nil)
	call, reachable := m.Hooks().OnCall, "dueq_client_store_reachable"
	wantSeries(t, series(t, m, reachable), reachable+": 1")
	call(dueq.CallEvent{Call: "push", Took: time.Second})
	call(dueq.CallEvent{Call: "push", Took: time.Second, Err: fmt.Errorf("push: %w", dueq.ErrUnavailable)})
	wantSeries(t, series(t, m, reachable), reachable+": 0")
	call(dueq.CallEvent{Call: "claim", Err: dueq.ErrNotFound})
	wantSeries(t, series(t, m, reachable, "dueq_client_store_call_duration_seconds", "dueq_client_store_call_errors_total"), reachable+": 1",
		"dueq_client_store_call_duration_seconds push: 2 observations of 2", "dueq_client_store_call_duration_seconds claim: 1 observations of 0",
		"dueq_client_store_call_errors_total push unavailable: 1", "dueq_client_store_call_errors_total claim not_found: 1")
}

func TestMetrics_EventsOfKnownQueuesDoNotAllocate(t *testing.T) {
	m := newMetrics(t, nil)
	hooks, about := m.Hooks(), dueq.Subject{Queue: "orders"}
	events := func() {
		hooks.OnSend(dueq.SendEvent{Queue: "orders", Took: time.Millisecond})
		hooks.OnDeliver(dueq.DeliverEvent{Subject: about, Late: time.Millisecond})
		hooks.OnFailure(dueq.FailureEvent{Subject: about})
		hooks.OnSettle(dueq.SettleEvent{Subject: about, Verdict: "nack", Took: time.Millisecond})
		hooks.OnCall(dueq.CallEvent{Call: "push", Took: time.Millisecond})
	}
	events()
	if n := testing.AllocsPerRun(100, events); n > 0 {
		t.Errorf("the hooks of a delivery allocate %g times", n)
	}
}

func TestMetrics_NamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, nil)
	client := newClient(t, m.Hooks())
	_, err := client.Queue("orders").Send(t.Context(), dueq.Message{})
	must(t, err)
	registry := prometheus.NewPedanticRegistry()
	must(t, registry.Register(m))
	must(t, registry.Register(newQueues(t, client, nil)))
	problems, err := testutil.GatherAndLint(registry)
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestNewMetrics_RefusesInvalidOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []dueqprom.Options{{MaxQueues: -1}, {LatenessBuckets: []float64{2, 1}}, {HandlerBuckets: []float64{1, 1}}} {
		if _, err := dueqprom.NewMetrics(&o); !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", o, err)
		}
	}
}

// BenchmarkSendAndConsume has the cost of metrics beside that of a message in memory, the store
// with the cheapest calls.
func BenchmarkSendAndConsume(b *testing.B) {
	for name, hooks := range map[string]dueq.Hooks{"without": {}, "with": newMetrics(b, nil).Hooks()} {
		b.Run(name+" metrics", func(b *testing.B) {
			q := newClient(b, hooks).Queue("orders")
			ctx, stop := context.WithCancel(b.Context())
			handled, ended := make(chan struct{}, 1000), make(chan error, 1)
			go func() {
				ended <- q.Consume(ctx, func(context.Context, *dueq.Delivery) error { handled <- struct{}{}; return nil }, dueq.ConsumeOptions{})
			}()
			batch := make([]dueq.Message, 100)
			for b.Loop() {
				_, err := q.SendBatch(ctx, batch)
				must(b, err)
				for range batch {
					<-handled
				}
			}
			stop()
			must(b, <-ended)
		})
	}
}
