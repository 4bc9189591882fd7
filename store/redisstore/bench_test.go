package redisstore

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// BenchmarkMessage takes messages of 100 bytes through push, claim and ack, in batches,
// and reports what one costs the server in processor time.
func BenchmarkMessage(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			r := newRig(b, redistest.Start(b).Client(b))
			round := func() {
				r.push(r.messages(size, 100)...)
				r.settle(store.Ack, r.claim(size)...)
			}
			round() // loads the scripts
			before := serverCPU(r)
			n := 0
			for b.Loop() {
				round()
				n += size
			}
			b.ReportMetric((serverCPU(r)-before)*1e6/float64(n), "redis-us/msg")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// serverCPU returns the processor time that the server has used, in seconds.
func serverCPU(r *rig) float64 {
	r.t.Helper()
	info, err := r.rdb.Info(r.ctx(), "cpu").Result()
	r.must(err)
	fields := infoFields(info)
	user, err := strconv.ParseFloat(fields["used_cpu_user_main_thread"], 64)
	r.must(err)
	system, err := strconv.ParseFloat(fields["used_cpu_sys_main_thread"], 64)
	r.must(err)
	return user + system
}

// BenchmarkGone measures what a message of 100 bytes takes of the server's memory that is gone,
// but remembered for an hour or kept as done; and what one that is to be remembered takes
// besides while it is live.
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
				r := newRig(b, redistest.Start(b).Client(b))
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
				before := memoryOf(r)
				for range n / store.MaxBatch {
					round(bm.edit)
				}
				b.ReportMetric((memoryOf(r)-before)/n, "B/message")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// memoryOf returns the bytes that the server has allocated, those for its clients apart.
func memoryOf(r *rig) float64 {
	r.t.Helper()
	info, err := r.rdb.Info(r.ctx(), "memory").Result()
	r.must(err)
	fields := infoFields(info)
	used, err := strconv.ParseFloat(fields["used_memory"], 64)
	r.must(err)
	clients, err := strconv.ParseFloat(fields["mem_clients_normal"], 64)
	r.must(err)
	return used - clients
}
