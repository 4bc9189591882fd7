package redisstore

import (
	"fmt"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// TestNext_CallsPerBatch pins what Next of deliveries with one message each costs in redis.calls,
// which do not grow with the number of deliveries.
func TestNext_CallsPerBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	held := func(n int, remember int64) []store.Settlement {
		ms := r.messages(n, 100)
		for i := range ms {
			ms[i].Remember = remember
		}
		r.push(ms...)
		items := r.following(r.claim(n), 100)
		for i := range items {
			items[i].Messages[0].Delay = 3600_000
		}
		return items
	}
	for range 2 { // once to load the scripts
		r.settleNext(held(1, 3600_000))
	}
	items := held(1, 0)
	r.want("next of one", redisCalls(r, func() { r.settleNext(items) }), nextCalls)
	items = held(100, 0)
	r.want("next of 100", redisCalls(r, func() { r.settleNext(items) }), nextCalls)
	r.want("next of 100 again", redisCalls(r, func() { r.settleNext(items) }), 5+100)
	items = held(100, 3600_000)
	r.want("next of 100 that are remembered", redisCalls(r, func() { r.settleNext(items) }), nextCalls+2)
	r.wantClean()
}

// nextCalls are: settings, time, the first that is due, the leases, the probe for memory, the
// ids and what is remembered of them; then of the ack the lease, the record, what is to be
// remembered of it, two for what has been remembered for long enough, and the count; of the
// messages the records, for how long they are to be remembered, the due times and the count.
const nextCalls = 17

// TestNext_LargeRecordsTakeSeveralSteps: the records of messages with keys are read, at most
// 1.25 MiB in a step.
func TestNext_LargeRecordsTakeSeveralSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	const n, size = 60, 100 << 10
	for i, m := range r.messages(n, size) {
		m.Key = fmt.Sprint("k", i)
		r.push(m)
	}
	var ds []store.Delivery
	for len(ds) < n {
		ds = append(ds, r.claim(500)...)
	}
	items := r.following(ds, 10)
	for i := range items {
		items[i].Messages[0].Key = ds[i].Key // the ack frees the key
	}
	r.want("codes", r.settleNext(items), make([]store.Code, n))
	r.want("ready", r.stats().Ready, n)
	r.wantClean()
}

// TestNext_AtMaxmemoryRefusesWhatIsNew checks that a delivery whose message cannot be stored in a full
// Redis keeps its lease, also when the queue has a history.
func TestNext_AtMaxmemoryRefusesWhatIsNew(t *testing.T) {
	t.Parallel()
	for _, history := range []int64{0, 3600_000} {
		t.Run(fmt.Sprint("history=", history), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.Start(t).Client(t))
			r.configure(store.Change{Create: true, History: &history})
			r.push(r.messages(3, 10)...)
			items := r.following(r.claim(3), 10)
			r.push(items[1].Messages...)
			r.fill()
			r.want("codes", r.settleNext(items), []store.Code{store.CodeFull, store.CodeOK, store.CodeFull})
			s := r.stats()
			r.want("leased, ready, acked", []int64{s.Leased, s.Ready, s.Counters.Acked}, []int64{2, 1, 1})
			r.wantClean()
			r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory", "0").Err())
			r.want("codes", r.settleNext(items), []store.Code{store.CodeOK, store.CodeGone, store.CodeOK})
			r.wantClean()
		})
	}
}

// TestNext_OfALostPartitionStoresNothing: the lease was lost with the partition.
func TestNext_OfALostPartitionStoresNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	r.push(r.messages(1, 10)...)
	items := r.following(r.claim(1), 10)
	r.must(r.rdb.FlushAll(r.ctx()).Err())
	r.want("codes", r.settleNext(items), []store.Code{store.CodeLeaseLost})
	r.want("keys", r.rdb.DBSize(r.ctx()).Val(), 0)
}
