package dueq_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// The benchmarks run on a Redis of their own, with bodies of 100 bytes, and report what
// a message costs: docs/PERFORMANCE.md explains how to read them.

const benchBody = 100

// meter measures a benchmark from start to report.
type meter struct {
	b        *testing.B
	rdb      *redis.Client
	began    time.Time
	server   float64 // processor seconds
	client   float64
	commands float64
}

// benchQueue returns a queue on a new server, and a meter of both.
func benchQueue(b *testing.B) (*dueq.Queue, *meter) {
	b.Helper()
	rdb := redistest.Start(b).Client(b)
	client := opened(b)(dueq.NewRedis(rdb, &dueq.Options{Logger: slog.New(slog.DiscardHandler)}))
	b.Cleanup(func() { _ = client.Close() })
	q := client.Queue("work")
	if err := q.Create(b.Context(), dueq.Settings{}); err != nil {
		b.Fatal(err)
	}
	return q, &meter{b: b, rdb: rdb}
}

func (m *meter) start() {
	m.b.ResetTimer()
	m.server, m.commands = m.info("used_cpu_user_main_thread")+m.info("used_cpu_sys_main_thread"), m.info("total_commands_processed")
	m.client, m.began = processorTime(m.b), time.Now()
}

// report reports what each of n messages has cost.
func (m *meter) report(n int64) {
	m.b.Helper()
	took, client := time.Since(m.began), processorTime(m.b)-m.client
	server := m.info("used_cpu_user_main_thread") + m.info("used_cpu_sys_main_thread") - m.server
	commands := m.info("total_commands_processed") - m.commands
	m.b.ReportMetric(float64(n)/took.Seconds(), "msg/s")
	m.b.ReportMetric(server*1e6/float64(n), "store-cpu-us/msg")
	m.b.ReportMetric(client*1e6/float64(n), "client-cpu-us/msg")
	m.b.ReportMetric(commands/float64(n), "commands/msg")
}

func (m *meter) info(field string) float64 {
	m.b.Helper()
	text, err := m.rdb.Info(context.Background(), "cpu", "stats", "memory").Result()
	if err != nil {
		m.b.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				m.b.Fatal(err)
			}
			return n
		}
	}
	m.b.Fatal("INFO has no " + field)
	return 0
}

func mustSend(b *testing.B, q *dueq.Queue, m dueq.Message) {
	if _, err := q.Send(context.Background(), m); err != nil {
		b.Error(err)
	}
}

