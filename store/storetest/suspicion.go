package storetest

import (
	"github.com/dueq-dev/dueq/store"
)

// onlyStartedFail tests that a lost lease counts as a failure only if the handler had started.
func onlyStartedFail() []testCase {
	return []testCase{
		{"LeaseOfAnUnstartedDeliveryCostsNothing", "", testUnstartedCostsNothing},
		{"LeaseOfAStartedDeliveryIsAFailure", "", testStartedIsAFailure},
		{"MessageThatEndsItsHolders", "", testMessageThatEndsItsHolders},
		{"CrashedMessagesComeBackApart", "", testCrashedApart},
		{"StartIsOfOneDelivery", "", testStartOfOneDelivery},
		{"HandlerThatReturnsClearsItsMessage", "", testReturnClears},
		{"ReleaseBeforeStartClearsNothing", "", testReleaseKeepsSuspicion},
		{"CrashedStaysCrashedUntilItIsStarted", "", testCrashedStays},
		{"RepeatedClaimHasTheSameSuspicion", "", testSuspicionRepeated},
		{"StartSurvivesReopen", reopening, testStartReopened},
		{"StartOfManyAtOnce", "", testStartMany},
	}
}

// lose claims the message, which must be due, records a start if start is true, and lets the
// lease run out. A claim then puts the message back, due at once. lose returns the delivery.
func (g *rig) lose(id store.ID, start bool) store.Delivery {
	g.t.Helper()
	v := g.takeFor("dying", shortLease)
	g.wantEqual("claimed", v.Receipt.ID, id)
	if start {
		g.start(shortLease, v.Receipt)
	}
	g.putBack()
	if g.get(byID(id)).State != store.Dead {
		g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id)}), store.CodeOK)
	}
	return v
}

// start records that handlers are about to run.
func (g *rig) start(lease int64, rs ...store.Receipt) {
	g.t.Helper()
	items := make([]store.Settlement, len(rs))
	for i, r := range rs {
		items[i] = store.Settlement{Receipt: r, Delay: lease}
	}
	for i, code := range g.settleAs(store.SettleRequest{Verdict: Start, Items: items}) {
		if code != store.CodeOK {
			g.t.Fatalf("start of %v: %v", rs[i], code)
		}
	}
}

// putBack lets leases run out, and a claim that hands out nothing puts the messages back,
// for the queue is paused meanwhile.
func (g *rig) putBack() {
	g.t.Helper()
	g.runOut()
	g.configure(store.Change{Paused: pointer(true)})
	g.takeNothing("sweeper")
	g.configure(store.Change{Paused: pointer(false)})
}

func testUnstartedCostsNothing(g *rig) {
	id := g.send(attempts(1))
	for i := range 5 {
		v := g.lose(id, false)
		want := store.Suspect
		if i == 0 {
			want = store.Unsuspected
		}
		g.wantEqual("attempt", v.Receipt.Attempt, i+1)
		g.wantEqual("failures", v.Failures, 0)
		g.wantEqual("suspicion", v.Suspicion, want)
	}
	g.wantEqual("failures", g.wantState(id, store.Ready).Failures, 0)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 5, LeaseLost: 5})
}

func testStartedIsAFailure(g *rig) {
	once, twice := g.send(attempts(1)), g.send(attempts(2), key("k"))
	var rs []store.Receipt
	for range 2 {
		rs = append(rs, g.takeFor("dying", shortLease).Receipt)
	}
	g.start(shortLease, rs...)
	g.putBack()
	rec := g.wantState(once, store.Dead)
	g.wantEqual("failures", rec.Failures, 1)
	g.wantEqual("text", rec.LastFailure, "lease ran out")
	g.wantEqual("failures", g.get(byKey("k")).Failures, 1)
	v := g.await("living")
	g.wantEqual("receipt", v.Receipt, store.Receipt{ID: twice, Attempt: 2, Keyed: true})
	g.wantEqual("failures", v.Failures, 1)
	g.wantEqual("suspicion", v.Suspicion, store.Crashed)
	g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	g.wantCounters(store.Counters{Sent: 2, Delivered: 3, LeaseLost: 2, DeadLettered: 1, Acked: 1})
}

// A consumer starts what is suspect or on its last attempt, so the killer has one delivery
// more than it may have failures.
func testMessageThatEndsItsHolders(g *rig) {
	killer := g.send(attempts(3))
	for i := range 4 {
		v := g.lose(killer, i > 0)
		g.wantEqual("receipt", v.Receipt, store.Receipt{ID: killer, Attempt: i + 1})
		g.wantEqual("failures", v.Failures, max(0, i-1))
	}
	others := g.sendMany(3)
	g.wantEqual("the others flow", deliveredIDs(g.claim("c", 10).Deliveries), others)
	rec := g.wantState(killer, store.Dead)
	g.wantEqual("attempts", rec.Attempt, 4)
	g.wantEqual("failures", rec.Failures, 3)
	g.wantCounters(store.Counters{Sent: 4, Delivered: 7, LeaseLost: 4, DeadLettered: 1})
}

