package dueqotel

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/dueq-dev/dueq"
)

// Send is a [dueq.SendMiddleware]: it makes a span for each call that sends messages, and adds its
// context to their headers. As the first of several it spans the work of the others, too.
func (t *Telemetry) Send(next dueq.SendFunc) dueq.SendFunc {
	return func(ctx context.Context, queue string, messages []dueq.Message) (dueq.SendResults, error) {
		ctx, span := t.tracer.Start(ctx, "send "+queue,
			trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attributes("send", "send", queue)...))
		defer span.End()
		added := make([]map[string]string, len(messages))
		for i := range messages {
			added[i] = t.add(ctx, span, &messages[i])
		}
		results, err := next(ctx, queue, messages)
		if err == nil {
			t.remember(results, added)
		}
		describe(span, messages, results, err)
		return results, err
	}
}

// Inject adds the trace context of ctx to the headers of a message, which may be nil, unless they
// have one. [Telemetry.Send] does it for all messages that are sent.
func (t *Telemetry) Inject(ctx context.Context, m *dueq.Message) {
	if t.of(ctx, m.Headers).IsValid() {
		return
	}
	m.Headers = maps.Clone(m.Headers)
	t.put(m, t.context(ctx))
}

// add adds the context of the span of a send to a message. It returns the headers that it added.
func (t *Telemetry) add(ctx context.Context, span trace.Span, m *dueq.Message) map[string]string {
	if own := t.of(ctx, m.Headers); own.IsValid() {
		span.AddLink(trace.Link{SpanContext: own})
		return nil
	}
	headers, repeated := t.unknown.of(m.ID)
	if !repeated {
		headers = t.context(ctx)
	}
	if !t.put(m, headers) {
		return nil
	}
	if repeated {
		span.AddLink(trace.Link{SpanContext: t.of(ctx, headers)})
	}
	return headers
}

// of returns the context of the span that headers have. That of ctx does not count.
func (t *Telemetry) of(ctx context.Context, headers map[string]string) trace.SpanContext {
	if len(headers) == 0 {
		return trace.SpanContext{}
	}
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	return trace.SpanContextFromContext(t.propagator.Extract(ctx, propagation.MapCarrier(headers)))
}

// context returns the headers that carry the trace context of ctx.
func (t *Telemetry) context(ctx context.Context) map[string]string {
	headers := propagation.MapCarrier{}
	t.propagator.Inject(ctx, headers)
	return headers
}

// The limits of dueq.Message.Headers.
const (
	maxHeaders    = 64
	maxHeaderSize = 8 << 10
)

// put adds headers to a message if there is room for them.
func (t *Telemetry) put(m *dueq.Message, headers map[string]string) bool {
	size := 0
	for _, all := range []map[string]string{m.Headers, headers} {
		for name, value := range all {
			size += len(name) + len(value)
		}
	}
	if len(headers) == 0 || len(m.Headers)+len(headers) > maxHeaders || size > maxHeaderSize {
		return false
	}
	if m.Headers == nil {
		m.Headers = map[string]string{}
	}
	maps.Copy(m.Headers, headers)
	return true
}

// describe sets what is known of a send at its end.
func describe(span trace.Span, messages []dueq.Message, results dueq.SendResults, err error) {
	if len(messages) == 1 && err == nil {
		span.SetAttributes(semconv.MessagingMessageBodySize(len(messages[0].Body)))
		if results[0].ID != "" {
			span.SetAttributes(semconv.MessagingMessageID(results[0].ID))
		}
		err = results[0].Err
	}
	if len(messages) > 1 {
		span.SetAttributes(semconv.MessagingBatchMessageCount(len(messages)))
	}
	if err != nil {
		fail(span, err)
		return
	}
	failed := 0
	for i := range results {
		if results[i].Err != nil {
			failed++
			err = results[i].Err
		}
	}
	if failed > 0 {
		fail(span, fmt.Errorf("%d of %d messages were not stored, the last: %w", failed, len(messages), err))
	}
}

func fail(span trace.Span, err error) {
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
	span.SetStatus(codes.Error, err.Error())
}

// unknown are the trace contexts of messages that may have been stored, by id, so that a
// repetition has the same content. The oldest are forgotten.
type unknown struct {
	mu      sync.Mutex
	headers map[string]map[string]string
	order   []string
}

const maxUnknown = 1000

// of returns the headers of a message, if they are known. They are kept, as the repetition may
// fail, too.
func (u *unknown) of(id string) (map[string]string, bool) {
	if id == "" {
		return nil, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	headers, ok := u.headers[id]
	return headers, ok
}

func (u *unknown) keep(id string, headers map[string]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.headers[id]; known {
		return
	}
	if u.headers == nil {
		u.headers = map[string]map[string]string{}
	}
	if len(u.order) == maxUnknown {
		delete(u.headers, u.order[0])
		u.order = u.order[1:]
	}
	u.headers[id] = headers
	u.order = append(u.order, id)
}

// remember keeps the headers of messages that may or may not have been stored.
func (t *Telemetry) remember(results dueq.SendResults, added []map[string]string) {
	for i := range results {
		if i < len(added) && results[i].Err != nil && results[i].ID != "" && added[i] != nil {
			t.unknown.keep(results[i].ID, added[i])
		}
	}
}
