package dueqprom_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// BenchmarkCost compares the processor time of a program that sends messages to Redis and handles
// them with metrics and without, in turn. Run it with -benchtime 1x. ratio is the median of the
// rounds.
func BenchmarkCost(b *testing.B) {
	const (
		messages = 30_000
		rounds   = 9
	)
	server := redistest.Start(b)
	type subject struct {
		name  string
		queue *dueq.Queue
		took  []float64 // microseconds for each message
	}
	open := func(name string, hooks dueq.Hooks) *subject {
		client, err := dueq.Open(b.Context(), "redis://"+server.Addr(), &dueq.Options{Hooks: hooks})
		must(b, err)
		b.Cleanup(func() { _ = client.Close() })
		return &subject{name: name, queue: client.Queue(name)}
	}
	for _, load := range []struct{ goroutines, batch int }{{1, 1}, {16, 1}, {128, 1}, {1, 100}} {
		b.Run(fmt.Sprintf("%d senders of %d", load.goroutines, load.batch), func(b *testing.B) {
			subjects := []*subject{open("without", dueq.Hooks{}), open("with", newMetrics(b, nil).Hooks())}
			n := messages
			if load.goroutines == 1 && load.batch == 1 {
				n /= 5
			}
			for b.Loop() {
				var ratios []float64
				for round := range rounds {
					for _, s := range measure.Rotate(round, subjects) {
						before, err := measure.CPU()
						must(b, err)
						sendAndHandle(b, s.queue, n, load.batch, load.goroutines)
						after, err := measure.CPU()
						must(b, err)
						s.took = append(s.took, float64((after-before)/time.Nanosecond)/1000/float64(n))
					}
					ratios = append(ratios, subjects[1].took[round]/subjects[0].took[round])
				}
				for _, s := range subjects {
					b.ReportMetric(measure.Summarize(s.took).Median, s.name+"-us/msg")
				}
				b.ReportMetric(measure.Summarize(ratios).Median, "ratio")
			}
		})
	}
}

// sendAndHandle sends n messages while they are handled.
func sendAndHandle(b *testing.B, q *dueq.Queue, n, batch, goroutines int) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	handled, ended := make(chan struct{}, n), make(chan error, 1)
	go func() {
		ended <- q.Consume(ctx, func(context.Context, *dueq.Delivery) error { handled <- struct{}{}; return nil }, dueq.ConsumeOptions{})
	}()
	body := make([]byte, 100)
	must(b, measure.Share(ctx, n, batch, goroutines, func(ctx context.Context, _, some int) error {
		if some == 1 {
			_, err := q.Send(ctx, dueq.Message{Body: body})
			return err
		}
		messages := make([]dueq.Message, some)
		for i := range messages {
			messages[i].Body = body
		}
		_, err := q.SendBatch(ctx, messages)
		return err
	}))
	for range n {
		<-handled
	}
	stop()
	must(b, <-ended)
}
