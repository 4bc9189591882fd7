package redisstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

func TestOpen_AnotherLayoutIsRefused(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(1, 10)...)
	r.must(r.rdb.HSet(r.ctx(), r.key("side"), "layout", "2").Err())
	_, err := r.Push(r.ctx(), r.p, r.request(r.messages(1, 10)))
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), `layout "2", this version reads 1`) {
		t.Fatalf("push to layout 2: %v", err)
	}
	_, err = r.Claim(r.ctx(), r.p, r.claimRequest(1))
	r.want("claim", errors.Is(err, store.ErrCorrupt), true)
	r.must(r.rdb.HSet(r.ctx(), r.metaKey("q"), "layout", "9").Err())
	_, err = r.Configure(r.ctx(), "q", store.Change{})
	r.want("configure", errors.Is(err, store.ErrCorrupt), true)
}

func TestStore_OverwrittenKeysAreCorrupt(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"side", "msg", "leased", "due"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := sharedRig(t)
			r.push(r.messages(1, 10)...)
			r.must(r.rdb.Set(r.ctx(), r.key(kind), "x", 0).Err())
			_, err := r.Claim(r.ctx(), r.p, r.claimRequest(1))
			r.want("claim", errors.Is(err, store.ErrCorrupt), true)
		})
	}
}

func TestClaim_UnreadableRecordsBecomeDead(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	ms := r.messages(4, 10)
	r.push(ms...)
	id := func(i int) string { return ms[i].ID.String() }
	headers := []byte{1, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 200, 'x'} // a name that goes beyond the end
	r.must(r.rdb.HDel(r.ctx(), r.key("msg"), id(0)).Err())
	r.must(r.rdb.HSet(r.ctx(), r.key("msg"), id(1), "garbage", id(2), headers).Err())
	_, err := r.Get(r.ctx(), r.p, store.Ref{ID: ms[0].ID})
	r.want("get", errors.Is(err, store.ErrCorrupt), true)
	ds := r.claim(10)
	r.want("deliveries", len(ds), 1)
	r.want("delivered", ds[0].Receipt.ID, ms[3].ID)
	page, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Dead, Limit: 10})
	r.must(err)
	why := map[store.ID]string{}
	for _, rec := range page.Records {
		why[rec.ID] = rec.LastFailure
	}
	r.want("missing", why[ms[0].ID], "record missing")
	r.want("garbage", why[ms[1].ID], "record corrupt")
	r.want("headers", why[ms[2].ID], "record corrupt")
	r.wantClean()

	_, err = r.Redrive(r.ctx(), r.p, r.redriveRequest(ms[0].ID))
	r.must(err)
	r.want("redriven", len(r.claim(10)), 0)
	r.want("dead", r.stats().Dead, 3)
	r.wantClean()
}

func TestPush_KeyOfALostMessageIsFree(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	ms := r.messages(2, 10)
	ms[0].Key, ms[1].Key = "k", "k"
	r.push(ms[0])
	r.must(r.rdb.HDel(r.ctx(), r.key("msg"), ms[0].ID.String()).Err())
	r.want("deliveries", len(r.claim(1)), 0)
	r.push(ms[1])
	r.wantClean()
}

func TestSettle_MissingRecords(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(3, 10)...)
	ds := r.claim(3)
	for _, d := range ds {
		r.must(r.rdb.HDel(r.ctx(), r.key("msg"), d.Receipt.ID.String()).Err())
	}
	r.want("nack", r.settle(store.Nack, ds[0]), []store.Code{store.CodeDead})
	r.want("ack", r.settle(store.Ack, ds[1]), []store.Code{store.CodeOK})
	r.want("dead", r.stats().Dead, 1)
}

