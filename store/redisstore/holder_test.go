package redisstore

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

// aliases is how many consumers of a partition can be named at a time.
const aliases = 1023

// bounds is the score from which the leased zset has the bounds of aliases.
const bounds = 1 << 52

// take sends a message that a consumer claims for a while.
func (r *rig) take(consumer string, lease int64) store.Delivery {
	r.t.Helper()
	r.push(r.messages(1, 10)...)
	return r.taken(consumer, lease)
}

func (r *rig) taken(consumer string, lease int64) store.Delivery {
	r.t.Helper()
	result, err := r.Claim(r.ctx(), r.p, store.ClaimRequest{Consumer: consumer, Number: r.next(), Max: 1, Lease: lease})
	r.must(err)
	r.want("deliveries", len(result.Deliveries), 1)
	return result.Deliveries[0]
}

// extend makes a lease end after a span.
func (r *rig) extend(d store.Delivery, span int64) {
	r.t.Helper()
	codes, err := storetest.Settle(r.ctx(), r, r.p, store.SettleRequest{Verdict: storetest.Extend, Items: []store.Settlement{{Receipt: d.Receipt, Delay: span}}})
	r.must(err)
	r.want("extend", codes, []store.Code{store.CodeOK})
}

func (r *rig) wantHolder(d store.Delivery, want string) {
	r.t.Helper()
	got, err := r.Get(r.ctx(), r.p, store.Ref{ID: d.Receipt.ID})
	r.must(err)
	r.want("holder", got.Holder, want)
}

// alias returns the number in the score of a lease.
func (r *rig) alias(d store.Delivery) int {
	r.t.Helper()
	score, err := r.rdb.ZScore(r.ctx(), r.key("leased"), d.Receipt.ID.String()).Result()
	r.must(err)
	return int(score) % 1024
}

// age moves the bound of the alias that was given first to the past.
func (r *rig) age(span time.Duration) {
	r.t.Helper()
	r.must(r.rdb.ZIncrBy(r.ctx(), r.key("leased"), -float64(span.Milliseconds()), "=1").Err())
}

func TestHolder_IsKnownToOtherProcesses(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	d := r.take("a", 60_000)
	r.another().wantHolder(d, "a")
}

// An alias is given to another consumer when no lease has it any more. The consumer that had it gets
// another one, and no lease is ever shown with a wrong name.
func TestHolder_AliasIsTakenOverWhenNoLeaseHasIt(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	first := r.take("first", 600_000)
	long := r.take("long", 3600_000)
	for i := range aliases - 2 {
		r.take(fmt.Sprintf("c%d", i), 3600_000)
	}
	none := r.take("none", 3600_000)
	r.wantHolder(none, "")
	r.settle(store.Ack, first)
	r.age(12 * time.Minute)

	heir := r.take("heir", 3600_000)
	r.want("alias of the heir", r.alias(heir), 1)
	r.wantHolder(heir, "heir")
	again := r.take("first", 3600_000)
	r.wantHolder(again, "") // all are in use
	r.wantHolder(heir, "heir")
	r.wantHolder(long, "long")
	r.wantClean()
}

func TestHolder_AliasOfAnExtendedLeaseIsKept(t *testing.T) {
	t.Parallel()
	for _, verdict := range []store.Verdict{storetest.Extend, storetest.Start} {
		r := sharedRig(t)
		held := r.take("held", 60_000)
		r.age(2 * time.Hour)
		codes, err := storetest.Settle(r.ctx(), r, r.p, store.SettleRequest{Verdict: verdict, Items: []store.Settlement{{Receipt: held.Receipt, Delay: 7200_000}}})
		r.must(err)
		r.want("codes", codes, []store.Code{store.CodeOK})
		r.wantHolder(r.take("new", 60_000), "new")
		r.wantHolder(held, "held")
	}
}

// A claim puts back 100 of the leases that have run out; the others still have their holder's
// alias, which is not given to another consumer even if it was not used for an hour.
func TestHolder_AliasOfLeasesThatRanOutIsKept(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(150, 10)...)
	r.want("deliveries", len(r.claim(150)), 150)
	all, err := r.rdb.ZRangeWithScores(r.ctx(), r.key("leased"), 0, -2).Result()
	r.must(err)
	for i := range all {
		span := float64(7200_000)
		if all[i].Score < bounds {
			span *= 1024
		}
		all[i].Score -= span
	}
	r.must(r.rdb.ZAdd(r.ctx(), r.key("leased"), all...).Err())
	r.taken("new", 60_000)
	holders := map[string]int{}
	for _, rec := range r.leases() {
		holders[rec.Holder]++
	}
	r.want("holders", holders, map[string]int{"c": 50, "new": 1})
}

