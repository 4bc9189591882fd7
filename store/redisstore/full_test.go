package redisstore

import (
	"context"
	"errors"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

// fill makes the server refuse every command that needs memory.
func (r *rig) fill() {
	r.t.Helper()
	r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory-policy", "noeviction").Err())
	r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory", "1").Err())
	r.want("full", isOOM(r.rdb.Set(r.ctx(), "x", "y", 0).Err()), true)
}

func isOOM(err error) bool { return errors.Is(permanent(err), store.ErrQueueFull) }

// A process that starts while Redis is full can do everything that empties a queue.
func TestFull_ANewStoreNeedsNoMemory(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(r *rig){
		"all is there":    func(*rig) {},
		"meta is lost":    func(r *rig) { r.must(r.rdb.Del(r.ctx(), r.metaKey("q")).Err()) },
		"side is lost":    func(r *rig) { r.must(r.rdb.Del(r.ctx(), r.key("side")).Err()) },
		"queues are lost": func(r *rig) { r.must(r.rdb.Del(r.ctx(), r.queuesKey()).Err()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.Start(t).Client(t))
			ms := r.messages(20, 10)
			for i := range ms[:10] {
				ms[i].Key = "k" + ms[i].ID.String()
			}
			r.push(ms...)
			lose(r)
			r.fill()
			r = r.another()
			r.number = 100
			r.want("settings", r.configure(store.Change{Create: true}), store.Settings{Partitions: 1, MaxBody: store.DefaultMaxBody})
			r.drain(ms)
			if name != "side is lost" { // the counters are lost with it
				r.wantClean()
			}
		})
	}
}

// drain makes all calls that remove or read messages.
func (r *rig) drain(ms []store.Message) {
	r.t.Helper()
	watching, stop := context.WithCancel(r.ctx())
	heard, done := make(chan store.Event, 100), make(chan error, 1)
	go func() { done <- r.Watch(watching, "q", func(e store.Event) { heard <- e }) }()
	r.want("watch", (<-heard).Kind, store.EventResync)
	stop()
	r.must(<-done)
	join := []store.Member{{Queue: "q", Consumer: "c"}}
	r.want("beat", r.beat(store.BeatRequest{Client: "x", TTL: 1000, Join: join}).Unknown, true)
	duties, err := r.Duties(r.ctx(), []store.DutyRequest{{Queue: "q", Consumer: "c", Partitions: 1}})
	r.must(err)
	r.want("duties", duties, []store.Duties{{Consumers: 1, Index: 0, Owners: []int{0}}})
	for i, v := range []store.Verdict{storetest.Extend, store.Release, store.Nack, store.Reject, store.Ack} {
		ds := r.claim(2)
		r.want(string(v), r.settle(v, ds...), []store.Code{store.CodeOK, store.CodeOK})
		if v == store.Reject {
			_, err := r.Redrive(r.ctx(), r.p, r.redriveRequest(ds[0].Receipt.ID))
			r.must(err)
			_, err = r.Purge(r.ctx(), r.p, r.purgeRequest(store.Dead, 10))
			r.must(err)
		}
		_, err := r.Reschedule(r.ctx(), r.p, r.rescheduleRequest(store.Move{Ref: store.Ref{ID: ms[19-i].ID}}))
		r.must(err)
	}
	held := r.claim(1)
	codes, err := r.Cancel(r.ctx(), r.p, r.cancelRequest(store.Ref{ID: held[0].Receipt.ID}, store.Ref{ID: ms[19].ID}))
	r.must(err)
	r.want("cancel", codes, []store.Code{store.CodeRunning, store.CodeOK})
	r.settle(store.Ack, held...)
	for _, paused := range []bool{true, false} {
		r.want("paused", r.configure(store.Change{Paused: &paused}).Paused, paused)
		r.want("claim", len(r.claim(1)) == 0, paused)
	}
	_, err = r.List(r.ctx(), r.p, store.ListRequest{State: store.Ready, Limit: 10})
	r.must(err)
	for ds := r.claim(500); len(ds) > 0; ds = r.claim(500) {
		r.settle(store.Ack, ds...)
	}
	_, err = r.Push(r.ctx(), r.p, r.request(r.messages(1, 10)))
	r.want("push", errors.Is(err, store.ErrQueueFull), true)
	r.want("ready", r.stats().Ready, 0)
}

// A push to a new queue that is refused at maxmemory has stored nothing.
func TestFull_APushStoresAllOrReportsFull(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	r.push(r.messages(1, 10)...)
	for _, keys := range [][]string{{r.key("side")}, {r.metaKey("q")}, {r.queuesKey()}} {
		r.must(r.rdb.Del(r.ctx(), keys...).Err())
		r.fill()
		before := r.rdb.HLen(r.ctx(), r.key("msg")).Val()
		_, err := r.Push(r.ctx(), r.p, r.request(r.messages(1, 10)))
		r.want("push", errors.Is(err, store.ErrQueueFull), true)
		r.want("messages", r.rdb.HLen(r.ctx(), r.key("msg")).Val(), before)
		r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory", "0").Err())
		r.push(r.messages(1, 10)...)
	}
}
