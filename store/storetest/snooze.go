package storetest

import "github.com/dueq-dev/dueq/store"

// snoozing are the tests of Snooze: like a release, but counted and with a reason.
func snoozing() []testCase {
	return []testCase{
		{"CountsNoFailure", "", testSnoozeCountsNoFailure},
		{"ReasonIsKept", "", testSnoozeReason},
		{"RepeatCountsOnce", "", testSnoozeRepeated},
		{"CountIsKeptByOtherEndings", "", testSnoozeCountKept},
		{"RedriveForgetsSnoozes", "", testSnoozeRedrive},
		{"RepeatedClaimHasTheCount", "", testSnoozeRepeatedClaim},
		{"BeforeTheStartClearsSuspicion", "", testSnoozeClears},
		{"SurvivesReopen", reopening, testSnoozeReopen},
	}
}

// snooze claims the only message that is due, snoozes it, and returns its receipt.
func (g *rig) snooze(reason string) store.Settlement {
	g.t.Helper()
	item := store.Settlement{Receipt: g.take("c").Receipt, Failure: reason}
	g.wantCodes("snooze", g.settleAs(store.SettleRequest{Verdict: store.Snooze, Items: []store.Settlement{item}}), store.CodeOK)
	return item
}

func testSnoozeCountsNoFailure(g *rig) {
	id := g.send(attempts(1))
	for i := range 10 {
		v := g.take("c")
		g.wantEqual("snoozes", v.Snoozes, i)
		g.wantEqual("failures", v.Failures, 0)
		g.wantSettled(store.Snooze, v.Receipt, store.CodeOK)
		g.wantEqual("snoozes of the record", g.wantState(id, store.Ready).Snoozes, i+1)
	}
	g.wantSettled(store.Nack, g.takeOf(id), store.CodeDead)
	g.wantEqual("snoozes of the dead", g.wantState(id, store.Dead).Snoozes, 10)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 11, Snoozed: 10, Nacked: 1, DeadLettered: 1})
}

func testSnoozeReason(g *rig) {
	id := g.send()
	g.snooze("too early")
	g.wantEqual("reason", g.get(byID(id)).LastFailure, "too early")
	g.snooze("")
	g.wantEqual("reason", g.get(byID(id)).LastFailure, "too early")
	g.snooze("busy")
	g.wantEqual("reason in a list", g.list(store.Ready, 10)[0].LastFailure, "busy")
}

func testSnoozeRepeated(g *rig) {
	id := g.send()
	item := g.snooze("busy")
	for range 3 {
		g.wantSettled(store.Snooze, item.Receipt, store.CodeOK)
		g.wantSettled(store.Release, item.Receipt, store.CodeLeaseLost)
	}
	g.wantEqual("snoozes", g.get(byID(id)).Snoozes, 1)
	g.take("c")
	g.wantSettled(store.Snooze, item.Receipt, store.CodeOK)
	g.wantEqual("snoozed", g.stats().Counters.Snoozed, int64(1))
}

func testSnoozeCountKept(g *rig) {
	id := g.send(key("k"))
	g.snooze("busy")
	g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
	g.snooze("busy")
	g.wantSettled(store.Release, g.take("c").Receipt, store.CodeOK)
	g.takeFor("c", shortLease)
	g.runOut()
	v := g.take("c")
	g.wantEqual("snoozes", v.Snoozes, 2)
	g.wantEqual("failures", v.Failures, 1)
	g.wantEqual("suspicion", v.Suspicion, store.Suspect)
	g.start(longLease, v.Receipt)
	g.wantEqual("snoozes of the leased", g.wantState(id, store.Leased).Snoozes, 2)
	g.wantSettled(store.Reject, v.Receipt, store.CodeOK)
	rec := g.wantState(id, store.Dead)
	g.wantEqual("snoozes, failures", []int{rec.Snoozes, rec.Failures}, []int{2, 2})
}

func testSnoozeRedrive(g *rig) {
	id := g.send()
	g.snooze("busy")
	g.wantSettled(store.Reject, g.take("c").Receipt, store.CodeOK)
	g.wantPushed(g.redrive(id), store.CodeOK)
	g.wantEqual("snoozes", g.get(byID(id)).Snoozes, 0)
	g.wantEqual("snoozes delivered", g.take("c").Snoozes, 0)
}

func testSnoozeRepeatedClaim(g *rig) {
	g.send()
	plain := g.send()
	g.wantSettled(store.Snooze, g.take("c").Receipt, store.CodeOK)
	r := g.claimRequest("c", 10)
	first := g.claimAs(r).Deliveries
	g.wantEqual("claimed", len(first), 2)
	for _, v := range first {
		want := 1
		if v.Receipt.ID == plain {
			want = 0
		}
		g.wantEqual("snoozes", v.Snoozes, want)
	}
	g.wantEqual("repeated", g.claimAs(r).Deliveries, first)
}

// A snooze shows that the handler has returned, also when its start was not recorded.
func testSnoozeClears(g *rig) {
	id := g.send()
	g.lose(id, false)
	v := g.take("c")
	g.wantEqual("suspicion", v.Suspicion, store.Suspect)
	g.wantSettled(store.Snooze, v.Receipt, store.CodeOK)
	g.wantEqual("suspicion after a snooze", g.take("c").Suspicion, store.Unsuspected)
}

func testSnoozeReopen(g *rig) {
	id := g.send()
	item := g.snooze("busy")
	g.s = g.h.Reopen(g.t)
	rec := g.wantState(id, store.Ready)
	g.wantEqual("snoozes", rec.Snoozes, 1)
	g.wantEqual("reason", rec.LastFailure, "busy")
	g.wantSettled(store.Snooze, item.Receipt, store.CodeOK)
	g.wantEqual("snoozed", g.stats().Counters.Snoozed, int64(1))
}
