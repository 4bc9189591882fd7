package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

const (
	mergeWriters = 64
	mergePhase   = 5 * time.Second
)

// BenchmarkFileMerge pushes from 64 goroutines, each message in place of the goroutine's
// last, to a store with 400 MB of live messages and then 500 MB of garbage: first with no merge,
// then while merging brings the garbage down again, for which all live messages are
// written again. It stands here and not in bench/micro because it decides when to merge.
// TMPDIR says on which disk.
//
//	go test ./store/embedded -run xxx -bench FileMerge -benchtime 1x
func BenchmarkFileMerge(b *testing.B) {
	for b.Loop() {
		s := openUnmerged(b, fillForMerge(b))
		writers := startWriters(b, s)
		time.Sleep(time.Second)                                     //nolint:forbidigo // until caches and buffers are as they will be
		alone := writers.measure(func() { time.Sleep(mergePhase) }) //nolint:forbidigo // what is measured takes so long
		began := s.care.log.End()
		merging := writers.measure(func() { mergeTurn(b, s) })
		merged := float64(s.care.log.End()-began) / 1e6
		writers.stop()
		b.ReportMetric(alone.rate(), "alone-pushes/s")
		b.ReportMetric(merging.rate(), "merging-pushes/s")
		b.ReportMetric(measure.SpreadOf(alone.took).P99, "alone-p99-ms")
		slowest := measure.SpreadOf(merging.took)
		b.ReportMetric(slowest.P99, "merging-p99-ms")
		b.ReportMetric(slowest.Max, "merging-max-ms")
		b.ReportMetric(merging.span.Seconds(), "merge-s")
		b.ReportMetric(merged, "merge-MB")
	}
	b.ReportMetric(0, "ns/op")
}

// openUnmerged opens a store that merges only when the benchmark says so.
func openUnmerged(b *testing.B, dir string) *Store {
	b.Helper()
	d, err := disk.OpenDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	s, err := openOn(b.Context(), d, Config{}, tuning{byHand: true})
	if err != nil {
		b.Fatal(err)
	}
	finish := s.finish
	s.finish = func() error { return errors.Join(finish(), d.Close()) }
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func fillForMerge(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	s := openUnmerged(b, dir)
	const total, size, batch = 400_000_000, 1000, 100
	content := make([]byte, 100*size)
	ms := make([]store.Message, batch)
	for i := range total / size / batch {
		for j := range ms {
			ms[j] = store.Message{ID: route.NewID(0), Body: content[:size], MaxAttempts: 20, Delay: 86_400_000}
		}
		p := store.Partition{Queue: "q", Index: i % 4}
		if _, err := s.Push(b.Context(), p, store.PushRequest{Producer: "fill", Number: uint64(i + 1), Messages: ms}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range total * 5 / 4 / len(content) { // more than is needed, so that merging begins
		m := store.Message{ID: route.NewID(0), Key: "garbage", Replace: true, Body: content, MaxAttempts: 20, Delay: 86_400_000}
		if _, err := s.Push(b.Context(), store.Partition{Queue: "q"}, store.PushRequest{Producer: "garbage", Number: uint64(i + 1), Messages: []store.Message{m}}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// mergeTurn merges, as the caretaker would, until there is no more garbage than what is
// needed, or for three phases.
func mergeTurn(b *testing.B, s *Store) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 3*mergePhase)
	defer cancel()
	if err := s.care.mergeDownTo(ctx, s.live.bytes.Load(), 1<<62); err != nil && ctx.Err() == nil {
		b.Fatal(err)
	}
}

type writers struct {
	b    *testing.B
	s    *Store
	done chan struct{}
	wg   sync.WaitGroup
	own  [mergeWriters]struct {
		mu   sync.Mutex
		took []time.Duration
	}
	failed atomic.Bool
}

func startWriters(b *testing.B, s *Store) *writers {
	b.Helper()
	w := &writers{b: b, s: s, done: make(chan struct{})}
	for i := range mergeWriters {
		w.wg.Go(func() { w.run(i) })
	}
	return w
}

func (w *writers) run(i int) {
	name, p, content := fmt.Sprint("w", i), store.Partition{Queue: "q", Index: i % 4}, make([]byte, 100)
	for number := uint64(1); ; number++ {
		select {
		case <-w.done:
			return
		default:
		}
		began := time.Now()
		m := store.Message{ID: route.NewID(p.Index), Key: name, Replace: true, Body: content, MaxAttempts: 20, Delay: 86_400_000}
		if _, err := w.s.Push(w.b.Context(), p, store.PushRequest{Producer: name, Number: number, Messages: []store.Message{m}}); err != nil {
			if !w.failed.Swap(true) {
				w.b.Error(err)
			}
			return
		}
		own := &w.own[i]
		own.mu.Lock()
		own.took = append(own.took, time.Since(began))
		own.mu.Unlock()
	}
}

func (w *writers) stop() {
	close(w.done)
	w.wg.Wait()
}

// measured is what pushes took in a span.
type measured struct {
	took []time.Duration
	span time.Duration
}

func (w *writers) measure(during func()) (m measured) {
	w.collect()
	began := time.Now()
	during()
	m.span = time.Since(began)
	m.took = w.collect()
	return m
}

// collect returns what was measured since the last call.
func (w *writers) collect() (all []time.Duration) {
	for i := range w.own {
		own := &w.own[i]
		own.mu.Lock()
		all = append(all, own.took...)
		own.took = own.took[:0]
		own.mu.Unlock()
	}
	return all
}

func (m measured) rate() float64 { return float64(len(m.took)) / m.span.Seconds() }
