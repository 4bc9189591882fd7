package dueq_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/redisstore"
)

// What a fleet of consumers costs a Redis, counted by the server. Each consumer has a client and
// connections of its own, as another process would have. Run it with -benchtime 1x.

// manyConsumers counts the calls of many clients.
type manyConsumers struct {
	b      *testing.B
	server *redistest.Server
	prefix string
	others atomic.Int64 // beats and questions about duties
}

func newFleet(b *testing.B) *manyConsumers {
	b.Helper()
	return &manyConsumers{b: b, server: redistest.Start(b), prefix: redistest.Prefix()}
}

// counted counts the calls of a store that keep its client's consumers alive.
type counted struct {
	store.Store
	fleet *manyConsumers
}

func (c counted) Beat(ctx context.Context, r store.BeatRequest) (store.BeatResult, error) {
	c.fleet.others.Add(1)
	return c.Store.Beat(ctx, r)
}

func (c counted) Duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	c.fleet.others.Add(1)
	return c.Store.Duties(ctx, r)
}

func (f *manyConsumers) client() *dueq.Client {
	f.b.Helper()
	s, err := redisstore.New(f.server.Client(f.b), redisstore.Config{Prefix: f.prefix})
	if err != nil {
		f.b.Fatal(err)
	}
	client, err := dueq.New(counted{s, f}, nil)
	if err != nil {
		f.b.Fatal(err)
	}
	f.b.Cleanup(func() { _ = client.Close() })
	return client
}

// consume starts n consumers of a queue, and returns a function that stops them.
func (f *manyConsumers) consume(n int, h dueq.Handler, o dueq.ConsumeOptions) (stop func()) {
	f.b.Helper()
	ctx, end := context.WithCancel(f.b.Context())
	var running sync.WaitGroup
	for range n {
		q := f.client().Queue("work")
		running.Go(func() {
			if err := q.Consume(ctx, h, o); err != nil {
				f.b.Error(err)
			}
		})
	}
	return func() {
		end()
		running.Wait()
	}
}

// calls returns how many scripts the server has run, apart from those about members.
func (f *manyConsumers) calls() int64 {
	f.b.Helper()
	info, err := f.server.Client(f.b).Info(f.b.Context(), "commandstats").Result()
	if err != nil {
		f.b.Fatal(err)
	}
	n := -f.others.Load()
	for line := range strings.Lines(info) {
		name, fields, _ := strings.Cut(line, ":calls=")
		if name == "cmdstat_evalsha" || name == "cmdstat_eval" {
			calls, _, _ := strings.Cut(fields, ",")
			i, _ := strconv.ParseInt(calls, 10, 64)
			n += i
		}
	}
	return n
}

// settle is how long a fleet takes to know who is on duty.
const settle = 30 * time.Second

func BenchmarkFleet_Idle(b *testing.B) {
	for range b.N {
		f := newFleet(b)
		stop := f.consume(100, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{})
		pass(settle)
		const span = 20 * time.Second
		before, others := f.calls(), f.others.Load()
		pass(span)
		b.ReportMetric(float64(f.calls()-before)/span.Seconds(), "calls/s")
		b.ReportMetric(float64(f.others.Load()-others)/span.Seconds(), "beats/s")
		stop()
	}
}

// One message becomes due every 500 ms, and 100 consumers wait for it.
func BenchmarkFleet_LoneMessages(b *testing.B) {
	for range b.N {
		f := newFleet(b)
		var mu sync.Mutex
		var late []time.Duration
		stop := f.consume(100, func(_ context.Context, d *dueq.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, time.Since(d.Due))
			return nil
		}, dueq.ConsumeOptions{})
		pass(settle)
		q, before := f.client().Queue("work"), f.calls()
		const messages = 100
		for range messages {
			if _, err := q.Send(b.Context(), dueq.Message{Delay: time.Second}); err != nil {
				b.Fatal(err)
			}
			pass(500 * time.Millisecond)
		}
		pass(2 * time.Second)
		b.ReportMetric(float64(f.calls()-before)/messages, "calls/msg")
		stop()
		slices.Sort(late)
		b.ReportMetric(measure.Milliseconds(measure.Quantile(late, 0.5)), "p50-ms")
		b.ReportMetric(measure.Milliseconds(measure.Quantile(late, 0.99)), "p99-ms")
		b.ReportMetric(float64(len(late)), "msgs")
	}
}

// 10,000 messages become due at once, and 50 consumers have 10 handlers each.
func BenchmarkFleet_Burst(b *testing.B) {
	for range b.N {
		f := newFleet(b)
		var busy, most atomic.Int64
		var full atomic.Pointer[time.Time]
		stop := f.consume(50, func(context.Context, *dueq.Delivery) error {
			if n := busy.Add(1); n > most.Load() {
				most.Store(n)
				if n == 500 {
					now := time.Now()
					full.CompareAndSwap(nil, &now)
				}
			}
			pass(100 * time.Millisecond)
			busy.Add(-1)
			return nil
		}, dueq.ConsumeOptions{NoPrefetch: true})
		pass(settle)
		due, q := time.Now().Add(3*time.Second), f.client().Queue("work")
		_, err := q.SendBatch(b.Context(), slices.Repeat([]dueq.Message{{Due: due}}, 10_000))
		if err != nil {
			b.Fatal(err)
		}
		pass(time.Until(due) + 2*time.Second)
		b.ReportMetric(float64(most.Load()), "handlers")
		if at := full.Load(); at != nil {
			b.ReportMetric(measure.Milliseconds(at.Sub(due)), "ms-until-500")
		}
		stop()
	}
}

// One process consumes 200 queues that are empty.
func BenchmarkFleet_IdleQueues(b *testing.B) {
	const queues = 200
	for range b.N {
		f := newFleet(b)
		client := f.client()
		w, err := dueq.NewWorker(client, dueq.WorkerOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for i := range queues {
			if err := w.Handle(fmt.Sprintf("queue-%d", i), func(context.Context, *dueq.Delivery) error { return nil }, dueq.HandleOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		before, bytes := runtime.NumGoroutine(), memory()
		ctx, end := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = w.Run(ctx) })
		pass(settle)
		const span = 20 * time.Second
		calls := f.calls()
		pass(span)
		b.ReportMetric(float64(f.calls()-calls)/span.Seconds(), "calls/s")
		b.ReportMetric(float64(runtime.NumGoroutine()-before), "goroutines")
		b.ReportMetric(float64(memory()-bytes)/1024/queues, "KiB/queue")
		clients, err := f.server.Client(b).ClientList(b.Context()).Result()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(strings.Count(clients, "\n")-2), "connections") // without those of calls and this one
		end()
		running.Wait()
	}
}

// memory returns the bytes of live objects and of stacks, which each collection may halve.
func memory() uint64 {
	for range 5 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
