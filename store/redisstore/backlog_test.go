package redisstore

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// TestScripts_BacklogsDoNotBlockOthers checks that no call takes more than 10 ms of the server's
// processor, whatever has accumulated: leases that ran out, expired messages, dead letters.
func TestScripts_BacklogsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	check := func(name string, run func() error) {
		t.Helper()
		least := time.Hour
		for range 5 {
			least = min(least, workOf(r, run))
		}
		t.Logf("%s: %s", name, least)
		if least > 10*time.Millisecond {
			t.Errorf("%s took %s of the server, want at most 10ms", name, least)
		}
	}

	r.push(r.messages(store.MaxBatch, 100)...)
	r.want("claimed", len(r.claim(store.MaxBatch)), store.MaxBatch)
	expireAll(r)
	check("a claim with 500 leases that ran out", func() error { r.claim(store.MaxBatch); return nil })

	r.must(r.rdb.FlushAll(r.ctx()).Err())
	for range 10_000 / store.MaxBatch {
		ms := r.messages(store.MaxBatch, 100)
		for i := range ms {
			ms[i].TTL = 1
		}
		r.push(ms...)
	}
	check("a claim with 10,000 expired messages", func() error { r.claim(1); return nil })
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
	check("a step of an audit of 100,000 dead letters", func() error {
		step, err := r.Check(r.ctx(), r.p, store.CheckRequest{Cursor: cursor, Limit: store.MaxListLimit})
		cursor = step.Next
		return err
	})
	check("a page of 100,000 dead letters", func() error {
		_, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Dead, Limit: store.MaxListLimit})
		return err
	})
	check("a redrive of 500 of 100,000 dead letters", func() error {
		_, err := r.Redrive(r.ctx(), r.p, r.redriveRequest(some...))
		r.must(err)
		r.settle(store.Reject, r.claim(store.MaxBatch)...)
		return nil
	})
	check("a purge of 500 of 100,000 dead letters", func() error {
		_, err := r.Purge(r.ctx(), r.p, r.purgeRequest(store.Dead, store.MaxBatch))
		return err
	})
}
