package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// deadRetention tests for how long, and how many, dead messages are kept.
func deadRetention() []testCase {
	return []testCase{
		{"OffKeepsAll", "", func(g *rig) {
			ids := g.manyDead(5)
			g.takeNothing("c")
			g.wantEqual("dead", recordIDs(g.list(store.Dead, 10)), ids)
			g.wantEqual("removed", g.stats().Counters.DeadExpired, int64(0))
		}},
		{"ByCountTheOldestGo", "", testDeadByCount},
		{"ByAge", "", testDeadByAge},
		{"ByAgeExactly", manualClock, testDeadByAgeExactly},
		{"BothLimitsHold", manualClock, testDeadByBoth},
		{"SharesOfPartitions", "", testDeadShares},
		{"KeysOfTheRemoved", "", testKeysOfTheRemoved},
		{"AlsoWhilePaused", "", func(g *rig) {
			ids := g.manyDead(3)
			g.configure(store.Change{MaxDead: pointer(int64(1)), Paused: pointer(true)})
			g.takeNothing("c")
			g.wantEqual("dead", recordIDs(g.list(store.Dead, 10)), ids[2:])
		}},
		{"RepeatedClaimRemovesNothing", "", func(g *rig) {
			g.send()
			r := g.claimRequest("c", 1)
			g.claimAs(r)
			g.manyDead(2)
			g.configure(store.Change{MaxDead: pointer(int64(1))})
			g.wantEqual("handed out again", len(g.claimAs(r).Deliveries), 1)
			g.wantEqual("dead", g.stats().Dead, int64(2))
			g.takeNothing("c")
			g.wantEqual("dead", g.stats().Dead, int64(1))
		}},
		{"LateVerdictsOnTheRemoved", "", testVerdictsOnTheRemoved},
		{"BoundedSteps", "", testDeadInSteps},
		{"DeathsInTheSameClaimCount", expiring, testDeadOfLostLeases},
		{"RemovedMessagesAreRemembered", "", testRemovedAreRemembered},
		{"AfterReopening", reopening, func(g *rig) {
			ids := g.manyDead(4)
			g.configure(store.Change{MaxDead: pointer(int64(3)), DeadRetention: pointer(hour)})
			g.takeNothing("c")
			g.s = g.h.Reopen(g.t)
			g.wantEqual("dead", recordIDs(g.list(store.Dead, 10)), ids[1:])
			g.wantEqual("removed", g.stats().Counters.DeadExpired, int64(1))
			got := g.stats().Settings
			g.wantEqual("settings", []int64{got.MaxDead, got.DeadRetention}, []int64{3, hour})
			g.dead()
			g.takeNothing("c")
			g.wantEqual("dead", len(g.list(store.Dead, 10)), 3)
		}},
	}
}

// A claim first puts back leases that ran out, then removes what is over the limits: so messages
// that die in the same claim count.
func testDeadOfLostLeases(g *rig) {
	g.dead()
	g.send(attempts(1))
	g.start(shortLease, g.takeFor("c", shortLease).Receipt)
	g.configure(store.Change{MaxDead: pointer(int64(1)), DeadRetention: pointer(hour)})
	g.runOut()
	g.takeNothing("c")
	g.wantEqual("dead", g.stats().Dead, int64(1))
	g.wantCounters(store.Counters{Sent: 2, Delivered: 2, Rejected: 1, LeaseLost: 1, DeadLettered: 2, DeadExpired: 1})
}

func testRemovedAreRemembered(g *rig) {
	id := g.dead(named("a"), remember(hour))
	g.configure(store.Change{DeadRetention: pointer(int64(1))})
	g.pass(2 * time.Millisecond)
	g.takeNothing("c")
	g.wantGone(byID(id))
	g.wantKnown(id, "a")
	g.wantEqual("remembered", g.stats().Remembered, int64(1))
}

// manyDead makes n dead letters, and returns their ids in the order of death.
func (g *rig) manyDead(n int, edits ...func(*store.Message)) []store.ID {
	g.t.Helper()
	for range n {
		g.dead(edits...)
	}
	return recordIDs(g.list(store.Dead, store.MaxListLimit))
}

func testDeadByCount(g *rig) {
	ids := g.manyDead(5)
	live := g.send()
	g.configure(store.Change{MaxDead: pointer(int64(2))})
	g.wantEqual("dead before a claim", g.stats().Dead, int64(5))
	g.takeOf(live)
	g.wantEqual("dead", recordIDs(g.list(store.Dead, 10)), ids[3:])
	g.wantEqual("stats", g.stats().Dead, int64(2))
	g.wantGone(byID(ids[0]), byID(ids[2]))
	g.wantEqual("redrive", g.redrive(ids[2])[0].Code, store.CodeNotFound)
	g.wantState(live, store.Leased)
	g.wantCounters(store.Counters{Sent: 6, Delivered: 6, Rejected: 5, DeadLettered: 5, DeadExpired: 3})
	g.configure(store.Change{MaxDead: pointer(int64(0))})
	g.manyDead(3)
	g.takeNothing("c")
	g.wantEqual("dead without a limit", g.stats().Dead, int64(5))
}

