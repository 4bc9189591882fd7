package dueqotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/dueq-dev/dueq"
)

// Attributes of deliveries that the conventions do not have.
const (
	keyKey     = attribute.Key("messaging.dueq.message.key")
	attemptKey = attribute.Key("messaging.dueq.message.attempt")
	verdictKey = attribute.Key("messaging.dueq.verdict")
)

// Process is a [dueq.Middleware]: it makes a span for each call of the handler. The span is that of
// an error if the delivery has failed, but not if it was snoozed, say.
func (t *Telemetry) Process(h dueq.Handler) dueq.Handler {
	return func(ctx context.Context, d *dueq.Delivery) error {
		ctx, span := t.Start(ctx, d)
		return ended(span, func() error { return h(ctx, d) })
	}
}

// ProcessBatch is Process for the handlers of ConsumeBatch: a span for each call, with links to the
// sends of all messages of the batch. Results that Delivery.Fail has set are not seen.
func (t *Telemetry) ProcessBatch(h dueq.BatchHandler) dueq.BatchHandler {
	return func(ctx context.Context, batch []*dueq.Delivery) error {
		if len(batch) == 1 {
			ctx, span := t.Start(ctx, batch[0])
			return ended(span, func() error { return h(ctx, batch) })
		}
		queue := batch[0].Queue
		ctx, span := t.start(ctx, queue, t.links(ctx, batch), semconv.MessagingBatchMessageCount(len(batch)))
		return ended(span, func() error { return h(ctx, batch) })
	}
}

// Start starts the span of the work on one delivery, for messages of [dueq.Queue.Receive]. The
// caller ends it.
func (t *Telemetry) Start(ctx context.Context, d *dueq.Delivery) (context.Context, trace.Span) {
	about := []attribute.KeyValue{
		semconv.MessagingMessageID(d.ID), semconv.MessagingMessageBodySize(len(d.Body)), attemptKey.Int(d.Attempt),
	}
	if d.Key != "" {
		about = append(about, keyKey.String(d.Key))
	}
	return t.start(ctx, d.Queue, t.links(ctx, []*dueq.Delivery{d}), about...)
}

// start starts a span in a trace of its own.
func (t *Telemetry) start(ctx context.Context, queue string, links []trace.Link, about ...attribute.KeyValue) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, "process "+queue, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(links...), trace.WithAttributes(append(attributes("process", "process", queue), about...)...))
}

// links returns links to the sends of messages.
func (t *Telemetry) links(ctx context.Context, batch []*dueq.Delivery) []trace.Link {
	var links []trace.Link
	for _, d := range batch {
		if sent := t.of(ctx, d.Headers); sent.IsValid() {
			links = append(links, trace.Link{SpanContext: sent, Attributes: []attribute.KeyValue{semconv.MessagingMessageID(d.ID)}})
		}
	}
	return links
}

// ended calls a handler, then ends its span, also when the handler panics.
func ended(span trace.Span, handle func() error) error {
	returned := false
	defer func() {
		if !returned {
			span.SetStatus(codes.Error, "the handler panicked")
			span.SetAttributes(semconv.ErrorTypeKey.String("panic"))
		}
		span.End()
	}()
	err := handle()
	returned = true
	verdict := dueq.VerdictOf(err)
	span.SetAttributes(verdictKey.String(verdict))
	if failed(verdict) {
		span.SetStatus(codes.Error, err.Error())
		span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
	}
	return err
}

// failed reports whether a delivery with a verdict has failed.
func failed(verdict string) bool { return verdict == "nack" || verdict == "reject" }
