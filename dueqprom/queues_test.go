package dueqprom_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	model "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	promlabels "github.com/prometheus/common/model"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/dueqprom"
)

func newQueues(t testing.TB, client *dueq.Client, o *dueqprom.QueuesOptions) *dueqprom.Queues {
	t.Helper()
	q, err := dueqprom.NewQueues(client, o)
	must(t, err)
	return q
}

func send(t testing.TB, client *dueq.Client, queue string, m dueq.Message) {
	t.Helper()
	_, err := client.Queue(queue).Send(t.Context(), m)
	must(t, err)
}

// served returns what the handler of "dueq serve" answers to a scrape.
func served(t testing.TB, client *dueq.Client) string {
	t.Helper()
	h, err := dueqhttp.Handler(client, &dueqhttp.Options{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("GET /metrics: %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestQueues_ReportsWhatTheServerReports(t *testing.T) {
	t.Parallel()
	client := newClient(t, dueq.Hooks{})
	must(t, client.Queue("mail").Create(t.Context(), dueq.Settings{Partitions: 3}))
	must(t, client.Queue("mail").Pause(t.Context()))
	send(t, client, "orders", dueq.Message{Delay: time.Hour})
	send(t, client, "orders", dueq.Message{Key: "gone"})
	must(t, client.Queue("orders").Cancel(t.Context(), dueq.Key("gone")))
	registry := prometheus.NewPedanticRegistry()
	must(t, registry.Register(newQueues(t, client, nil)))
	gathered, err := registry.Gather()
	must(t, err)
	own := map[string]*model.MetricFamily{}
	for _, f := range gathered {
		own[f.GetName()] = f
	}
	parser := expfmt.NewTextParser(promlabels.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(served(t, client)))
	must(t, err)
	if len(families) < 6 {
		t.Errorf("the server reports %d metrics", len(families))
	}
	for name, f := range families {
		if own[name].GetHelp() != f.GetHelp() || own[name].GetType() != f.GetType() {
			t.Errorf("%s: %s: %s; of the server: %s: %s", name, own[name].GetType(), own[name].GetHelp(), f.GetType(), f.GetHelp())
		}
		got, want := seriesOf(own[name]), seriesOf(f)
		slices.Sort(got)
		wantSeries(t, got, want...)
	}
}

func TestQueues_EveryCounterIsAnEvent(t *testing.T) {
	t.Parallel()
	client := newClient(t, dueq.Hooks{})
	send(t, client, "orders", dueq.Message{})
	got := len(series(t, newQueues(t, client, nil), "dueq_events_total"))
	if want := reflect.TypeFor[dueq.Counters]().NumField(); got != want {
		t.Errorf("%d events, want one for each of the %d counters", got, want)
	}
}

func TestQueues_PartitionsWithAConsumerOnDuty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, dueq.Hooks{})
		must(t, client.Queue("orders").Create(t.Context(), dueq.Settings{Partitions: 3}))
		onDuty := func() []string {
			return series(t, newQueues(t, client, nil), "dueq_partitions", "dueq_partitions_on_duty")
		}
		wantSeries(t, onDuty(), "dueq_partitions orders: 3", "dueq_partitions_on_duty orders: 0")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- client.Queue("orders").Consume(ctx, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{})
		}()
		trial := time.NewTimer(time.Minute)
		<-trial.C
		wantSeries(t, onDuty(), "dueq_partitions orders: 3", "dueq_partitions_on_duty orders: 3")
		stop()
		must(t, <-ended)
	})
}

func TestQueues_ScrapesWithinTheIntervalReadTheStoreOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		client := newClient(t, dueq.Hooks{OnCall: func(dueq.CallEvent) { calls++ }})
		send(t, client, "orders", dueq.Message{})
		q := newQueues(t, client, &dueqprom.QueuesOptions{Every: time.Minute})
		calls = 0
		for range 5 {
			wantSeries(t, series(t, q, "dueq_up"), "dueq_up: 1")
		}
		if calls != 1 {
			t.Errorf("5 scrapes at one time made %d calls of the store, want 1", calls)
		}
		timer := time.NewTimer(time.Minute)
		<-timer.C
		if series(t, q); calls != 2 {
			t.Errorf("a scrape after the interval made %d calls, want 1", calls-1)
		}
	})
}

func TestQueues_OverTheLimitAreAddedUp(t *testing.T) {
	t.Parallel()
	client := newClient(t, dueq.Hooks{})
	for _, queue := range []string{"b", "c", "d"} {
		send(t, client, queue, dueq.Message{Delay: time.Hour})
	}
	q := newQueues(t, client, &dueqprom.QueuesOptions{MaxQueues: 2, Every: time.Nanosecond})
	scheduled := func() (lines []string) {
		for _, line := range series(t, q, "dueq_messages") {
			if strings.Contains(line, " scheduled: ") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	wantSeries(t, scheduled(), "dueq_messages b scheduled: 1", "dueq_messages c scheduled: 1", "dueq_messages (other) scheduled: 1")
	send(t, client, "a", dueq.Message{Delay: time.Hour}) // b and c keep their series
	wantSeries(t, scheduled(), "dueq_messages b scheduled: 1", "dueq_messages c scheduled: 1", "dueq_messages (other) scheduled: 2")
	for _, line := range series(t, q, "dueq_events_total", "dueq_partitions_on_duty") {
		if strings.Contains(line, "(other)") {
			t.Errorf("%s: the sum of several queues is reported as a counter", line)
		}
	}
}

func TestQueues_StoreThatDoesNotAnswerIsDown(t *testing.T) {
	t.Parallel()
	client := newClient(t, dueq.Hooks{})
	send(t, client, "orders", dueq.Message{})
	var log bytes.Buffer
	q := newQueues(t, client, &dueqprom.QueuesOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, client.Close())
	wantSeries(t, series(t, q), "dueq_up: 0")
	if !strings.Contains(log.String(), "could not read the queues") {
		t.Errorf("logged %q", log.String())
	}
}

func TestNewQueues_RefusesInvalidOptions(t *testing.T) {
	t.Parallel()
	client := newClient(t, dueq.Hooks{})
	for _, o := range []dueqprom.QueuesOptions{{MaxQueues: -1}, {Every: -1}, {Timeout: -1}} {
		if _, err := dueqprom.NewQueues(client, &o); !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", o, err)
		}
	}
	if _, err := dueqprom.NewQueues(nil, nil); !errors.Is(err, dueq.ErrInvalid) {
		t.Errorf("without a client: %v, want ErrInvalid", err)
	}
}

var _ prometheus.Collector = (*dueqprom.Queues)(nil)
