package embedded

import (
	"runtime"
	"testing"

	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// BenchmarkGone measures what a message of 100 bytes takes that is gone, but remembered for an
// hour or kept as done: on the heap of a store in memory, and for one on disk on the heap and
// in the log, after merges have written again what is needed.
//
//	go test ./store/embedded -run xxx -bench Gone -benchtime 1x
func BenchmarkGone(b *testing.B) {
	const n, anHour = 100_000, 3_600_000
	history, most := int64(anHour), int64(store.MaxHistory)
	kept := store.Change{Create: true, History: &history, MaxHistory: &most}
	for _, bm := range []struct {
		name   string
		change store.Change
		edit   func(m *store.Message)
	}{
		{"remembered", store.Change{Create: true}, func(m *store.Message) { m.Remember = anHour }},
		{"remembered,dedup-id", store.Change{Create: true}, func(m *store.Message) {
			m.Remember, m.DedupID = anHour, store.NewDedupID(m.ID.String())
		}},
		{"done", kept, func(*store.Message) {}},
		{"done,key", kept, func(m *store.Message) { m.Key = m.ID.String() }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				goneInMemory(b, n, bm.change, bm.edit)
				goneOnDisk(b, n, bm.change, bm.edit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// finishMany takes n messages through push, claim and ack.
func finishMany(b *testing.B, s *Store, n int, c store.Change, edit func(*store.Message)) {
	b.Helper()
	p, body := store.Partition{Queue: "q"}, make([]byte, 100)
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	_, err := s.Configure(b.Context(), p.Queue, c)
	must(err)
	for number := uint64(1); number <= uint64(n/store.MaxBatch); number++ {
		push, settle := store.PushRequest{Producer: "p", Number: number}, store.SettleRequest{Verdict: store.Ack}
		for range store.MaxBatch {
			m := store.Message{ID: route.NewID(0), Body: body, MaxAttempts: 20}
			edit(&m)
			push.Messages = append(push.Messages, m)
		}
		_, err := s.Push(b.Context(), p, push)
		must(err)
		got, err := s.Claim(b.Context(), p, store.ClaimRequest{Consumer: "c", Number: number, Max: store.MaxBatch, Lease: 30_000})
		must(err)
		for i := range got.Deliveries {
			settle.Items = append(settle.Items, store.Settlement{Receipt: got.Deliveries[i].Receipt})
		}
		_, err = s.Settle(b.Context(), p, settle)
		must(err)
	}
}

func goneInMemory(b *testing.B, n int, c store.Change, edit func(*store.Message)) {
	b.Helper()
	before := measure.Heap()
	s := NewMemory(Config{})
	finishMany(b, s, n, c, edit)
	b.ReportMetric(float64(measure.Heap()-before)/float64(n), "mem-heap-B/message")
	runtime.KeepAlive(s)
}

func goneOnDisk(b *testing.B, n int, c store.Change, edit func(*store.Message)) {
	b.Helper()
	before := measure.Heap()
	s := openUnmerged(b, b.TempDir())
	finishMany(b, s, n, c, edit)
	b.ReportMetric(float64(measure.Heap()-before)/float64(n), "file-heap-B/message")
	if err := s.care.mergeDownTo(b.Context(), 0, 1<<62); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.care.log.Size())/float64(n), "file-log-B/message")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
