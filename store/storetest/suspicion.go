package storetest

import (
	"github.com/dueq-dev/dueq/store"
)

// onlyTheStartedFail holds the part of promise 9 that a store decides about a message
// whose handler ends its process.
func onlyTheStartedFail() []testCase {
	return []testCase{
		{"LeaseOfAnUnstartedDeliveryCostsNothing", "", testUnstartedCostsNothing},
		{"LeaseOfAStartedDeliveryIsAFailure", "", testStartedIsAFailure},
		{"MessageThatKillsItsHolders", "", testKiller},
		{"CrashedMessagesComeBackApart", "", testCrashedApart},
		{"StartIsOfOneDelivery", "", testStartOfOneDelivery},
		{"AHandlerThatReturnsClearsItsMessage", "", testReturnClears},
		{"ReleaseBeforeStartClearsNothing", "", testReleaseKeepsSuspicion},
		{"CrashedStaysCrashedUntilItIsStarted", "", testCrashedStays},
		{"RepeatedClaimHasTheSameSuspicion", "", testSuspicionRepeated},
		{"StartSurvivesReopen", reopening, testStartReopened},
		{"StartOfManyAtOnce", "", testStartMany},
	}
}

// lose has the message, which must be due, claimed and its lease run out, after a start or
// not, and returns the delivery. It is put back, and due at once.
func (d *desk) lose(id store.ID, start bool) store.Delivery {
	d.t.Helper()
	v := d.takeFor("dying", shortLease)
	d.wantEqual("claimed", v.Receipt.ID, id)
	if start {
		d.start(shortLease, v.Receipt)
	}
	d.putBack()
	if d.get(byID(id)).State != store.Dead {
		d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id)}), store.CodeOK)
	}
	return v
}

// start records that handlers are about to run.
func (d *desk) start(lease int64, rs ...store.Receipt) {
	d.t.Helper()
	items := make([]store.Settlement, len(rs))
	for i, r := range rs {
		items[i] = store.Settlement{Receipt: r, Delay: lease}
	}
	for i, code := range d.settleAs(store.SettleRequest{Verdict: Start, Items: items}) {
		if code != store.CodeOK {
			d.t.Fatalf("start of %v: %v", rs[i], code)
		}
	}
}

// putBack lets leases run out and has a claim put the messages back; it hands out nothing,
// for the queue is paused meanwhile.
func (d *desk) putBack() {
	d.t.Helper()
	d.runOut()
	d.configure(store.Change{Paused: pointer(true)})
	d.takeNothing("sweeper")
	d.configure(store.Change{Paused: pointer(false)})
}

func testUnstartedCostsNothing(d *desk) {
	id := d.send(attempts(1))
	for i := range 5 {
		v := d.lose(id, false)
		want := store.Suspect
		if i == 0 {
			want = store.Unsuspected
		}
		d.wantEqual("attempt", v.Receipt.Attempt, i+1)
		d.wantEqual("failures", v.Failures, 0)
		d.wantEqual("suspicion", v.Suspicion, want)
	}
	d.wantEqual("failures", d.wantState(id, store.Ready).Failures, 0)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 5, LeaseLost: 5})
}

func testStartedIsAFailure(d *desk) {
	once, twice := d.send(attempts(1)), d.send(attempts(2), key("k"))
	var rs []store.Receipt
	for range 2 {
		rs = append(rs, d.takeFor("dying", shortLease).Receipt)
	}
	d.start(shortLease, rs...)
	d.putBack()
	rec := d.wantState(once, store.Dead)
	d.wantEqual("failures", rec.Failures, 1)
	d.wantEqual("text", rec.LastFailure, "lease ran out")
	d.wantEqual("failures", d.get(byKey("k")).Failures, 1)
	v := d.await("living")
	d.wantEqual("receipt", v.Receipt, store.Receipt{ID: twice, Attempt: 2, Keyed: true})
	d.wantEqual("failures", v.Failures, 1)
	d.wantEqual("suspicion", v.Suspicion, store.Crashed)
	d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	d.wantCounters(store.Counters{Sent: 2, Delivered: 3, LeaseLost: 2, DeadLettered: 1, Acked: 1})
}

// A consumer starts what is suspect or on its last attempt, so the killer has one delivery
// more than it may have failures.
func testKiller(d *desk) {
	killer := d.send(attempts(3))
	for i := range 4 {
		v := d.lose(killer, i > 0)
		d.wantEqual("receipt", v.Receipt, store.Receipt{ID: killer, Attempt: i + 1})
		d.wantEqual("failures", v.Failures, max(0, i-1))
	}
	others := d.sendMany(3)
	d.wantEqual("the others flow", deliveredIDs(d.claim("c", 10).Deliveries), others)
	rec := d.wantState(killer, store.Dead)
	d.wantEqual("attempts", rec.Attempt, 4)
	d.wantEqual("failures", rec.Failures, 3)
	d.wantCounters(store.Counters{Sent: 4, Delivered: 7, LeaseLost: 4, DeadLettered: 1})
}

