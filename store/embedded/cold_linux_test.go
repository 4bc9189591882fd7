package embedded

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// BenchmarkFileColdClaim claims 100 messages of 10 KB that are in no cache, while another
// goroutine pushes to the same partition, one message each millisecond, and reports how
// long the pushes took from the time they were due.
//
//	go test ./store/embedded -run xxx -bench FileColdClaim -benchtime 20x -count 5
func BenchmarkFileColdClaim(b *testing.B) {
	const claimed, size = 100, 10_000
	dir, p := benchDirectory(b), store.Partition{Queue: "q"}
	s, err := Open(b.Context(), dir, Config{NeverSync: true})
	if err != nil {
		b.Fatal(err)
	}
	content := make([]byte, size)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range b.N * claimed {
		m := store.Message{ID: route.NewID(0), Body: content, MaxAttempts: 20, Delay: rng.Int64N(1000)} // so that they are read here and there
		if _, err := s.Push(b.Context(), p, store.PushRequest{Producer: "fill", Number: uint64(i + 1), Messages: []store.Message{m}}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	if s, err = Open(b.Context(), dir, Config{NeverSync: true}); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	time.Sleep(1100 * time.Millisecond) //nolint:forbidigo // until all are due
	var took []time.Duration
	number := uint64(0)
	b.ResetTimer()
	for range b.N { // not b.Loop: the messages are made for b.N claims
		b.StopTimer()
		dropCaches(b, dir)
		b.StartTimer()
		number++
		took = append(took, pushWhile(b, s, p, func() {
			got, err := s.Claim(b.Context(), p, store.ClaimRequest{Consumer: "c", Number: number, Max: claimed, Lease: 600_000})
			if err != nil || len(got.Deliveries) == 0 {
				b.Error(len(got.Deliveries), err)
			}
		})...)
	}
	slices.Sort(took)
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(len(took))/1000, "push-ms-mean")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "push-ms-p99")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "push-ms-max")
}

// pushWhile pushes until do has returned, at least once.
func pushWhile(b *testing.B, s *Store, p store.Partition, do func()) []time.Duration {
	b.Helper()
	var took []time.Duration
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { do(); close(done) })
	for due := time.Now(); ; due = due.Add(time.Millisecond) {
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait) //nolint:forbidigo // pushes are due at equal distances
		}
		m := store.Message{ID: route.NewID(0), Body: body, MaxAttempts: 20, Delay: 3600_000}
		if _, err := s.Push(b.Context(), p, store.PushRequest{Producer: "p", Number: benchNumber.Add(1), Messages: []store.Message{m}}); err != nil {
			b.Error(err)
		}
		took = append(took, time.Since(due))
		select {
		case <-done:
			wg.Wait()
			return took
		default:
		}
	}
}

// dropCaches makes the system forget what it has of the store's files.
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
			b.Fatal(fmt.Errorf("fadvise: %w", err))
		}
		_ = f.Close()
	}
}
