package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// deadRetention holds for how long, and how many, dead messages are kept.
func deadRetention() []testCase {
	return []testCase{
		{"OffKeepsAll", "", func(d *desk) {
			ids := d.manyDead(5)
			d.takeNothing("c")
			d.wantEqual("dead", recordIDs(d.list(store.Dead, 10)), ids)
			d.wantEqual("removed", d.stats().Counters.DeadExpired, int64(0))
		}},
		{"ByCountTheOldestGo", "", testDeadByCount},
		{"ByAge", "", testDeadByAge},
		{"ByAgeExactly", manualClock, testDeadByAgeExactly},
		{"WhicheverRemovesMore", manualClock, testDeadByBoth},
		{"SharesOfPartitions", "", testDeadShares},
		{"KeysOfTheRemoved", "", testKeysOfTheRemoved},
		{"AlsoWhilePaused", "", func(d *desk) {
			ids := d.manyDead(3)
			d.configure(store.Change{MaxDead: pointer(int64(1)), Paused: pointer(true)})
			d.takeNothing("c")
			d.wantEqual("dead", recordIDs(d.list(store.Dead, 10)), ids[2:])
		}},
		{"ARepeatedClaimRemovesNothing", "", func(d *desk) {
			d.send()
			r := d.claimRequest("c", 1)
			d.claimAs(r)
			d.manyDead(2)
			d.configure(store.Change{MaxDead: pointer(int64(1))})
			d.wantEqual("handed out again", len(d.claimAs(r).Deliveries), 1)
			d.wantEqual("dead", d.stats().Dead, int64(2))
			d.takeNothing("c")
			d.wantEqual("dead", d.stats().Dead, int64(1))
		}},
		{"LateVerdictsOnTheRemoved", "", testVerdictsOnTheRemoved},
		{"BoundedSteps", "", testDeadInSteps},
		{"DeathsInTheSameClaimCount", expiring, testDeadOfLostLeases},
		{"RemovedOnesAreRemembered", "", testRemovedAreRemembered},
		{"AfterReopening", reopening, func(d *desk) {
			ids := d.manyDead(4)
			d.configure(store.Change{MaxDead: pointer(int64(3)), DeadRetention: pointer(hour)})
			d.takeNothing("c")
			d.s = d.h.Reopen(d.t)
			d.wantEqual("dead", recordIDs(d.list(store.Dead, 10)), ids[1:])
			d.wantEqual("removed", d.stats().Counters.DeadExpired, int64(1))
			got := d.stats().Settings
			d.wantEqual("settings", []int64{got.MaxDead, got.DeadRetention}, []int64{3, hour})
			d.dead()
			d.takeNothing("c")
			d.wantEqual("dead", len(d.list(store.Dead, 10)), 3)
		}},
	}
}

// A claim removes what is over the limits after it has ended the leases that ran out: a
// message that dies by that counts.
func testDeadOfLostLeases(d *desk) {
	d.dead()
	d.send(attempts(1))
	d.start(shortLease, d.takeFor("c", shortLease).Receipt)
	d.configure(store.Change{MaxDead: pointer(int64(1)), DeadRetention: pointer(hour)})
	d.runOut()
	d.takeNothing("c")
	d.wantEqual("dead", d.stats().Dead, int64(1))
	d.wantCounters(store.Counters{Sent: 2, Delivered: 2, Rejected: 1, LeaseLost: 1, DeadLettered: 2, DeadExpired: 1})
}

func testRemovedAreRemembered(d *desk) {
	id := d.dead(named("a"), remember(hour))
	d.configure(store.Change{DeadRetention: pointer(int64(1))})
	d.pass(2 * time.Millisecond)
	d.takeNothing("c")
	d.wantGone(byID(id))
	d.wantKnown(id, "a")
	d.wantEqual("remembered", d.stats().Remembered, int64(1))
}

// manyDead makes n dead letters, and returns their ids in the order of death.
func (d *desk) manyDead(n int, edits ...func(*store.Message)) []store.ID {
	d.t.Helper()
	for range n {
		d.dead(edits...)
	}
	return recordIDs(d.list(store.Dead, store.MaxListLimit))
}

func testDeadByCount(d *desk) {
	ids := d.manyDead(5)
	live := d.send()
	d.configure(store.Change{MaxDead: pointer(int64(2))})
	d.wantEqual("dead before a claim", d.stats().Dead, int64(5))
	d.takeOf(live)
	d.wantEqual("dead", recordIDs(d.list(store.Dead, 10)), ids[3:])
	d.wantEqual("stats", d.stats().Dead, int64(2))
	d.wantGone(byID(ids[0]), byID(ids[2]))
	d.wantEqual("redrive", d.redrive(ids[2])[0].Code, store.CodeNotFound)
	d.wantState(live, store.Leased)
	d.wantCounters(store.Counters{Sent: 6, Delivered: 6, Rejected: 5, DeadLettered: 5, DeadExpired: 3})
	d.configure(store.Change{MaxDead: pointer(int64(0))})
	d.manyDead(3)
	d.takeNothing("c")
	d.wantEqual("dead without a limit", d.stats().Dead, int64(5))
}

