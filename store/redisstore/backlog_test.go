package redisstore

import (
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// TestScripts_BacklogsDoNotBlockOthers checks how much a script does at most, whatever has
// accumulated: leases that ran out, expired messages, dead letters. BenchmarkScripts_Backlogs
// measures the time.
func TestScripts_BacklogsDoNotBlockOthers(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	const mostCalls, mostItems = 1000, 10_000
	r := newRig(t, redistest.Start(t).Client(t))
	backlogSteps(r, func(name string, run func() error) {
		var most scriptRun
		for _, s := range scriptsRun(r, func() error { return five(run) }) {
			most.calls, most.items = max(most.calls, s.calls), max(most.items, s.items)
		}
		t.Logf("%s: %d redis.calls, %d items", name, most.calls, most.items)
		if most.calls > mostCalls || most.items > mostItems {
			t.Errorf("%s: a script made %d redis.calls on %d items, want at most %d on %d",
				name, most.calls, most.items, mostCalls, mostItems)
		}
	})
}

// five runs a step as often as its backlog lasts.
func five(run func() error) error {
	for range 5 {
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

// backlogSteps makes backlogs, and passes measure the calls on them. Each can be made five times.
func backlogSteps(r *rig, measure func(name string, run func() error)) {
	r.t.Helper()
	r.push(r.messages(store.MaxBatch, 100)...)
	r.want("claimed", len(r.claim(store.MaxBatch)), store.MaxBatch)
	expireAll(r)
	measure("a claim with 500 leases that ran out", func() error { r.claim(store.MaxBatch); return nil })

	r.must(r.rdb.FlushAll(r.ctx()).Err())
	for range 10_000 / store.MaxBatch {
		ms := r.messages(store.MaxBatch, 100)
		for i := range ms {
			ms[i].TTL = 1
		}
		r.push(ms...)
	}
	measure("a claim with 10,000 expired messages", func() error { r.claim(1); return nil })
	r.want("expired", r.stats().Counters.Expired, 5*store.MaxExpired)

	r.must(r.rdb.FlushAll(r.ctx()).Err())
	var some []store.ID
	for range 100_000 / store.MaxBatch {
		ms := r.messages(store.MaxBatch, 100)
		r.push(ms...)
		r.settle(store.Reject, r.claim(store.MaxBatch)...)
		some = some[:0]
		for i := range ms {
			some = append(some, ms[i].ID)
		}
	}
	cursor := ""
	measure("a step of an audit of 100,000 dead letters", func() error {
		step, err := r.Check(r.ctx(), r.p, store.CheckRequest{Cursor: cursor, Limit: store.MaxListLimit})
		cursor = step.Next
		return err
	})
	measure("a page of 100,000 dead letters", func() error {
		_, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Dead, Limit: store.MaxListLimit})
		return err
	})
	measure("a redrive of 500 of 100,000 dead letters", func() error {
		_, err := r.Redrive(r.ctx(), r.p, r.redriveRequest(some...))
		r.must(err)
		r.settle(store.Reject, r.claim(store.MaxBatch)...)
		return nil
	})
	measure("a purge of 500 of 100,000 dead letters", func() error {
		_, err := r.Purge(r.ctx(), r.p, r.purgeRequest(store.Dead, store.MaxBatch))
		return err
	})
}
