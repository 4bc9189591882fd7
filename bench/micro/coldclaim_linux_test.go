package micro

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// BenchmarkFileColdClaim claims 100 messages of 10 KB that are in no cache, while another
// goroutine pushes to the same partition, one message each millisecond, and reports how
// long the pushes took from the time they were due.
//
//	go test -run '^$' -bench FileColdClaim -benchtime 20x -count 5 ./micro
func BenchmarkFileColdClaim(b *testing.B) {
	const claimed = 100
	dir := b.TempDir()
	fillDue(b, dir, b.N*claimed)
	s := open(b, dir, embedded.Config{NeverSync: true})
	defer closeStore(b, s)
	var took []time.Duration
	pushed := uint64(0)
	b.ResetTimer()
	for n := range b.N { // not b.Loop: the messages are made for b.N claims
		b.StopTimer()
		dropCaches(b, dir)
		b.StartTimer()
		took = append(took, pushWhile(b, s, &pushed, func() {
			got, err := s.Claim(b.Context(), partition, store.ClaimRequest{Consumer: "c", Number: uint64(n + 1), Max: claimed, Lease: 600_000})
			if err != nil || len(got.Deliveries) == 0 {
				b.Error(len(got.Deliveries), err)
			}
		})...)
	}
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	spread := measure.SpreadOf(took)
	b.ReportMetric(measure.Milliseconds(sum)/float64(len(took)), "push-ms-mean")
	b.ReportMetric(spread.P99, "push-ms-p99")
	b.ReportMetric(spread.Max, "push-ms-max")
}

// fillDue makes a store with n messages of 10 KB, stored in another order than they are due, and
// returns when all are due.
func fillDue(b *testing.B, dir string, n int) {
	b.Helper()
	const size, within = 10_000, 1000 // bytes, ms
	s := open(b, dir, embedded.Config{NeverSync: true})
	content, rng := make([]byte, size), rand.New(rand.NewPCG(1, 2))
	for i := range n {
		push(b, s, "fill", uint64(i+1), store.Message{ID: route.NewID(0), Body: content, MaxAttempts: 20, Delay: rng.Int64N(within)})
	}
	closeStore(b, s)
	time.Sleep((within + 100) * time.Millisecond) //nolint:forbidigo // until all are due
}

// pushWhile pushes until do has returned, at least once, and returns how long each took.
func pushWhile(b *testing.B, s *embedded.Store, pushed *uint64, do func()) []time.Duration {
	b.Helper()
	var took []time.Duration
	body, done := make([]byte, bodySize), make(chan struct{})
	var doing sync.WaitGroup
	doing.Go(func() { do(); close(done) })
	defer doing.Wait()
	for due := time.Now(); ; due = due.Add(time.Millisecond) {
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait) //nolint:forbidigo // pushes are due at equal distances
		}
		*pushed++
		push(b, s, "p", *pushed, store.Message{ID: route.NewID(0), Body: body, MaxAttempts: 20, Delay: 3600_000})
		took = append(took, time.Since(due))
		select {
		case <-done:
			return took
		default:
		}
	}
}

// dropCaches removes the store's files from the page cache.
func dropCaches(b *testing.B, dir string) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			b.Fatalf("fadvise: %v", err)
		}
		_ = f.Close()
	}
}