func testDeadByAge(d *desk) {
	const age = 50
	d.manyDead(2)
	d.configure(store.Change{DeadRetention: pointer(int64(age))})
	d.pass(age * time.Millisecond)
	d.configure(store.Change{DeadRetention: pointer(hour)})
	last := d.dead()
	d.takeNothing("c")
	d.wantEqual("dead within the hour", d.stats().Dead, int64(3))
	d.configure(store.Change{DeadRetention: pointer(int64(age))})
	d.takeNothing("c")
	for _, rec := range d.list(store.Dead, 10) { // the last one can be over age, too, by now
		d.wantEqual("dead", rec.ID, last)
	}
	d.pass(age * time.Millisecond)
	d.takeNothing("c")
	d.wantGone(byID(last))
	d.wantCounters(store.Counters{Sent: 3, Delivered: 3, Rejected: 3, DeadLettered: 3, DeadExpired: 3})
}

func testDeadByAgeExactly(d *desk) {
	id := d.dead()
	d.configure(store.Change{DeadRetention: pointer(int64(1000))})
	d.h.Advance(999 * time.Millisecond)
	d.takeNothing("c")
	d.wantState(id, store.Dead)
	d.h.Advance(time.Millisecond)
	d.takeNothing("c")
	d.wantGone(byID(id))
}

func testDeadByBoth(d *desk) {
	var ids []store.ID
	for range 6 {
		ids = append(ids, d.dead())
		d.h.Advance(time.Second)
	}
	d.configure(store.Change{DeadRetention: pointer(int64(4000)), MaxDead: pointer(int64(5))})
	d.takeNothing("c")
	d.wantEqual("dead", recordIDs(d.list(store.Dead, 10)), ids[3:])
	d.configure(store.Change{MaxDead: pointer(int64(2))})
	d.takeNothing("c")
	d.wantEqual("dead", recordIDs(d.list(store.Dead, 10)), ids[4:])
}

// The limit is that of the queue: its partitions have equal shares, of one at least.
func testDeadShares(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(3), MaxDead: pointer(int64(7))})
	desks := []*desk{d, d.at(d.p.Queue, 1), d.at(d.p.Queue, 2)}
	for _, k := range desks {
		k.manyDead(4)
		k.takeNothing("c")
		k.wantEqual("dead of a partition", len(k.list(store.Dead, 10)), 2)
	}
	d.configure(store.Change{MaxDead: pointer(int64(1))})
	for _, k := range desks {
		k.takeNothing("c")
	}
	d.wantEqual("dead", d.stats().Dead, int64(3))
}

// What is removed is no longer found by its key; what stays is.
func testKeysOfTheRemoved(d *desk) {
	d.manyDead(3, key("k"))
	d.manyDead(1, key("gone"))
	ids := d.manyDead(2, key("k"))
	d.dead()
	d.configure(store.Change{MaxDead: pointer(int64(2))})
	d.takeNothing("c")
	d.wantFound("k", ids[len(ids)-1], store.Dead)
	d.wantGone(byKey("gone"))
	d.configure(store.Change{MaxDead: pointer(int64(1))})
	d.takeNothing("c")
	d.wantGone(byKey("k"))
	id := d.send(key("k"))
	d.wantFound("k", id, store.Ready)
}

func testVerdictsOnTheRemoved(d *desk) {
	d.configure(store.Change{Create: true, MaxDead: pointer(int64(1))})
	d.send(attempts(1))
	r := d.take("c").Receipt
	d.wantSettled(store.Nack, r, store.CodeDead)
	d.dead()
	d.takeNothing("c")
	d.wantSettled(store.Nack, r, store.CodeGone)
	d.wantSettled(store.Ack, r, store.CodeGone)
}

// One claim removes some hundred; while there are more, it asks for the next one soon.
func testDeadInSteps(d *desk) {
	const n, bound, left = 1200, 500, 100
	d.sendMany(n)
	for batch := range slices.Chunk(d.drain("c", store.MaxBatch), store.MaxBatch) {
		r := store.SettleRequest{Verdict: store.Reject}
		for _, v := range batch {
			r.Items = append(r.Items, store.Settlement{Receipt: v.Receipt})
		}
		d.settleAs(r)
	}
	ids := recordIDs(d.list(store.Dead, store.MaxListLimit))
	d.configure(store.Change{MaxDead: pointer(int64(left))})
	for i, removed := range []int64{bound, 2 * bound, n - left} {
		wait := d.takeNothing("c").Wait
		d.wantEqual(fmt.Sprintf("removed by %d claims", i+1), d.stats().Counters.DeadExpired, removed)
		if more := i < 2; more != (wait <= 100*time.Millisecond) {
			d.t.Fatalf("wait after claim %d: %v", i+1, wait)
		}
	}
	d.wantEqual("dead", recordIDs(d.list(store.Dead, store.MaxListLimit)), ids[n-left:])
}
