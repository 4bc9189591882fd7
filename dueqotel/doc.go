// Package dueqotel exports traces and metrics of dueq to OpenTelemetry, with the semantic
// conventions for messaging.
//
//	telemetry, err := dueqotel.New(nil) // the global providers
//	client, err := dueq.Open(ctx, url, &dueq.Options{
//		Hooks:          telemetry.Hooks(),                      // metrics
//		SendMiddleware: []dueq.SendMiddleware{telemetry.Send},  // spans of sends
//	})
//	err = queue.Consume(ctx, handler, dueq.ConsumeOptions{
//		Middleware: []dueq.Middleware{telemetry.Process},       // spans of handlers
//	})
//
// # Traces
//
// A send is a span "send QUEUE", one for each call. Its context travels in the headers of the
// messages, by default as traceparent and tracestate. A delivery is a span "process QUEUE" in a
// trace of its own, which has a link to the span of the send: a message can be due days later, when
// the trace of its send has long been stored. Each attempt is a span.
//
// A message that has a trace context already keeps it. A message whose headers have no room for
// one is sent without.
//
// # Repeated sends
//
// A Send of unknown outcome may be repeated with the id that it has returned, and then the message
// must have the same content, headers included. Within one process [Telemetry.Send] adds the same
// trace context again. A program that keeps messages to repeat them from another process calls
// [Telemetry.Inject] before the first Send and keeps the headers.
//
// # Next
//
// With SendMiddleware, messages of [dueq.Next] are sent before the ack instead of in one step with
// it, which costs further calls. The guarantee of Next is the same.
package dueqotel
