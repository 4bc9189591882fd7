package redisstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// The benchmarks here measure how long scripts keep a server from others: the processor time of its
// main thread for one call, the copying of the answer to the socket included. That must be at most
// 10 ms, or 20 ms for one record of more than the default limit. The least of the calls is compared
// with the bound, because other processes take the caches, too.
//
//	go test ./store/redisstore -run xxx -bench Scripts -benchtime 5x

const (
	strainBound      = 10 * time.Millisecond
	largeStrainBound = 20 * time.Millisecond
)

// strain is the least processor time of a call, and the part of the kernel in it.
type strain struct{ total, kernel time.Duration }

var unknownStrain = strain{total: time.Hour}

// add measures one more run.
func (s *strain) add(r *rig, run func() error) {
	r.t.Helper()
	if now := strainOf(r, run); now.total < s.total {
		*s = now
	}
}

func (s *strain) report(b *testing.B, bound time.Duration) {
	b.Helper()
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(s.total), "server-ms/call")
	b.ReportMetric(ms(s.kernel), "kernel-ms/call")
	if s.total > bound {
		b.Errorf("a call took %s of the server's processor, want at most %s", s.total, bound)
	}
}

// strainOf returns the processor time of the server's main thread for each script that fn makes a
// client run.
func strainOf(r *rig, fn func() error) strain {
	r.t.Helper()
	used := func() strain {
		info, err := r.rdb.Info(r.ctx(), "cpu").Result()
		r.must(err)
		fields := infoFields(info)
		seconds := func(kind string) time.Duration {
			s, err := strconv.ParseFloat(fields["used_cpu_"+kind+"_main_thread"], 64)
			r.must(err)
			return time.Duration(s * float64(time.Second))
		}
		kernel := seconds("sys")
		return strain{seconds("user") + kernel, kernel}
	}
	scripts := func() time.Duration {
		info, err := r.rdb.Info(r.ctx(), "commandstats").Result()
		r.must(err)
		calls, _, _ := strings.Cut(strings.TrimPrefix(infoFields(info)["cmdstat_evalsha"], "calls="), ",")
		n, err := strconv.ParseInt(calls, 10, 64)
		r.must(err)
		return time.Duration(n)
	}
	calls, before := scripts(), used()
	r.must(fn())
	after := used()
	calls = max(1, scripts()-calls)
	return strain{(after.total - before.total) / calls, (after.kernel - before.kernel) / calls}
}

func BenchmarkScripts_LargeRecords(b *testing.B) {
	for _, size := range largeSizes {
		bound := strainBound
		if size > store.DefaultMaxBody {
			bound = largeStrainBound
		}
		r := newRig(b, redistest.Start(b).Client(b))
		steps := largeSteps(r, largeCount(size), size)
		for _, name := range slices.Sorted(maps.Keys(steps)) {
			b.Run(name+",size="+strconv.Itoa(size), func(b *testing.B) {
				least := unknownStrain
				for b.Loop() {
					least.add(r, steps[name]())
				}
				least.report(b, bound)
			})
		}
	}
}

// BenchmarkScripts_Backlogs measures each step five times, whatever -benchtime is, because a backlog
// lasts no longer. Its benchmarks only report what was measured.
func BenchmarkScripts_Backlogs(b *testing.B) {
	r := newRig(b, redistest.Start(b).Client(b))
	backlogSteps(r, func(name string, run func() error) {
		least := unknownStrain
		for range 5 {
			least.add(r, run)
		}
		b.Run(name, func(b *testing.B) { least.report(b, strainBound) })
	})
}

// BenchmarkScripts_HundredThousandDue measures the steps ten times, one after the other, because each
// uses what the one before left.
func BenchmarkScripts_HundredThousandDue(b *testing.B) {
	r := newRig(b, redistest.Start(b).Client(b))
	batch := dueAtOnce(r)
	for range 100_000 / 500 {
		r.push(batch()...)
	}
	all := map[string]*strain{}
	for range 10 {
		stepsOnDue(r, batch, func(name string, run func() error) {
			if all[name] == nil {
				least := unknownStrain
				all[name] = &least
			}
			all[name].add(r, run)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) { all[name].report(b, strainBound) })
	}
}
