package dueqotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/dueq-dev/dueq"
)

// gauges are the instruments of what is in a store.
type gauges struct {
	messages  metric.Int64ObservableGauge
	oldest    metric.Float64ObservableGauge
	consumers metric.Int64ObservableGauge
}

// ObserveQueues reports what is in the store of client: dueq.queue.messages by dueq.state,
// dueq.queue.oldest_ready and dueq.queue.consumers, of up to MaxQueues queues. Each collection of
// the metrics reads each partition once. One process calls it, or each instance of a service that
// is not scaled. The caller calls stop before it closes the client.
func (t *Telemetry) ObserveQueues(client *dueq.Client) (stop func() error, err error) {
	var g gauges
	if g.messages, err = t.meter.Int64ObservableGauge("dueq.queue.messages", metric.WithUnit("{message}"), metric.WithDescription("Messages by state.")); err != nil {
		return nil, fmt.Errorf("dueqotel: %w", err)
	}
	if g.oldest, err = t.meter.Float64ObservableGauge("dueq.queue.oldest_ready", metric.WithUnit("s"), metric.WithDescription("How long the oldest ready message has been due.")); err != nil {
		return nil, fmt.Errorf("dueqotel: %w", err)
	}
	if g.consumers, err = t.meter.Int64ObservableGauge("dueq.queue.consumers", metric.WithUnit("{consumer}"), metric.WithDescription("Consumers that reported lately.")); err != nil {
		return nil, fmt.Errorf("dueqotel: %w", err)
	}
	registered, err := t.meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		all, err := client.Stats(ctx)
		if err != nil {
			return fmt.Errorf("dueqotel: %w", err)
		}
		for i := range all[:min(len(all), t.most)] {
			g.observe(to, &all[i])
		}
		return nil
	}, g.messages, g.oldest, g.consumers)
	if err != nil {
		return nil, fmt.Errorf("dueqotel: %w", err)
	}
	return registered.Unregister, nil
}

func (g *gauges) observe(to metric.Observer, s *dueq.Stats) {
	of := []attribute.KeyValue{semconv.MessagingSystemKey.String(system), semconv.MessagingDestinationName(s.Queue)}
	for _, state := range []struct {
		name  dueq.State
		count int64
	}{{dueq.Scheduled, s.Scheduled}, {dueq.Ready, s.Ready}, {dueq.Leased, s.Leased}, {dueq.Dead, s.Dead}, {dueq.Done, s.Done}} {
		to.ObserveInt64(g.messages, state.count, metric.WithAttributes(append(of[:2:2], attribute.String("dueq.state", string(state.name)))...))
	}
	to.ObserveFloat64(g.oldest, s.OldestReady.Seconds(), metric.WithAttributes(of...))
	to.ObserveInt64(g.consumers, int64(s.Consumers), metric.WithAttributes(of...))
}
