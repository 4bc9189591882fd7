package dueqotel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/dueq-dev/dueq"
)

func TestProcess_LinksToTheSendAndIsATraceOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.send(dueq.Message{Key: "order-42", Body: []byte("42"), Delay: time.Hour})
		var inHandler trace.SpanContext
		r.consume(2*time.Hour, dueq.ConsumeOptions{Middleware: []dueq.Middleware{r.telemetry.Process}}, func(ctx context.Context, _ *dueq.Delivery) error {
			inHandler = trace.SpanContextFromContext(ctx)
			return nil
		})
		sent, processed := r.only("send orders", 1)[0], r.only("process orders", 1)[0]
		if len(processed.Links) != 1 || !processed.Links[0].SpanContext.Equal(sent.SpanContext.WithRemote(true)) {
			t.Errorf("links %v, want one to %v", processed.Links, sent.SpanContext)
		}
		if processed.Parent.IsValid() || processed.SpanContext.TraceID() == sent.SpanContext.TraceID() {
			t.Errorf("the delivery is a part of the trace of its send")
		}
		if !inHandler.Equal(processed.SpanContext) {
			t.Errorf("the context of the handler has the span %v, want %v", inHandler, processed.SpanContext)
		}
		if sent.SpanKind != trace.SpanKindProducer || processed.SpanKind != trace.SpanKindConsumer {
			t.Errorf("kinds %v and %v, want producer and consumer", sent.SpanKind, processed.SpanKind)
		}
		want := "messaging.destination.name=orders messaging.message.body.size=2 messaging.message.id=" + id + " messaging.operation.name=send messaging.operation.type=send messaging.system=dueq"
		if got := attributes(sent.Attributes); got != want {
			t.Errorf("send has %s, want %s", got, want)
		}
		want = "messaging.destination.name=orders messaging.dueq.message.attempt=1 messaging.dueq.message.key=order-42 messaging.dueq.verdict=ack messaging.message.body.size=2 messaging.message.id=" + id + " messaging.operation.name=process messaging.operation.type=process messaging.system=dueq"
		if got := attributes(processed.Attributes); got != want {
			t.Errorf("process has %s, want %s", got, want)
		}
	})
}

func TestProcess_StatusIsAnErrorOnlyForFailures(t *testing.T) {
	for _, test := range []struct {
		result error
		want   codes.Code
	}{
		{nil, codes.Unset},
		{errors.New("no luck"), codes.Error},
		{dueq.Reject(errors.New("no luck")), codes.Error},
		{dueq.Snooze(time.Hour, "busy"), codes.Unset},
		{dueq.Drop(errors.New("no luck")), codes.Unset},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.send(dueq.Message{MaxAttempts: 1})
			r.consume(time.Minute, dueq.ConsumeOptions{Middleware: []dueq.Middleware{r.telemetry.Process}}, func(context.Context, *dueq.Delivery) error { return test.result })
			if got := r.only("process orders", 1)[0].Status; got.Code != test.want {
				t.Errorf("%v: status %v, want %v", test.result, got, test.want)
			}
		})
	}
}

func TestProcess_EndsTheSpanOfAHandlerThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.send(dueq.Message{MaxAttempts: 1})
		r.consume(time.Minute, dueq.ConsumeOptions{Middleware: []dueq.Middleware{r.telemetry.Process}}, func(context.Context, *dueq.Delivery) error { panic("oh no") })
		if got := r.only("process orders", 1)[0].Status; got.Code != codes.Error {
			t.Errorf("status %v, want an error", got)
		}
	})
}

func TestProcessBatch_LinksToEachSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.send(dueq.Message{})
		r.send(dueq.Message{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- r.queue.ConsumeBatch(ctx, r.telemetry.ProcessBatch(func(context.Context, []*dueq.Delivery) error { return nil }), dueq.BatchOptions{Linger: time.Second})
		}()
		timer := time.NewTimer(time.Minute)
		<-timer.C
		stop()
		must(t, <-ended)
		if got := r.only("process orders", 1)[0].Links; len(got) != 2 {
			t.Errorf("%d links, want one to each of the 2 sends", len(got))
		}
	})
}

func TestStart_SpansWorkOnReceivedMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send(dueq.Message{})
	deliveries, err := r.queue.Receive(t.Context(), dueq.ReceiveOptions{})
	must(t, err)
	_, span := r.telemetry.Start(t.Context(), deliveries[0])
	span.End()
	if got := r.only("process orders", 1)[0].Links; len(got) != 1 {
		t.Errorf("%d links, want one to the send", len(got))
	}
}

