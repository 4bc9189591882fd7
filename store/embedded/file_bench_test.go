package embedded

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// Benchmarks of a store on disk, every change on it before its call returns. They use
// the directory of -embedded.dir, or a temporary one.
//
//	go test ./store/embedded -run xxx -bench File -benchtime 5s -count 5

var (
	benchDir   = flag.String("embedded.dir", "", "embedded: directory for benchmarks and kill tests (a temporary one)")
	benchCount = flag.Int("embedded.pending", 1_000_000, "embedded: pending messages of BenchmarkFileReopen and BenchmarkFileMemory")
)

func benchDirectory(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp(*benchDir, "dueq-bench-") //nolint:usetesting // on the disk that is to be measured
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func openBench(b *testing.B, dir string) *Store {
	b.Helper()
	s, err := Open(b.Context(), dir, Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkFileLifecycle is push, claim and ack of single messages of 100 bytes, each
// call by itself.
func BenchmarkFileLifecycle(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprintf("goroutines=%d", workers), func(b *testing.B) {
			s := openBench(b, benchDirectory(b))
			var wg sync.WaitGroup
			var turns atomic.Int64
			b.ResetTimer()
			for w := range workers {
				wg.Go(func() {
					p := store.Partition{Queue: "q", Index: w % 4}
					ms, items := make([]store.Message, 1), make([]store.Settlement, 1)
					for turns.Add(1) <= int64(b.N) {
						oneLifecycle(b, s, p, fmt.Sprint("w", w), ms, items)
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lifecycles/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

var benchNumber atomic.Uint64

// oneLifecycle may handle the message of another goroutine, which then handles this one's.
func oneLifecycle(b *testing.B, s *Store, p store.Partition, name string, ms []store.Message, items []store.Settlement) {
	b.Helper()
	ms[0] = store.Message{ID: route.NewID(p.Index), Body: body, MaxAttempts: 20}
	if _, err := s.Push(b.Context(), p, store.PushRequest{Producer: name, Number: benchNumber.Add(1), Messages: ms}); err != nil {
		b.Error(err)
	}
	got, err := s.Claim(b.Context(), p, store.ClaimRequest{Consumer: name, Number: benchNumber.Add(1), Max: 1, Lease: 30_000})
	if err != nil || len(got.Deliveries) == 0 {
		b.Error("nothing to claim", err)
		return
	}
	items[0] = store.Settlement{Receipt: got.Deliveries[0].Receipt}
	if _, err := s.Settle(b.Context(), p, store.SettleRequest{Verdict: store.Ack, Items: items}); err != nil {
		b.Error(err)
	}
}

// BenchmarkFilePush is pushes of one goroutine.
func BenchmarkFilePush(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s, p := openBench(b, benchDirectory(b)), store.Partition{Queue: "q"}
			ms := make([]store.Message, batch)
			number := uint64(0)
			for b.Loop() {
				number++
				for i := range ms {
					ms[i] = store.Message{ID: route.NewID(0), Body: body, MaxAttempts: 20, Delay: 3600_000}
				}
				if _, err := s.Push(b.Context(), p, store.PushRequest{Producer: "p", Number: number, Messages: ms}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "messages/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkFileDrain is claim and ack of batches of 100 by one goroutine.
func BenchmarkFileDrain(b *testing.B) {
	s, p := openBench(b, benchDirectory(b)), store.Partition{Queue: "q"}
	ms, items := make([]store.Message, 100), make([]store.Settlement, 100)
	number := uint64(0)
	for b.Loop() {
		number++
		lifecycle(b, s, p, number, ms, items)
	}
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "lifecycles/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFileReopen opens a store with pending messages.
func BenchmarkFileReopen(b *testing.B) {
	dir, p := benchDirectory(b), store.Partition{Queue: "q"}
	s, err := Open(b.Context(), dir, Config{NeverSync: true})
	if err != nil {
		b.Fatal(err)
	}
	fill(b, s, p, *benchCount)
	for b.Loop() {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		if s, err = Open(b.Context(), dir, Config{}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFileReopenCores opens the same store with one processor and with all, in turns.
//
//	go test ./store/embedded -run xxx -bench FileReopenCores -benchtime 10x
func BenchmarkFileReopenCores(b *testing.B) {
	dir, p := benchDirectory(b), store.Partition{Queue: "q"}
	s, err := Open(b.Context(), dir, Config{NeverSync: true})
	if err != nil {
		b.Fatal(err)
	}
	fill(b, s, p, *benchCount)
	all := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(all)
	var took [2][]time.Duration
	for b.Loop() {
		for i, processors := range []int{1, all} {
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			runtime.GOMAXPROCS(processors)
			began := time.Now()
			if s, err = Open(b.Context(), dir, Config{}); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(began))
			runtime.GOMAXPROCS(all)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for i, name := range []string{"one", "all"} {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2].Seconds(), name+"-median-s")
		b.ReportMetric(took[i][0].Seconds(), name+"-least-s")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFileMemory measures what a pending message of a store on disk takes: on the
// heap, and of the process at its largest.
//
//	go test ./store/embedded -run xxx -bench FileMemory -benchtime 1x -embedded.pending 10000000
func BenchmarkFileMemory(b *testing.B) {
	for b.Loop() {
		before := heap()
		s, err := Open(b.Context(), benchDirectory(b), Config{NeverSync: true})
		if err != nil {
			b.Fatal(err)
		}
		fill(b, s, store.Partition{Queue: "q"}, *benchCount)
		b.ReportMetric(float64(heap()-before)/float64(*benchCount), "B/message")
		b.ReportMetric(residentMost(b)/1e9, "GB-RSS-most")
		runtime.KeepAlive(s)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
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
