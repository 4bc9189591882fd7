package redisstore

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/rawredis"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// BenchmarkGone measures the memory of the server for a message of 100 bytes that is gone, but
// remembered for an hour or kept as done; and the additional memory of a live message that is to be
// remembered.
//
//	go test ./store/redisstore -run xxx -bench Gone -benchtime 1x
func BenchmarkGone(b *testing.B) {
	const n, anHour = 100_000, 3_600_000
	history, most := int64(anHour), int64(store.MaxHistory)
	kept := store.Change{Create: true, History: &history, MaxHistory: &most}
	for _, bm := range []struct {
		name   string
		change store.Change
		live   bool
		edit   func(m *store.Message)
	}{
		{"live", store.Change{Create: true}, true, func(*store.Message) {}},
		{"live,to-be-remembered", store.Change{Create: true}, true, func(m *store.Message) { m.Remember = anHour }},
		{"remembered", store.Change{Create: true}, false, func(m *store.Message) { m.Remember = anHour }},
		{"remembered,dedup-id", store.Change{Create: true}, false, func(m *store.Message) {
			m.Remember, m.DedupID = anHour, store.NewDedupID(m.ID.String())
		}},
		{"done", kept, false, func(*store.Message) {}},
		{"done,key", kept, false, func(m *store.Message) { m.Key = m.ID.String() }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				rdb := redistest.Start(b).Client(b)
				r := newRig(b, rdb)
				r.configure(bm.change)
				round := func(edit func(*store.Message)) {
					ms := r.messages(store.MaxBatch, 100)
					for i := range ms {
						edit(&ms[i])
					}
					r.push(ms...)
					if !bm.live {
						r.settle(store.Ack, r.claim(store.MaxBatch)...)
					}
				}
				round(bm.edit) // loads the scripts
				before := memoryOf(r, rdb)
				for range n / store.MaxBatch {
					round(bm.edit)
				}
				b.ReportMetric((memoryOf(r, rdb)-before)/n, "B/message")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// memoryOf returns the bytes that the server has allocated, except those for its clients.
func memoryOf(r *rig, rdb *redis.Client) float64 {
	r.t.Helper()
	now, err := rawredis.New(rdb, "").Read(r.ctx())
	r.must(err)
	return float64(now.Memory)
}

// BenchmarkStats measures the statistics of all queues.
func BenchmarkStats(b *testing.B) {
	for _, queues := range []int{1, 200} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			r := newRig(b, redistest.Start(b).Client(b))
			for i := range queues {
				r.p.Queue = fmt.Sprintf("q-%03d", i)
				r.push(r.messages(10, 100)...)
			}
			for b.Loop() {
				all, err := r.Stats(r.ctx(), "")
				r.must(err)
				r.want("queues", len(all), queues)
			}
		})
	}
}
