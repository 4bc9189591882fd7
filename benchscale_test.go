package dueq_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// BenchmarkMemory sends 200,000 messages and reports what one takes in Redis.
func BenchmarkMemory(b *testing.B) {
	const messages = 200_000
	for b.Loop() {
		q, m := benchQueue(b)
		fill(b, q, 1, dueq.Message{Delay: time.Hour})
		before := m.info("used_memory")
		fill(b, q, messages, dueq.Message{Body: make([]byte, benchBody), Delay: time.Hour})
		b.ReportMetric((m.info("used_memory")-before)/messages, "bytes/msg")
	}
}

// BenchmarkBacklog sends and consumes 20,000 messages beside many that are due later.
func BenchmarkBacklog(b *testing.B) {
	const messages = 20_000
	for _, backlog := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint("pending=", backlog), func(b *testing.B) {
			q, m := benchQueue(b)
			fill(b, q, backlog, dueq.Message{Body: make([]byte, benchBody), Delay: time.Hour})
			n := int64(0)
			m.start()
			for b.Loop() {
				fill(b, q, messages, dueq.Message{Body: make([]byte, benchBody)})
				consumeAll(b, q, messages, func(*dueq.Delivery) {}, dueq.ConsumeOptions{Concurrency: 100})
				n += messages
			}
			m.report(n)
		})
	}
}

// consumeAll consumes n messages.
func consumeAll(b *testing.B, q *dueq.Queue, n int, handle func(*dueq.Delivery), c dueq.ConsumeOptions) {
	b.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err := q.Consume(ctx, afterAll(n, stop, func(_ context.Context, d *dueq.Delivery) error {
		handle(d)
		return nil
	}), c)
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLateness sends 500 messages a second, due after 1 s, and reports how late
// their handlers begin, by the clock of this machine, with defaults.
func BenchmarkLateness(b *testing.B) {
	const perSecond, seconds = 500, 5
	for b.Loop() {
		q, _ := benchQueue(b)
		var mu sync.Mutex
		var late []time.Duration
		var sending sync.WaitGroup
		sending.Go(func() {
			ticker := time.NewTicker(time.Second / perSecond)
			defer ticker.Stop()
			for range perSecond * seconds {
				<-ticker.C
				due := time.Now().Add(time.Second)
				mustSend(b, q, dueq.Message{Due: due, Body: strconv.AppendInt(nil, due.UnixNano(), 10)})
			}
		})
		consumeAll(b, q, perSecond*seconds, func(d *dueq.Delivery) {
			due, err := strconv.ParseInt(string(d.Body), 10, 64)
			if err != nil {
				b.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			late = append(late, time.Since(time.Unix(0, due)))
		}, dueq.ConsumeOptions{})
		sending.Wait()
		slices.Sort(late)
		for name, at := range map[string]int{"min": 0, "p50": len(late) / 2, "p99": len(late) * 99 / 100, "max": len(late) - 1} {
			b.ReportMetric(late[at].Seconds()*1e3, name+"-ms")
		}
	}
}

// BenchmarkIdle reports what a consumer with nothing to do asks for.
func BenchmarkIdle(b *testing.B) {
	const span = 10 * time.Second
	for b.Loop() {
		q, m := benchQueue(b)
		fill(b, q, 1, dueq.Message{Delay: time.Hour})
		ctx, stop := context.WithTimeout(context.Background(), span)
		before := m.scripts()
		if err := q.Consume(ctx, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{}); err != nil {
			b.Fatal(err)
		}
		stop()
		b.ReportMetric((m.scripts()-before)/span.Seconds(), "calls/s")
	}
}

// scripts returns how many scripts the server has run.
func (m *meter) scripts() float64 {
	m.b.Helper()
	text, err := m.rdb.Info(context.Background(), "commandstats").Result()
	if err != nil {
		m.b.Fatal(err)
	}
	_, text, _ = strings.Cut(text, "cmdstat_evalsha:calls=")
	calls, _, _ := strings.Cut(text, ",")
	n, err := strconv.ParseFloat(calls, 64)
	if err != nil {
		m.b.Fatal(err)
	}
	return n
}
