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
