package redisstore

import (
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// named returns messages to be remembered for an hour, with dedup ids.
func (r *rig) named(names ...string) []store.Message {
	ms := r.messages(len(names), 10)
	for i := range ms {
		ms[i].Remember, ms[i].DedupID = 3_600_000, store.NewDedupID(names[i])
	}
	return ms
}

func (r *rig) repeated(ms []store.Message) []store.Code {
	r.t.Helper()
	again := r.messages(len(ms), 10)
	for i := range again {
		again[i].DedupID = ms[i].DedupID
	}
	results, err := r.Push(r.ctx(), r.p, r.request(again))
	r.must(err)
	found := make([]store.Code, len(results))
	for i := range results {
		found[i] = results[i].Code
	}
	return found
}

// forget makes idle claims until no more messages are remembered.
func (r *rig) forget(most int64) {
	r.t.Helper()
	for range 1000 {
		if r.claim(1); r.stats().Remembered <= most {
			return
		}
	}
	r.t.Fatalf("%d are remembered still", r.stats().Remembered)
}

func TestRemember_BoundForgetsTheFirst(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	ms := r.named("a", "b", "c")
	r.push(ms...)
	r.settle(store.Ack, r.claim(3)...)
	// As if another message had gone between the second and the third, and many after that.
	r.must(r.rdb.HSet(r.ctx(), r.key("side"), "windows", "0 0 1000002", "g:3", ms[2].ID.String()).Err())
	r.must(r.rdb.HDel(r.ctx(), r.key("side"), "g:2").Err())
	r.push(r.named("d")...)
	r.settle(store.Ack, r.claim(1)...)
	s := r.stats()
	r.want("forgotten", s.Counters.Forgotten, 2)
	r.want("remembered", s.Remembered, store.MaxRemembered)
	got := r.repeated(append(ms, r.named("d")...))
	for i, want := range []store.Code{store.CodeOK, store.CodeOK, store.CodeKnown, store.CodeKnown} {
		r.want("code", got[i], want)
	}
}

// A dedup id whose time is over belongs to the message that is sent with it then, also when
// the first one is forgotten after that.
func TestRemember_ForgettingLeavesTheNameToItsNextHolder(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	first := r.named("a")
	first[0].Remember = 1
	r.push(first...)
	r.settle(store.Ack, r.claim(1)...)
	code := store.CodeKnown
	for range 10_000 { // until the millisecond is over
		next := r.named("a")
		next[0].Delay = 3_600_000
		results, err := r.Push(r.ctx(), r.p, r.request(next))
		r.must(err)
		if code = results[0].Code; code != store.CodeKnown {
			break
		}
	}
	r.want("sent when the time is over", code, store.CodeOK)
	r.forget(0)
	r.want("sent again", r.repeated(first), []store.Code{store.CodeKnown})
	r.wantClean()
}

// TestRemember_CallsPerBatch pins what a batch of 100 costs in redis.calls.
func TestRemember_CallsPerBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	batch := func(n int) []store.Message {
		names := make([]string, 100)
		for i := range names {
			names[i] = strings.Repeat("x", n) + string(rune('0'+i))
		}
		return r.named(names...)
	}
	r.push(batch(1)...) // loads the scripts
	r.settle(store.Ack, r.claim(100)...)
	r.claim(1)
	r.push(batch(2)...)
	r.want("push", redisCalls(r, func() { r.push(batch(3)...) }), 11)
	r.settle(store.Ack, r.claim(100)...)
	ds := r.claim(100)
	r.want("ack", redisCalls(r, func() { r.settle(store.Ack, ds...) }), 10)
	r.want("idle claim", redisCalls(r, func() { r.claim(100) }), 8)
	r.wantClean()
}

func TestRemember_NothingIsLeftWhenAllIsOver(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(1, 10)...)
	r.settle(store.Ack, r.claim(1)...)
	fields := r.rdb.HLen(r.ctx(), r.key("side")).Val()
	ms := r.named("a", "b", "c")
	for i := range ms {
		ms[i].Remember = 1 + int64(i%2)
	}
	r.push(ms...)
	r.settle(store.Ack, r.claim(3)...)
	r.forget(0)
	r.want("fields of side", r.rdb.HLen(r.ctx(), r.key("side")).Val(), fields)
	r.wantClean()
}

func TestRemember_FullRedisAcksAndForgets(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	ms := r.named("a", "b")
	ms[0].Remember = 1
	r.push(ms...)
	r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory", "1").Err())
	r.settle(store.Ack, r.claim(2)...)
	r.forget(1)
	r.must(r.rdb.ConfigSet(r.ctx(), "maxmemory", "0").Err())
	got := r.repeated(ms)
	r.want("of a millisecond", got[0], store.CodeOK)
	r.want("of an hour", got[1], store.CodeKnown)
	r.wantClean()
}

func TestCheck_FindsWhatIsWronglyRemembered(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	live, gone := r.named("live"), r.named("gone")
	r.push(gone...)
	r.settle(store.Ack, r.claim(1)...)
	r.push(live...)
	r.wantClean()
	id := func(ms []store.Message) string { return ms[0].ID.String() }
	side := r.key("side")
	r.must(r.rdb.HSet(r.ctx(), side, "w:"+id(gone), "nonsense", "u:x", id(live), "g:9", id(live), "windows", "3 0 1").Err())
	found := r.problems()
	for _, want := range []string{"cannot be read", "has no such dedup id", "is not counted", "to be remembered, but 3 counted"} {
		ok := false
		for _, p := range found {
			ok = ok || strings.Contains(p.Text, want)
		}
		if !ok {
			t.Errorf("no problem %q in %v", want, found)
		}
	}
}
