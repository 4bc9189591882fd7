// Package micro measures single parts of dueq, for its developers. Each benchmark compares a part with
// another way of doing the same, alternately. It uses exported names only; a benchmark that needs
// others is in the package that it measures. Each starts a redis-server of its own, and reports CPU
// time and rates as metrics:
//
//	go test -run '^$' -bench ServerCost -benchtime 20x ./micro
package micro

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/rawredis"
	"github.com/dueq-dev/dueq/internal/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

// bodySize is the size of bodies, unless a benchmark sets another.
const bodySize = 100

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// rig is a queue on a server of its own.
type rig struct {
	*testing.B
	queue  *dueq.Queue
	server *rawredis.Server
}

func newRig(b *testing.B) *rig {
	b.Helper()
	rdb := redistest.Start(b).Client(b)
	client, err := dueq.NewRedis(rdb, &dueq.Options{Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	r := &rig{B: b, queue: client.Queue("work"), server: rawredis.New(rdb, "dueq")}
	if err := r.queue.Create(b.Context(), dueq.Settings{}); err != nil {
		b.Fatal(err)
	}
	return r
}

// fill sends n messages that are due at once.
func (r *rig) fill(n int) {
	r.Helper()
	for n > 0 {
		batch := make([]dueq.Message, min(n, 10_000))
		for i := range batch {
			batch[i].Body = make([]byte, bodySize)
		}
		results, err := r.queue.SendBatch(context.Background(), batch)
		if err != nil {
			r.Fatal(err)
		}
		for _, sent := range results {
			if sent.Err != nil {
				r.Fatal(sent.Err)
			}
		}
		n -= len(batch)
	}
}

// cost has the wall time, the CPU time and the heap allocations for messages.
type cost struct {
	messages            int
	took, client, store time.Duration
	objects, bytes      uint64 // that were allocated
}

// add measures n messages while do runs.
func (c *cost) add(r *rig, n int, do func()) {
	r.Helper()
	var before, after runtime.MemStats
	runtime.GC() // collects the garbage of earlier work
	runtime.ReadMemStats(&before)
	store, client, began := r.storeCPU(), r.clientCPU(), time.Now()
	do()
	c.took += time.Since(began)
	c.client += r.clientCPU() - client
	c.store += r.storeCPU() - store
	runtime.ReadMemStats(&after)
	c.objects += after.Mallocs - before.Mallocs
	c.bytes += after.TotalAlloc - before.TotalAlloc
	c.messages += n
}

// report reports what one message has cost, in metrics whose names begin with what.
func (c *cost) report(b *testing.B, what string) {
	b.Helper()
	b.ReportMetric(float64(c.messages)/c.took.Seconds(), what+"msg/s")
	b.ReportMetric(micros(c.store, c.messages), what+"store-cpu-us/msg")
	b.ReportMetric(micros(c.client, c.messages), what+"client-cpu-us/msg")
	b.ReportMetric(float64(c.objects)/float64(c.messages), what+"allocs/msg")
	b.ReportMetric(float64(c.bytes)/float64(c.messages), what+"B/msg")
}

func micros(d time.Duration, messages int) float64 { return d.Seconds() * 1e6 / float64(messages) }

func (r *rig) storeCPU() time.Duration {
	r.Helper()
	used, err := r.server.CPU(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	return used
}

func (r *rig) clientCPU() time.Duration {
	r.Helper()
	used, err := measure.CPU()
	if err != nil {
		r.Skip(err)
	}
	return used
}