// What crashed in the same sweep is due again at the instants that the port defines.
func testCrashedApart(g *rig) {
	const n = 50
	ids := g.sendMany(n)
	r := g.claimRequest("dying", n)
	r.Lease = shortLease
	got := receipts(g.claimAs(r).Deliveries)
	g.wantEqual("claimed", len(got), n)
	g.start(shortLease, got...)
	g.putBack()
	swept := g.get(byID(ids[0])).At - store.CrashDelay(ids[0], 1, 1)
	instants := map[int64]bool{}
	for _, id := range ids {
		at := g.get(byID(id)).At
		g.wantEqual("due after the sweep", at-swept, store.CrashDelay(id, 1, 1))
		instants[at] = true
	}
	if len(instants) < n/4 {
		g.t.Fatalf("%d messages that crashed together are due at %d instants", n, len(instants))
	}
}

func testStartOfOneDelivery(g *rig) {
	id := g.send()
	v := g.take("a")
	g.start(longLease, v.Receipt)
	g.wantSettled(store.Release, v.Receipt, store.CodeOK)
	g.lose(id, false)
	g.wantEqual("failures", g.wantState(id, store.Ready).Failures, 0)
	g.wantSettled(Start, v.Receipt, store.CodeLeaseLost)
	g.wantSettled(store.Ack, g.take("a").Receipt, store.CodeOK)
	g.wantSettled(Start, v.Receipt, store.CodeGone)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 3, Released: 1, LeaseLost: 1, Acked: 1})
}

func testReturnClears(g *rig) {
	for _, verdict := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again} {
		id := g.send()
		g.lose(id, true)
		v := g.take("c")
		g.wantEqual("suspicion", v.Suspicion, store.Crashed)
		g.start(longLease, v.Receipt)
		g.wantSettled(verdict, v.Receipt, store.CodeOK)
		v = g.take("c")
		g.wantEqual("suspicion after "+string(verdict), v.Suspicion, store.Unsuspected)
		g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
}

// A consumer that stops gives back what it has not started.
func testReleaseKeepsSuspicion(g *rig) {
	id := g.send(key("k"))
	for _, want := range []store.Suspicion{store.Suspect, store.Crashed} {
		g.lose(id, want == store.Crashed)
		for range 2 {
			v := g.take("c")
			g.wantEqual("suspicion", v.Suspicion, want)
			g.wantSettled(store.Release, v.Receipt, store.CodeOK)
			g.wantSettled(store.Release, v.Receipt, store.CodeOK)
		}
	}
}

func testCrashedStays(g *rig) {
	id := g.send(attempts(5))
	g.lose(id, true)
	for range 3 {
		v := g.lose(id, false)
		g.wantEqual("failures", v.Failures, 1)
		g.wantEqual("suspicion", v.Suspicion, store.Crashed)
	}
	v := g.take("killer")
	g.wantSettled(store.Reject, v.Receipt, store.CodeOK)
	g.wantPushed(g.redrive(id), store.CodeOK)
	g.wantEqual("suspicion after its handler returned", g.take("c").Suspicion, store.Unsuspected)
}

func testSuspicionRepeated(g *rig) {
	id := g.send(attempts(1))
	other := g.send()
	g.lose(id, false)
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id), Delay: hour}), store.CodeOK)
	g.lose(other, true)
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id)}), store.CodeOK)
	r := g.claimRequest("c", 5)
	first := g.claimAs(r).Deliveries
	got := map[store.ID]store.Suspicion{}
	for _, v := range first {
		got[v.Receipt.ID] = v.Suspicion
	}
	g.wantEqual("suspicions", got, map[store.ID]store.Suspicion{id: store.Suspect, other: store.Crashed})
	for range 2 {
		g.wantEqual("repeated", g.claimAs(r).Deliveries, first)
		g.start(longLease, receipts(first)...)
	}
}

func testStartReopened(g *rig) {
	id := g.send(attempts(1))
	g.start(shortLease, g.takeFor("dying", shortLease).Receipt)
	g.s = g.h.Reopen(g.t)
	g.putBack()
	g.wantState(id, store.Dead)
}

func testStartMany(g *rig) {
	ids := g.sendMany(store.MaxBatch, attempts(1))
	r := g.claimRequest("dying", store.MaxBatch)
	r.Lease = shortLease
	var got []store.Receipt
	for len(got) < len(ids) { // the reply of one claim is bounded
		got = append(got, receipts(g.claimAs(r).Deliveries)...)
		r.Number = g.number("dying")
	}
	g.start(shortLease, got...)
	g.start(shortLease, got...)
	g.runOut()
	for range ids {
		g.takeNothing("sweeper")
		if g.stats().Dead == int64(len(ids)) {
			break
		}
	}
	g.wantEqual("dead", g.stats().Dead, int64(len(ids)))
}