func (r *rig) leases() (all []store.Record) {
	r.t.Helper()
	for cursor := ""; ; {
		page, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Leased, Limit: store.MaxListLimit, Cursor: cursor})
		r.must(err)
		all = append(all, page.Records...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// An alias that was not used for an hour is given to another consumer before a new one is made.
func TestHolder_AliasUnusedForAnHourIsTakenOver(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.settle(store.Ack, r.take("old", 60_000))
	held := r.take("held", 60_000)
	r.wantHolder(r.take("new", 60_000), "new")
	r.want("aliases", r.aliases(), 3)
	r.age(2 * time.Hour)
	later := r.take("later", 60_000)
	r.want("alias", r.alias(later), 1)
	r.want("aliases", r.aliases(), 3)
	r.wantHolder(later, "later")
	again := r.take("old", 60_000)
	r.want("alias of the one that lost it", r.alias(again), 4)
	r.wantHolder(again, "old")
	r.wantHolder(later, "later")
	r.wantHolder(held, "held")
	r.wantClean()
}

func (r *rig) aliases() int64 {
	return r.rdb.ZCount(r.ctx(), r.key("leased"), fmt.Sprint(int64(bounds)), "(+inf").Val()
}

// When the key calls is lost, earlier holders are not known, and their aliases are not given to
// others.
func TestHolder_LostCallsLeaveNoWrongName(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	a, b := r.take("a", 60_000), r.take("b", 60_000)
	r.must(r.rdb.Del(r.ctx(), r.key("calls")).Err())
	c := r.take("c", 60_000)
	second := r.take("a", 60_000)
	for d, want := range map[*store.Delivery]string{&a: "", &b: "", &c: "c", &second: "a"} {
		r.wantHolder(*d, want)
	}
	r.extend(a, 120_000)
	r.wantHolder(a, "")
}

// When the key leased is lost, aliases have no bounds, and consumers keep them.
func TestHolder_LostLeasesLeaveNoWrongName(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.take("a", 60_000)
	r.take("b", 60_000)
	r.must(r.rdb.Del(r.ctx(), r.key("leased")).Err())
	r.must(r.rdb.ZAdd(r.ctx(), r.key("leased"), redis.Z{Score: math.Inf(1), Member: ""}).Err())
	want := map[string]store.Delivery{}
	for _, name := range []string{"b", "x", "y", "a", "z"} {
		want[name] = r.take(name, 60_000)
	}
	seen := map[int]bool{}
	for name, d := range want {
		r.wantHolder(d, name)
		if seen[r.alias(d)] {
			t.Errorf("two consumers have the alias %d", r.alias(d))
		}
		seen[r.alias(d)] = true
	}
}

// The names of aliases are kept for as long as a lease can have them, however long the holder
// has made no claim.
func TestHolder_NameOutlivesTheMemoryOfClaims(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	d := r.take("a", 60_000)
	r.extend(d, 43_200_000)
	long := r.rdb.HGet(r.ctx(), r.key("calls"), "c:a").Val()
	r.must(r.rdb.HSet(r.ctx(), r.key("calls"), "c:a", "1000"+long[strings.Index(long, " "):]).Err())
	for i := 0; r.rdb.HExists(r.ctx(), r.key("calls"), "c:a").Val(); i++ {
		if r.take(fmt.Sprintf("new-%d", i), 60_000); i == 1000 {
			t.Fatal("the memory of an old claim is never dropped")
		}
	}
	r.wantHolder(d, "a")
	second := r.take("a", 60_000)
	r.wantHolder(second, "a")
	r.wantHolder(d, "a")
	r.wantClean()
}

// TestHolder_Calls pins what holders cost, in redis.calls: nothing for a consumer that has an
// alias.
func TestHolder_Calls(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	warm := r.take("warm", 60_000)
	r.extend(warm, 60_000)
	r.settle(store.Ack, warm)
	d := r.take("warm", 60_000)
	r.push(r.messages(3, 10)...)
	r.want("claim", redisCalls(r, func() { r.taken("warm", 60_000) }), 12)
	r.want("extend", redisCalls(r, func() { r.extend(d, 61_000) }), 5)
	// Beside the alias, a new consumer looks for callers to be forgotten.
	r.want("first claim of a consumer", redisCalls(r, func() { r.taken("new", 60_000) }), 12+4+2)
	r.want("its second", redisCalls(r, func() { r.taken("new", 60_000) }), 12)
}

// Leases of several holders that end in the same millisecond are in no order of ids, and pages
// end between any two of them.
func TestList_PagesEndBetweenLeasesThatEndTogether(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	end := r.rdb.Time(r.ctx()).Val().UnixMilli() + 60_000
	want := map[string]string{}
	for i := range 12 {
		by := fmt.Sprintf("c%d", i*7%5)
		d := r.take(by, 60_000)
		want[d.Receipt.ID.String()] = by
		r.must(r.rdb.ZAdd(r.ctx(), r.key("leased"), redis.Z{Score: float64(end*1024 + int64(r.alias(d))), Member: d.Receipt.ID.String()}).Err())
	}
	for limit := 1; limit <= 13; limit++ {
		got := map[string]string{}
		n := 0
		for cursor := ""; ; {
			page, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Leased, Limit: limit, Cursor: cursor})
			r.must(err)
			for _, rec := range page.Records {
				r.want("end", rec.At, end)
				got[rec.ID.String()] = rec.Holder
				n++
			}
			if cursor = page.Next; cursor == "" || n > 12 {
				break
			}
		}
		r.want("records", n, 12)
		r.want("holders", got, want)
	}
}
