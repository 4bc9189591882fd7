package storetest

import "github.com/dueq-dev/dueq/store"

// snoozing holds what a snooze is besides a release: it is counted, with a reason.
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

// snooze ends the only delivery that is due with a snooze, and returns its receipt.
func (d *desk) snooze(reason string) store.Settlement {
	d.t.Helper()
	item := store.Settlement{Receipt: d.take("c").Receipt, Failure: reason}
	d.wantCodes("snooze", d.settleAs(store.SettleRequest{Verdict: store.Snooze, Items: []store.Settlement{item}}), store.CodeOK)
	return item
}

func testSnoozeCountsNoFailure(d *desk) {
	id := d.send(attempts(1))
	for i := range 10 {
		v := d.take("c")
		d.wantEqual("snoozes", v.Snoozes, i)
		d.wantEqual("failures", v.Failures, 0)
		d.wantSettled(store.Snooze, v.Receipt, store.CodeOK)
		d.wantEqual("snoozes of the record", d.wantState(id, store.Ready).Snoozes, i+1)
	}
	d.wantSettled(store.Nack, d.takeOf(id), store.CodeDead)
	d.wantEqual("snoozes of the dead", d.wantState(id, store.Dead).Snoozes, 10)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 11, Snoozed: 10, Nacked: 1, DeadLettered: 1})
}

func testSnoozeReason(d *desk) {
	id := d.send()
	d.snooze("too early")
	d.wantEqual("reason", d.get(byID(id)).LastFailure, "too early")
	d.snooze("")
	d.wantEqual("reason", d.get(byID(id)).LastFailure, "too early")
	d.snooze("busy")
	d.wantEqual("reason in a list", d.list(store.Ready, 10)[0].LastFailure, "busy")
}

func testSnoozeRepeated(d *desk) {
	id := d.send()
	item := d.snooze("busy")
	for range 3 {
		d.wantSettled(store.Snooze, item.Receipt, store.CodeOK)
		d.wantSettled(store.Release, item.Receipt, store.CodeLeaseLost)
	}
	d.wantEqual("snoozes", d.get(byID(id)).Snoozes, 1)
	d.take("c")
	d.wantSettled(store.Snooze, item.Receipt, store.CodeOK)
	d.wantEqual("snoozed", d.stats().Counters.Snoozed, int64(1))
}

func testSnoozeCountKept(d *desk) {
	id := d.send(key("k"))
	d.snooze("busy")
	d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
	d.snooze("busy")
	d.wantSettled(store.Release, d.take("c").Receipt, store.CodeOK)
	d.takeFor("c", shortLease)
	d.runOut()
	v := d.take("c")
	d.wantEqual("snoozes", v.Snoozes, 2)
	d.wantEqual("failures", v.Failures, 1)
	d.wantEqual("suspicion", v.Suspicion, store.Suspect)
	d.start(longLease, v.Receipt)
	d.wantEqual("snoozes of the leased", d.wantState(id, store.Leased).Snoozes, 2)
	d.wantSettled(store.Reject, v.Receipt, store.CodeOK)
	rec := d.wantState(id, store.Dead)
	d.wantEqual("snoozes, failures", []int{rec.Snoozes, rec.Failures}, []int{2, 2})
}

func testSnoozeRedrive(d *desk) {
	id := d.send()
	d.snooze("busy")
	d.wantSettled(store.Reject, d.take("c").Receipt, store.CodeOK)
	d.wantPushed(d.redrive(id), store.CodeOK)
	d.wantEqual("snoozes", d.get(byID(id)).Snoozes, 0)
	d.wantEqual("snoozes delivered", d.take("c").Snoozes, 0)
}

func testSnoozeRepeatedClaim(d *desk) {
	d.send()
	plain := d.send()
	d.wantSettled(store.Snooze, d.take("c").Receipt, store.CodeOK)
	r := d.claimRequest("c", 10)
	first := d.claimAs(r).Deliveries
	d.wantEqual("claimed", len(first), 2)
	for _, v := range first {
		want := 1
		if v.Receipt.ID == plain {
			want = 0
		}
		d.wantEqual("snoozes", v.Snoozes, want)
	}
	d.wantEqual("repeated", d.claimAs(r).Deliveries, first)
}

// The verdict says that a handler has returned, recorded or not.
func testSnoozeClears(d *desk) {
	id := d.send()
	d.lose(id, false)
	v := d.take("c")
	d.wantEqual("suspicion", v.Suspicion, store.Suspect)
	d.wantSettled(store.Snooze, v.Receipt, store.CodeOK)
	d.wantEqual("suspicion after a snooze", d.take("c").Suspicion, store.Unsuspected)
}

func testSnoozeReopen(d *desk) {
	id := d.send()
	item := d.snooze("busy")
	d.s = d.h.Reopen(d.t)
	rec := d.wantState(id, store.Ready)
	d.wantEqual("snoozes", rec.Snoozes, 1)
	d.wantEqual("reason", rec.LastFailure, "busy")
	d.wantSettled(store.Snooze, item.Receipt, store.CodeOK)
	d.wantEqual("snoozed", d.stats().Counters.Snoozed, int64(1))
}