func TestStart_InsideAnotherTraceBeginsANewOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	around := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	_, span := r.telemetry.Start(trace.ContextWithSpanContext(t.Context(), around), &dueq.Delivery{Queue: "orders"})
	span.End()
	if got := r.only("process orders", 1)[0]; got.Parent.IsValid() || got.SpanContext.TraceID() == around.TraceID() {
		t.Errorf("the span is a part of the trace around it")
	}
}

func TestSend_OneSpanForABatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.queue.SendBatch(t.Context(), []dueq.Message{{Key: "k"}, {Key: "k"}, {}})
	must(t, err)
	span := r.only("send orders", 1)[0]
	want := "error.type=duplicate messaging.batch.message_count=3 messaging.destination.name=orders messaging.operation.name=send messaging.operation.type=send messaging.system=dueq"
	if got := attributes(span.Attributes); got != want {
		t.Errorf("attributes %s, want %s", got, want)
	}
	if !strings.HasPrefix(span.Status.Description, "1 of 3 messages were not stored") {
		t.Errorf("status %+v", span.Status)
	}
}

func TestSend_TraceContextOfTheMessageIsKept(t *testing.T) {
	t.Parallel()
	const own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := newRig(t)
	id := r.send(dueq.Message{Headers: map[string]string{"traceparent": own, "tenant": "7"}})
	record, err := r.queue.Get(t.Context(), dueq.ID(id))
	must(t, err)
	if record.Headers["traceparent"] != own || record.Headers["tenant"] != "7" || len(record.Headers) != 2 {
		t.Errorf("headers %v, want those of the message", record.Headers)
	}
	if links := r.only("send orders", 1)[0].Links; len(links) != 1 || links[0].SpanContext.TraceID().String() != own[3:35] {
		t.Errorf("links of the send %v, want one to the message's own context", links)
	}
}

func TestSend_MessageWithFullHeadersIsSentWithoutContext(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 64 {
		many[fmt.Sprintf("h%d", i)] = ""
	}
	for _, headers := range []map[string]string{many, {"h": strings.Repeat("x", 8191)}} {
		r := newRig(t)
		id := r.send(dueq.Message{Headers: headers})
		record, err := r.queue.Get(t.Context(), dueq.ID(id))
		must(t, err)
		if len(record.Headers) != len(headers) {
			t.Errorf("%d headers, want the %d of the message", len(record.Headers), len(headers))
		}
	}
}

// TestSend_RepeatedAfterALostReplyIsTheSameMessage holds that a message has the same content when
// its Send is repeated by its id, although the repetition is another span.
func TestSend_RepeatedAfterALostReplyIsTheSameMessage(t *testing.T) {
	t.Parallel()
	lost := true
	loseReply := func(next dueq.SendFunc) dueq.SendFunc {
		return func(ctx context.Context, queue string, messages []dueq.Message) (dueq.SendResults, error) {
			results, err := next(ctx, queue, messages)
			if lost && err == nil {
				results[0].Err = fmt.Errorf("no reply: %w", dueq.ErrUnavailable)
			}
			return results, err
		}
	}
	r := newRig(t, loseReply)
	m := dueq.Message{Body: []byte("42")}
	id, err := r.queue.Send(t.Context(), m)
	if !errors.Is(err, dueq.ErrUnavailable) || id == "" {
		t.Fatal(id, err)
	}
	lost = false
	m.ID = id
	if again := r.send(m); again != id {
		t.Errorf("the repetition has the id %s, want %s", again, id)
	}
	s, err := r.queue.Stats(t.Context())
	must(t, err)
	if s.Ready != 1 {
		t.Errorf("%d messages, want 1", s.Ready)
	}
}

func TestInject_AddsTheContextOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled}))
	shared := map[string]string{"tenant": "7"}
	m := dueq.Message{Headers: shared}
	r.telemetry.Inject(ctx, &m)
	first := m.Headers["traceparent"]
	if !strings.Contains(first, "01000000000000000000000000000000") || len(shared) != 1 {
		t.Errorf("headers %v of the message, %v of the caller's map", m.Headers, shared)
	}
	r.send(m)
	r.telemetry.Inject(t.Context(), &m)
	if m.Headers["traceparent"] != first {
		t.Errorf("a second Inject changed the context")
	}
}