func testDeadByAge(g *rig) {
	const age = 50
	g.manyDead(2)
	g.configure(store.Change{DeadRetention: pointer(int64(age))})
	g.pass(age * time.Millisecond)
	g.configure(store.Change{DeadRetention: pointer(hour)})
	last := g.dead()
	g.takeNothing("c")
	g.wantEqual("dead within the hour", g.stats().Dead, int64(3))
	g.configure(store.Change{DeadRetention: pointer(int64(age))})
	g.takeNothing("c")
	for _, rec := range g.list(store.Dead, 10) { // the last one can be over age by now, too
		g.wantEqual("dead", rec.ID, last)
	}
	g.pass(age * time.Millisecond)
	g.takeNothing("c")
	g.wantGone(byID(last))
	g.wantCounters(store.Counters{Sent: 3, Delivered: 3, Rejected: 3, DeadLettered: 3, DeadExpired: 3})
}

func testDeadByAgeExactly(g *rig) {
	id := g.dead()
	g.configure(store.Change{DeadRetention: pointer(int64(1000))})
	g.h.Advance(999 * time.Millisecond)
	g.takeNothing("c")
	g.wantState(id, store.Dead)
	g.h.Advance(time.Millisecond)
	g.takeNothing("c")
	g.wantGone(byID(id))
}

func testDeadByBoth(g *rig) {
	var ids []store.ID
	for range 6 {
		ids = append(ids, g.dead())
		g.h.Advance(time.Second)
	}
	g.configure(store.Change{DeadRetention: pointer(int64(4000)), MaxDead: pointer(int64(5))})
	g.takeNothing("c")
	g.wantEqual("dead", recordIDs(g.list(store.Dead, 10)), ids[3:])
	g.configure(store.Change{MaxDead: pointer(int64(2))})
	g.takeNothing("c")
	g.wantEqual("dead", recordIDs(g.list(store.Dead, 10)), ids[4:])
}

// The limit is that of the queue: its partitions have equal shares, each at least one.
func testDeadShares(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(3), MaxDead: pointer(int64(7))})
	desks := []*rig{g, g.at(g.p.Queue, 1), g.at(g.p.Queue, 2)}
	for _, k := range desks {
		k.manyDead(4)
		k.takeNothing("c")
		k.wantEqual("dead of a partition", len(k.list(store.Dead, 10)), 2)
	}
	g.configure(store.Change{MaxDead: pointer(int64(1))})
	for _, k := range desks {
		k.takeNothing("c")
	}
	g.wantEqual("dead", g.stats().Dead, int64(3))
}

// A key does not find dead messages that were removed, and still finds those that stay.
func testKeysOfTheRemoved(g *rig) {
	g.manyDead(3, key("k"))
	g.manyDead(1, key("gone"))
	ids := g.manyDead(2, key("k"))
	g.dead()
	g.configure(store.Change{MaxDead: pointer(int64(2))})
	g.takeNothing("c")
	g.wantFound("k", ids[len(ids)-1], store.Dead)
	g.wantGone(byKey("gone"))
	g.configure(store.Change{MaxDead: pointer(int64(1))})
	g.takeNothing("c")
	g.wantGone(byKey("k"))
	id := g.send(key("k"))
	g.wantFound("k", id, store.Ready)
}

func testVerdictsOnTheRemoved(g *rig) {
	g.configure(store.Change{Create: true, MaxDead: pointer(int64(1))})
	g.send(attempts(1))
	r := g.take("c").Receipt
	g.wantSettled(store.Nack, r, store.CodeDead)
	g.dead()
	g.takeNothing("c")
	g.wantSettled(store.Nack, r, store.CodeGone)
	g.wantSettled(store.Ack, r, store.CodeGone)
}

// One claim removes some hundred; while there are more, its Wait is short.
func testDeadInSteps(g *rig) {
	const n, bound, left = 1200, 500, 100
	g.sendMany(n)
	for batch := range slices.Chunk(g.drain("c", store.MaxBatch), store.MaxBatch) {
		r := store.SettleRequest{Verdict: store.Reject}
		for _, v := range batch {
			r.Items = append(r.Items, store.Settlement{Receipt: v.Receipt})
		}
		g.settleAs(r)
	}
	ids := recordIDs(g.list(store.Dead, store.MaxListLimit))
	g.configure(store.Change{MaxDead: pointer(int64(left))})
	for i, removed := range []int64{bound, 2 * bound, n - left} {
		wait := g.takeNothing("c").Wait
		g.wantEqual(fmt.Sprintf("removed by %d claims", i+1), g.stats().Counters.DeadExpired, removed)
		if more := i < 2; more != (wait <= 100*time.Millisecond) {
			g.t.Fatalf("wait after claim %d: %v", i+1, wait)
		}
	}
	g.wantEqual("dead", recordIDs(g.list(store.Dead, store.MaxListLimit)), ids[n-left:])
}
