package embedded

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// BenchmarkLifecycle is push, claim and ack of 100 messages of 100 bytes, in one
// goroutine, on top of a backlog.
func BenchmarkLifecycle(b *testing.B) {
	for _, bm := range []struct {
		name    string
		backlog int
	}{{"empty", 0}, {"backlog=1M", 1_000_000}} {
		b.Run(bm.name, func(b *testing.B) {
			s, p := NewMemory(Config{}), store.Partition{Queue: "q"}
			fill(b, s, p, bm.backlog)
			ms, items := make([]store.Message, 100), make([]store.Settlement, 100)
			number := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				number++
				lifecycle(b, s, p, number, ms, items)
			}
			b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "lifecycles/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func lifecycle(b *testing.B, s *Store, p store.Partition, number uint64, ms []store.Message, items []store.Settlement) {
	b.Helper()
	for i := range ms {
		ms[i] = store.Message{ID: route.NewID(0), Body: body, MaxAttempts: 20}
	}
	if _, err := s.Push(b.Context(), p, store.PushRequest{Producer: "p", Number: number, Messages: ms}); err != nil {
		b.Fatal(err)
	}
	got, err := s.Claim(b.Context(), p, store.ClaimRequest{Consumer: "c", Number: number, Max: len(ms), Lease: 30_000})
	if err != nil || len(got.Deliveries) != len(ms) {
		b.Fatalf("%d deliveries, %v", len(got.Deliveries), err)
	}
	for i := range got.Deliveries {
		items[i] = store.Settlement{Receipt: got.Deliveries[i].Receipt}
	}
	if _, err := s.Settle(b.Context(), p, store.SettleRequest{Verdict: store.Ack, Items: items}); err != nil {
		b.Fatal(err)
	}
}

var body = make([]byte, 100)

// fill pushes scheduled messages, due at random within a day.
func fill(tb testing.TB, s *Store, p store.Partition, n int) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	ms := make([]store.Message, store.MaxBatch)
	for i := range n / len(ms) {
		for j := range ms {
			ms[j] = store.Message{ID: route.NewID(0), Body: body, MaxAttempts: 20, Delay: 3600_000 + rng.Int64N(86_400_000)}
		}
		if _, err := s.Push(tb.Context(), p, store.PushRequest{Producer: "fill", Number: uint64(i), Messages: ms}); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkMemory measures what a pending message takes besides its payload.
func BenchmarkMemory(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		before := heap()
		s, p := NewMemory(Config{}), store.Partition{Queue: "q"}
		fill(b, s, p, n)
		perMessage := float64(heap()-before) / n
		b.ReportMetric(perMessage, "B/message")
		// 3 + 100 bytes of payload come from the allocator's class of 112.
		b.ReportMetric(perMessage-112, "B/message-without-payload")
		runtime.KeepAlive(s)
	}
	b.ReportMetric(0, "ns/op")
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
