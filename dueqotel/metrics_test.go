package dueqotel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqotel"
)

func TestHooks_RecordTheMetricsOfTheConventions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.send(dueq.Message{Key: "works", Delay: time.Minute})
		r.send(dueq.Message{Key: "fails", MaxAttempts: 2, Delay: time.Minute})
		_, _ = r.queue.Send(t.Context(), dueq.Message{Key: "fails"}) // refused
		o := dueq.ConsumeOptions{Backoff: func(*dueq.Delivery, error) time.Duration { return time.Second }}
		r.consume(time.Hour, o, func(_ context.Context, d *dueq.Delivery) error {
			work := time.NewTimer(time.Second)
			<-work.C
			if d.Key == "fails" {
				return errors.New("no luck")
			}
			return nil
		})
		const sent = " messaging.destination.name=orders messaging.operation.name=send messaging.system=dueq"
		const handled = " messaging.destination.name=orders messaging.operation.name=process messaging.system=dueq"
		r.wantPoints("messaging.client.sent.messages", "2"+sent, "1 error.type=duplicate"+sent)
		r.wantPoints("messaging.client.consumed.messages", "3"+handled)
		r.wantPoints("messaging.process.duration", "1 values, sum 1"+handled, "2 values, sum 2 error.type=nack"+handled)
		r.wantPoints("dueq.delivery.lateness", "3 values, sum 0"+handled)
		r.wantPoints("dueq.delivery.failures", "1"+handled)
		r.wantPoints("dueq.message.dead", "1"+handled)
	})
}

func TestHooks_RecordCallsOfTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.telemetry.Hooks().OnCall(dueq.CallEvent{Call: "push", Queue: "orders", Took: time.Second})
	r.telemetry.Hooks().OnCall(dueq.CallEvent{Call: "queues", Took: time.Second, Err: dueq.ErrUnavailable})
	r.wantPoints("messaging.client.operation.duration",
		"1 values, sum 1 messaging.destination.name=orders messaging.operation.name=push messaging.operation.type=send messaging.system=dueq",
		"1 values, sum 1 error.type=unavailable messaging.operation.name=queues messaging.system=dueq")
}

func TestHooks_QueuesOverTheLimitHaveNoName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	send := r.telemetry.Hooks().OnSend
	for _, queue := range []string{"a", "b", "c", "d"} { // the rig's limit is 2
		send(dueq.SendEvent{Queue: queue})
	}
	const sent = "messaging.operation.name=send messaging.system=dueq"
	r.wantPoints("messaging.client.sent.messages",
		"1 messaging.destination.name=a "+sent, "1 messaging.destination.name=b "+sent, "2 "+sent)
}

func TestHooks_LostDeliveriesByReason(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.telemetry.Hooks().OnSettle(dueq.SettleEvent{Subject: dueq.Subject{Queue: "orders"}, Verdict: "ack", Lost: dueq.ErrLeaseLost})
	r.wantPoints("dueq.delivery.lost", "1 error.type=lease_lost messaging.destination.name=orders messaging.operation.name=process messaging.system=dueq")
}

func TestObserveQueues_ReportsTheStoreUntilStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send(dueq.Message{Delay: time.Hour})
	stop, err := r.telemetry.ObserveQueues(r.client)
	must(t, err)
	const orders = "messaging.destination.name=orders messaging.system=dueq"
	r.wantPoints("dueq.queue.messages", "1 dueq.state=scheduled "+orders, "0 dueq.state=ready "+orders, "0 dueq.state=leased "+orders,
		"0 dueq.state=dead "+orders, "0 dueq.state=done "+orders)
	r.wantPoints("dueq.queue.oldest_ready", "0 "+orders)
	r.wantPoints("dueq.queue.consumers", "0 "+orders)
	must(t, stop())
	must(t, r.client.Close())
	var all metricdata.ResourceMetrics
	if err := r.metrics.Collect(t.Context(), &all); err != nil {
		t.Errorf("after stop: %v", err)
	}
}

func TestNew_UsesTheGlobalProviders(t *testing.T) {
	t.Parallel()
	telemetry, err := dueqotel.New(nil)
	must(t, err)
	called := false
	send := telemetry.Send(func(_ context.Context, _ string, _ []dueq.Message) (dueq.SendResults, error) {
		called = true
		return dueq.SendResults{{ID: "id"}}, nil
	})
	if _, err := send(t.Context(), "orders", make([]dueq.Message, 1)); err != nil || !called || otel.GetTracerProvider() == nil {
		t.Errorf("called %t, %v", called, err)
	}
	if _, err := dueqotel.New(&dueqotel.Options{MaxQueues: -1}); !errors.Is(err, dueq.ErrInvalid) {
		t.Errorf("a negative MaxQueues: %v, want ErrInvalid", err)
	}
}