// What crashed in the same sweep is due again at the instants that the port defines.
func testCrashedApart(d *desk) {
	const n = 50
	ids := d.sendMany(n)
	r := d.claimRequest("dying", n)
	r.Lease = shortLease
	got := receipts(d.claimAs(r).Deliveries)
	d.wantEqual("claimed", len(got), n)
	d.start(shortLease, got...)
	d.putBack()
	swept := d.get(byID(ids[0])).At - store.CrashDelay(ids[0], 1, 1)
	instants := map[int64]bool{}
	for _, id := range ids {
		at := d.get(byID(id)).At
		d.wantEqual("due after the sweep", at-swept, store.CrashDelay(id, 1, 1))
		instants[at] = true
	}
	if len(instants) < n/4 {
		d.t.Fatalf("%d messages that crashed together are due at %d instants", n, len(instants))
	}
}

func testStartOfOneDelivery(d *desk) {
	id := d.send()
	v := d.take("a")
	d.start(longLease, v.Receipt)
	d.wantSettled(store.Release, v.Receipt, store.CodeOK)
	d.lose(id, false)
	d.wantEqual("failures", d.wantState(id, store.Ready).Failures, 0)
	d.wantSettled(Start, v.Receipt, store.CodeLeaseLost)
	d.wantSettled(store.Ack, d.take("a").Receipt, store.CodeOK)
	d.wantSettled(Start, v.Receipt, store.CodeGone)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 3, Released: 1, LeaseLost: 1, Acked: 1})
}

func testReturnClears(d *desk) {
	for _, verdict := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again} {
		id := d.send()
		d.lose(id, true)
		v := d.take("c")
		d.wantEqual("suspicion", v.Suspicion, store.Crashed)
		d.start(longLease, v.Receipt)
		d.wantSettled(verdict, v.Receipt, store.CodeOK)
		v = d.take("c")
		d.wantEqual("suspicion after "+string(verdict), v.Suspicion, store.Unsuspected)
		d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
}

// A consumer that stops gives back what it has not started.
func testReleaseKeepsSuspicion(d *desk) {
	id := d.send(key("k"))
	for _, want := range []store.Suspicion{store.Suspect, store.Crashed} {
		d.lose(id, want == store.Crashed)
		for range 2 {
			v := d.take("c")
			d.wantEqual("suspicion", v.Suspicion, want)
			d.wantSettled(store.Release, v.Receipt, store.CodeOK)
			d.wantSettled(store.Release, v.Receipt, store.CodeOK)
		}
	}
}

func testCrashedStays(d *desk) {
	id := d.send(attempts(5))
	d.lose(id, true)
	for range 3 {
		v := d.lose(id, false)
		d.wantEqual("failures", v.Failures, 1)
		d.wantEqual("suspicion", v.Suspicion, store.Crashed)
	}
	v := d.take("killer")
	d.wantSettled(store.Reject, v.Receipt, store.CodeOK)
	d.wantPushed(d.redrive(id), store.CodeOK)
	d.wantEqual("suspicion after its handler returned", d.take("c").Suspicion, store.Unsuspected)
}

func testSuspicionRepeated(d *desk) {
	id := d.send(attempts(1))
	other := d.send()
	d.lose(id, false)
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id), Delay: hour}), store.CodeOK)
	d.lose(other, true)
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id)}), store.CodeOK)
	r := d.claimRequest("c", 5)
	first := d.claimAs(r).Deliveries
	got := map[store.ID]store.Suspicion{}
	for _, v := range first {
		got[v.Receipt.ID] = v.Suspicion
	}
	d.wantEqual("suspicions", got, map[store.ID]store.Suspicion{id: store.Suspect, other: store.Crashed})
	for range 2 {
		d.wantEqual("repeated", d.claimAs(r).Deliveries, first)
		d.start(longLease, receipts(first)...)
	}
}

func testStartReopened(d *desk) {
	id := d.send(attempts(1))
	d.start(shortLease, d.takeFor("dying", shortLease).Receipt)
	d.s = d.h.Reopen(d.t)
	d.putBack()
	d.wantState(id, store.Dead)
}

func testStartMany(d *desk) {
	ids := d.sendMany(store.MaxBatch, attempts(1))
	r := d.claimRequest("dying", store.MaxBatch)
	r.Lease = shortLease
	var got []store.Receipt
	for len(got) < len(ids) { // the reply of one claim is bounded
		got = append(got, receipts(d.claimAs(r).Deliveries)...)
		r.Number = d.number("dying")
	}
	d.start(shortLease, got...)
	d.start(shortLease, got...)
	d.runOut()
	for range ids {
		d.takeNothing("sweeper")
		if d.stats().Dead == int64(len(ids)) {
			break
		}
	}
	d.wantEqual("dead", d.stats().Dead, int64(len(ids)))
}