// fill sends n messages, in batches.
func fill(b *testing.B, q *dueq.Queue, n int, m dueq.Message) {
	b.Helper()
	for n > 0 {
		batch := make([]dueq.Message, min(n, 10_000))
		for i := range batch {
			batch[i] = m
		}
		results, err := q.SendBatch(context.Background(), batch)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range results {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
		n -= len(batch)
	}
}

// BenchmarkSend calls Send from many goroutines.
func BenchmarkSend(b *testing.B) {
	for _, goroutines := range []int{1, 2, 16, 128, 1024} {
		b.Run(fmt.Sprint("goroutines=", goroutines), func(b *testing.B) {
			q, m := benchQueue(b)
			later := dueq.Message{Body: make([]byte, benchBody), Delay: time.Hour}
			mustSend(b, q, later)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ReportAllocs()
			m.start()
			var sending sync.WaitGroup
			for range goroutines {
				sending.Go(func() {
					for left.Add(-1) >= 0 {
						mustSend(b, q, later)
					}
				})
			}
			sending.Wait()
			m.report(int64(b.N))
		})
	}
}

// BenchmarkSendBatch sends 100 messages at a time.
func BenchmarkSendBatch(b *testing.B) {
	q, m := benchQueue(b)
	batch := make([]dueq.Message, 100)
	for i := range batch {
		batch[i] = dueq.Message{Body: make([]byte, benchBody), Delay: time.Hour}
	}
	fill(b, q, 1, batch[0])
	n := int64(0)
	b.ReportAllocs()
	m.start()
	for b.Loop() {
		if _, err := q.SendBatch(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
		n += int64(len(batch))
	}
	m.report(n)
}

// BenchmarkDrain consumes messages that are all due, with a handler that does nothing.
func BenchmarkDrain(b *testing.B) {
	for _, concurrency := range []int{1, 10, 100} {
		b.Run(fmt.Sprint("concurrency=", concurrency), func(b *testing.B) {
			q, m := benchQueue(b)
			fill(b, q, b.N, dueq.Message{Body: make([]byte, benchBody)})
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			var handled atomic.Int64
			b.ReportAllocs()
			m.start()
			err := q.Consume(ctx, func(context.Context, *dueq.Delivery) error {
				if handled.Add(1) == int64(b.N) {
					stop()
				}
				return nil
			}, dueq.ConsumeOptions{Concurrency: concurrency})
			m.report(int64(b.N))
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkDrainBatch is BenchmarkDrain with concurrency 10 in turns with a handler that
// takes 500 messages at a time.
func BenchmarkDrainBatch(b *testing.B) {
	q, m := benchQueue(b)
	var singly, batches drained
	for b.Loop() {
		for _, way := range []*drained{&singly, &batches} {
			const messages = 50_000
			fill(b, q, messages, dueq.Message{Body: make([]byte, benchBody)})
			runtime.GC() // of what sending has left
			m.start()
			way.begin()
			drain(b, q, messages, way == &batches)
			way.add(m, messages)
		}
	}
	singly.report(b, "singly")
	batches.report(b, "batches")
	b.ReportMetric(singly.took/singly.n/(batches.took/batches.n), "rate-ratio")
	b.ReportMetric(batches.client/batches.n/(singly.client/singly.n), "client-cpu-ratio")
}

// drained is what the messages that were consumed in one way have cost.
type drained struct {
	n, took, client, allocations, bytes float64
	before                              runtime.MemStats
}

func (d *drained) begin() { runtime.ReadMemStats(&d.before) }

func (d *drained) add(m *meter, messages int64) {
	d.n += float64(messages)
	d.took += time.Since(m.began).Seconds()
	d.client += processorTime(m.b) - m.client
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	d.allocations += float64(after.Mallocs - d.before.Mallocs)
	d.bytes += float64(after.TotalAlloc - d.before.TotalAlloc)
}

func (d *drained) report(b *testing.B, way string) {
	b.Helper()
	b.ReportMetric(d.n/d.took, way+"-msg/s")
	b.ReportMetric(d.client*1e6/d.n, way+"-client-cpu-us/msg")
	b.ReportMetric(d.allocations/d.n, way+"-allocs/msg")
	b.ReportMetric(d.bytes/d.n, way+"-B/msg")
}

// drain consumes n messages.
func drain(b *testing.B, q *dueq.Queue, n int64, batches bool) {
	b.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var handled atomic.Int64
	note := func(some int) {
		if handled.Add(int64(some)) == n {
			stop()
		}
	}
	var err error
	if batches {
		err = q.ConsumeBatch(ctx, func(_ context.Context, batch []*dueq.Delivery) error {
			note(len(batch))
			return nil
		}, dueq.BatchOptions{Max: 500})
	} else {
		err = q.Consume(ctx, func(context.Context, *dueq.Delivery) error {
			note(1)
			return nil
		}, dueq.ConsumeOptions{})
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReceive receives 100 messages at a time and acks them, all at once.
func BenchmarkReceive(b *testing.B) {
	q, m := benchQueue(b)
	fill(b, q, b.N, dueq.Message{Body: make([]byte, benchBody)})
	b.ReportAllocs()
	m.start()
	for n := 0; n < b.N; {
		deliveries, err := q.Receive(context.Background(), dueq.ReceiveOptions{Max: 100, Wait: time.Second})
		if err != nil {
			b.Fatal(err)
		}
		if err := dueq.AckAll(context.Background(), deliveries); err != nil {
			b.Error(err)
		}
		n += len(deliveries)
	}
	m.report(int64(b.N))
}
