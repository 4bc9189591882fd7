package micro

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// Benchmarks of the embedded store, on the disk of TMPDIR.

var pending = flag.Int("pending", 1_000_000, "micro: pending messages of BenchmarkFileReopen and BenchmarkFileMemory")

// partition is what the benchmarks of the embedded store use of it.
var partition = store.Partition{Queue: "q"}

// open opens a store on disk, which the caller closes.
func open(b *testing.B, dir string, c embedded.Config) *embedded.Store {
	b.Helper()
	c.Logger = quiet()
	s, err := embedded.Open(b.Context(), dir, c)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func closeStore(b *testing.B, s *embedded.Store) {
	b.Helper()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// later pushes n messages, due at random within a day.
func later(b *testing.B, s *embedded.Store, n int) {
	b.Helper()
	rng, body := rand.New(rand.NewPCG(1, 2)), make([]byte, bodySize)
	ms := make([]store.Message, store.MaxBatch)
	for i := range n / len(ms) {
		for j := range ms {
			ms[j] = store.Message{ID: route.NewID(0), Body: body, MaxAttempts: 20, Delay: 3600_000 + rng.Int64N(86_400_000)}
		}
		push(b, s, "fill", uint64(i+1), ms...)
	}
}

func push(b *testing.B, s *embedded.Store, producer string, number uint64, ms ...store.Message) {
	b.Helper()
	if _, err := s.Push(b.Context(), partition, store.PushRequest{Producer: producer, Number: number, Messages: ms}); err != nil {
		b.Error(err)
	}
}

// BenchmarkLifecycle is push, claim and ack of 100 messages, in one goroutine: in memory, in
// memory on top of a backlog, and on disk. `make bench-engines` has other loads on disk.
func BenchmarkLifecycle(b *testing.B) {
	for _, bm := range []struct {
		name string
		open func(b *testing.B) *embedded.Store
	}{
		{"memory", func(*testing.B) *embedded.Store { return embedded.NewMemory(embedded.Config{}) }},
		{"memory/backlog=1M", func(b *testing.B) *embedded.Store {
			b.Helper()
			s := embedded.NewMemory(embedded.Config{})
			later(b, s, 1_000_000)
			return s
		}},
		{"file", func(b *testing.B) *embedded.Store { b.Helper(); return open(b, b.TempDir(), embedded.Config{}) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			s := bm.open(b)
			defer closeStore(b, s)
			ms, items := make([]store.Message, 100), make([]store.Settlement, 100)
			number := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				number++
				lifecycle(b, s, number, ms, items)
			}
			b.ReportMetric(float64(b.N*len(ms))/b.Elapsed().Seconds(), "lifecycles/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func lifecycle(b *testing.B, s *embedded.Store, number uint64, ms []store.Message, items []store.Settlement) {
	b.Helper()
	for i := range ms {
		ms[i] = store.Message{ID: route.NewID(0), Body: make([]byte, bodySize), MaxAttempts: 20}
	}
	push(b, s, "p", number, ms...)
	got, err := s.Claim(b.Context(), partition, store.ClaimRequest{Consumer: "c", Number: number, Max: len(ms), Lease: 30_000})
	if err != nil || len(got.Deliveries) != len(ms) {
		b.Fatalf("%d deliveries, %v", len(got.Deliveries), err)
	}
	for i := range got.Deliveries {
		items[i] = store.Settlement{Receipt: got.Deliveries[i].Receipt}
	}
	if _, err := s.Settle(b.Context(), partition, store.SettleRequest{Verdict: store.Ack, Items: items}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFileReopen opens a store with pending messages, with one processor and with all,
// alternately.
func BenchmarkFileReopen(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, embedded.Config{NeverSync: true})
	later(b, s, *pending)
	closeStore(b, s)
	names, processors := []string{"one", "all"}, []int{1, runtime.GOMAXPROCS(0)}
	var seconds [2][]float64
	for round := 0; b.Loop(); round++ {
		for i, n := range measure.Rotate(round, processors) {
			seconds[i] = append(seconds[i], reopen(b, dir, n).Seconds())
		}
	}
	for i, name := range names {
		s := measure.Summarize(seconds[i])
		b.ReportMetric(s.Median, name+"-median-s")
		b.ReportMetric(s.Min, name+"-least-s")
	}
	b.ReportMetric(0, "ns/op")
}

// reopen returns how long opening takes with a number of processors.
func reopen(b *testing.B, dir string, processors int) time.Duration {
	b.Helper()
	runtime.GC()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	began := time.Now()
	s := open(b, dir, embedded.Config{})
	took := time.Since(began)
	closeStore(b, s)
	return took
}

// BenchmarkFileMemory measures the peak memory of a process with many pending messages, so run it
// alone. The heap for a message is a figure of `dueq bench`.
//
//	go test -run '^$' -bench FileMemory -benchtime 1x ./micro -pending 10000000
func BenchmarkFileMemory(b *testing.B) {
	for b.Loop() {
		s := open(b, b.TempDir(), embedded.Config{NeverSync: true})
		later(b, s, *pending)
		b.ReportMetric(residentMost(b)/1e9, "GB-RSS-most")
		closeStore(b, s)
	}
	b.ReportMetric(0, "ns/op")
}

// residentMost returns the most memory the process ever had, in bytes.
func residentMost(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("needs /proc")
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kb float64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatal(err)
	}
	return kb * 1024
}