func TestCheck_FindsEachProblem(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(r *rig, id string) error{
		"record missing": func(r *rig, id string) error { return r.rdb.HDel(r.ctx(), r.key("msg"), id).Err() },
		"not in due":     func(r *rig, id string) error { return r.rdb.ZRem(r.ctx(), r.key("due"), id).Err() },
		"in two sorted sets": func(r *rig, id string) error {
			return r.rdb.ZAdd(r.ctx(), r.key("dead"), redis.Z{Score: 1, Member: id}).Err()
		},
		"key lost":               func(r *rig, _ string) error { return r.rdb.HDel(r.ctx(), r.key("side"), "k:key").Err() },
		"key of nobody":          func(r *rig, id string) error { return r.rdb.HSet(r.ctx(), r.key("side"), "k:other", id).Err() },
		"key of a dead one lost": func(r *rig, _ string) error { return r.rdb.HDel(r.ctx(), r.key("side"), "e:"+r.dead()).Err() },
		"key of a dead one changed": func(r *rig, _ string) error {
			return r.rdb.HSet(r.ctx(), r.key("side"), "e:"+r.dead(), "other").Err()
		},
		"dead key of a live one": func(r *rig, id string) error { return r.rdb.HSet(r.ctx(), r.key("side"), "e:"+id, "key").Err() },
		"dead key of nobody":     func(r *rig, id string) error { return r.rdb.HSet(r.ctx(), r.key("side"), "d:other", id).Err() },
		"history of nobody": func(r *rig, _ string) error {
			return r.rdb.HSet(r.ctx(), r.key("side"), "h:00000000000000000000000000", "1 1 n").Err()
		},
		"failure without history": func(r *rig, id string) error { return r.rdb.HSet(r.ctx(), r.key("side"), "f:"+id, "x").Err() },
		"failure texts": func(r *rig, _ string) error {
			return r.rdb.HSet(r.ctx(), r.key("side"), "f:"+r.dead(), "1 1 9 short").Err()
		},
		"stop of nobody": func(r *rig, id string) error { return r.rdb.HSet(r.ctx(), r.key("side"), "x:"+id, "1").Err() },
		"tried":          func(r *rig, _ string) error { return r.rdb.HSet(r.ctx(), r.key("side"), "tried", "7").Err() },
		"stops":          func(r *rig, _ string) error { return r.rdb.HSet(r.ctx(), r.key("side"), "stops", "7").Err() },
		"counter":        func(r *rig, _ string) error { return r.rdb.HIncrBy(r.ctx(), r.key("side"), "n:sent", 1).Err() },
		"sentinel":       func(r *rig, _ string) error { return r.rdb.ZRem(r.ctx(), r.key("leased"), "").Err() },
		"foreign receipt": func(r *rig, _ string) error {
			return r.rdb.ZAdd(r.ctx(), r.key("leased"), redis.Z{Score: 1, Member: "x"}).Err()
		},
		"bound of an alias lost":    func(r *rig, _ string) error { return r.rdb.ZRem(r.ctx(), r.key("leased"), "=1").Err() },
		"bound before a lease ends": func(r *rig, _ string) error { return r.rdb.ZIncrBy(r.ctx(), r.key("leased"), -100, "=1").Err() },
		"bound of no alias": func(r *rig, _ string) error {
			return r.rdb.ZAdd(r.ctx(), r.key("leased"), redis.Z{Score: bounds, Member: "=1024"}).Err()
		},
		"bound among the leases": func(r *rig, _ string) error {
			return r.rdb.ZAdd(r.ctx(), r.key("leased"), redis.Z{Score: 1 << 51, Member: "=2"}).Err()
		},
		"alias of another": func(r *rig, _ string) error { return r.rdb.HSet(r.ctx(), r.key("calls"), "a:1", "other").Err() },
		"layout":           func(r *rig, _ string) error { return r.rdb.HDel(r.ctx(), r.key("side"), "layout").Err() },
		"unknown":          func(r *rig, _ string) error { return r.rdb.HSet(r.ctx(), r.key("side"), "zzz", "1").Err() },
		"garbage":          func(r *rig, id string) error { return r.rdb.HSet(r.ctx(), r.key("msg"), id, "garbage").Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sharedRig(t)
			ms := r.messages(2, 10)
			ms[0].Key, ms[0].Delay = "key", 60_000
			r.push(ms...)
			r.claim(1)
			r.wantClean()
			r.must(damage(r, ms[0].ID.String()))
			if len(r.problems()) == 0 {
				t.Error("the audit finds nothing")
			}
		})
	}
}

// dead makes a dead message with a key, and returns its id.
func (r *rig) dead() string {
	r.t.Helper()
	m := r.messages(1, 10)[0]
	m.Key = "dead"
	r.push(m)
	r.want("rejected", r.settle(store.Reject, r.claim(1)...), []store.Code{store.CodeOK})
	r.wantClean()
	return m.ID.String()
}
