package storetest

import "github.com/dueq-dev/dueq/store"

// definiteCancel holds promise 6 for cancels.
func definiteCancel() []testCase {
	cases := []testCase{
		{"ByID", "", testCancelByID},
		{"ByKey", "", testCancelByKey},
		{"DeadOrUnknown", "", testCancelDead},
		{"DeadOnRequest", "", testCancelDeadToo},
		{"Batch", "", testCancelBatch},
		{"RunningThenAck", "", testCancelThenAck},
		{"RunningThenExtend", "", testCancelThenExtend},
		{"RunningThenHolderDies", "", testCancelThenCrash},
		{"RunningIsSeenAgainByARepeatedClaim", "", testCancelThenRepeatedClaim},
	}
	for _, v := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again, store.Reject} {
		cases = append(cases, testCase{"RunningThen/" + string(v), "", func(d *desk) { testCancelThenSettle(d, v) }})
	}
	return cases
}

func testCancelByID(d *desk) {
	scheduled, ready := d.send(delay(hour)), d.send(key("k"))
	d.wantCodes("cancel", d.cancel(byID(scheduled)), store.CodeOK)
	d.wantCodes("cancel", d.cancel(byID(ready)), store.CodeOK)
	d.wantCodes("cancel repeated", d.cancel(byID(ready)), store.CodeNotFound)
	d.wantGone(byID(scheduled), byID(ready), byKey("k"))
	d.takeNothing("c")
	d.wantCounters(store.Counters{Sent: 2, Cancelled: 2})
}

func testCancelByKey(d *desk) {
	id := d.send(key("k"), delay(hour))
	d.wantCodes("cancel of another key", d.cancel(byKey("K")), store.CodeNotFound)
	d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeOK)
	d.wantCodes("cancel repeated", d.cancel(byKey("k")), store.CodeNotFound)
	d.wantGone(byID(id))
	d.dead(key("k"))
	d.wantCodes("cancel by a dead message's key", d.cancel(byKey("k")), store.CodeDead)
}

func testCancelDead(d *desk) {
	id := d.dead()
	d.wantCodes("cancel", d.cancel(byID(id), byID(d.message().ID)), store.CodeDead, store.CodeNotFound)
	d.wantState(id, store.Dead)
	d.wantSettled(store.Ack, d.takeOf(d.send()), store.CodeOK)
	d.wantEqual("cancelled", d.stats().Counters.Cancelled, int64(0))
}

// A cancel that is to remove dead messages does so beside what else it does.
func testCancelDeadToo(d *desk) {
	dead, keyed := d.dead(), d.dead(key("k"))
	running := d.send()
	d.takeOf(running)
	waiting, unknown := d.send(delay(hour), key("k")), d.message().ID
	refs := []store.Ref{byID(dead), byID(waiting), byID(running), byID(dead), byID(unknown), byID(keyed)}
	r := store.CancelRequest{Caller: "m", Number: 1, Refs: refs, Dead: true}
	want := []store.Code{store.CodeOK, store.CodeOK, store.CodeRunning, store.CodeNotFound, store.CodeNotFound, store.CodeOK}
	d.wantCodes("cancel", d.cancelAs(r), want...)
	d.wantCodes("cancel again", d.cancelAs(r), want...)
	d.wantGone(byID(dead), byID(keyed), byID(waiting), byKey("k"))
	d.wantCounters(store.Counters{Sent: 4, Delivered: 3, Rejected: 2, DeadLettered: 2, Cancelled: 1, Purged: 2})
}

// takeOf claims the only message that is due, which must be id.
func (d *desk) takeOf(id store.ID) store.Receipt {
	d.t.Helper()
	r := d.take("c").Receipt
	d.wantEqual("claimed", r.ID, id)
	return r
}

func testCancelBatch(d *desk) {
	leased := d.send()
	d.takeOf(leased)
	scheduled, ready, dead := d.send(delay(hour)), d.send(key("k"), delay(hour)), d.message().ID
	d.wantCodes("cancel", d.cancel(byID(leased), byID(scheduled), byKey("k"), byID(ready), byID(dead), byID(leased), byID(scheduled)),
		store.CodeRunning, store.CodeOK, store.CodeOK, store.CodeNotFound, store.CodeNotFound, store.CodeRunning, store.CodeNotFound)
	if rec := d.wantState(leased, store.Leased); !rec.Cancelling {
		d.t.Fatalf("record of a running message does not say that it is to be cancelled")
	}
	d.wantCounters(store.Counters{Sent: 3, Delivered: 1, Cancelled: 2})
}

func testCancelThenSettle(d *desk, v store.Verdict) {
	id := d.send(key("k"))
	r := d.takeOf(id)
	d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeRunning)
	d.wantSettled(v, r, store.CodeCancelled)
	d.wantGone(byID(id), byKey("k"))
	d.wantSettled(v, r, store.CodeGone)
	d.takeNothing("c")
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, Cancelled: 1})
}

func testCancelThenAck(d *desk) {
	id := d.send()
	r := d.takeOf(id)
	d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
	d.wantSettled(store.Ack, r, store.CodeOK)
	d.wantCodes("cancel of a done message", d.cancel(byID(id)), store.CodeNotFound)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, Acked: 1})
}

func testCancelThenExtend(d *desk) {
	id := d.send()
	r := d.takeFor("c", shortLease).Receipt
	at := d.get(byID(id)).At
	d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
	d.wantSettled(Extend, r, store.CodeCancelled)
	if got := d.wantState(id, store.Leased).At; got < at+longLease-shortLease {
		d.t.Fatalf("lease ends at %d, before at %d: not extended", got, at)
	}
	d.wantSettled(store.Ack, r, store.CodeOK)
}

func testCancelThenCrash(d *desk) {
	id := d.send(key("k"))
	r := d.takeFor("c", shortLease).Receipt
	d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
	d.runOut()
	d.takeNothing("other")
	d.wantGone(byID(id), byKey("k"))
	for _, v := range verdicts {
		d.wantSettled(v, r, store.CodeGone)
	}
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, LeaseLost: 1, Cancelled: 1})
}

func testCancelThenRepeatedClaim(d *desk) {
	id := d.send()
	r := d.claimRequest("c", 1)
	first := d.claimAs(r)
	d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
	d.wantEqual("repeated", d.claimAs(r).Deliveries, first.Deliveries)
	d.wantSettled(store.Release, first.Deliveries[0].Receipt, store.CodeCancelled)
}

// definiteReschedule holds promise 6 for reschedules.
func definiteReschedule() []testCase {
	return []testCase{
		{"EveryState", "", testRescheduleStates},
		{"ByKey", "", testRescheduleByKey},
		{"TooFar", "", testRescheduleTooFar},
		{"KeepsTheOrderOfDueTimes", "", testRescheduleOrder},
		{"KeepsAttemptsAndExpiry", "", testRescheduleKeeps},
	}
}

func testRescheduleStates(d *desk) {
	leased := d.send()
	d.takeOf(leased)
	dead := d.dead()
	scheduled := d.send(delay(hour))
	ready := d.send()
	before := d.get(byID(leased))
	d.wantCodes("reschedule", d.reschedule(
		store.Move{Ref: byID(scheduled)}, store.Move{Ref: byID(ready), Delay: hour}, store.Move{Ref: byID(leased), Delay: hour},
		store.Move{Ref: byID(dead), Delay: hour}, store.Move{Ref: byID(d.message().ID), Delay: hour},
	), store.CodeOK, store.CodeOK, store.CodeRunning, store.CodeDead, store.CodeNotFound)
	d.wantState(scheduled, store.Ready)
	d.wantState(ready, store.Scheduled)
	d.wantEqual("running message", d.get(byID(leased)), before)
	d.wantState(dead, store.Dead)
	d.takeOf(scheduled)
	d.takeNothing("c")
}

func testRescheduleByKey(d *desk) {
	id := d.send(key("k"), delay(hour))
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byKey("k")}, store.Move{Ref: byKey("K")}), store.CodeOK, store.CodeNotFound)
	d.wantSettled(store.Reject, d.takeOf(id), store.CodeOK)
	d.wantCodes("reschedule by a dead message's key", d.reschedule(store.Move{Ref: byKey("k")}), store.CodeDead)
}

func testRescheduleTooFar(d *desk) {
	far := d.farFuture()
	leased := d.send()
	d.takeOf(leased)
	id := d.send()
	d.wantCodes("reschedule", d.reschedule(
		store.Move{Ref: byID(id), Due: far}, store.Move{Ref: byID(leased), Due: far}, store.Move{Ref: byID(d.message().ID), Due: far},
	), store.CodeTooFar, store.CodeRunning, store.CodeNotFound)
	d.wantState(id, store.Ready)
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id), Due: far - 2*hour}), store.CodeOK)
	d.wantEqual("due", d.wantState(id, store.Scheduled).At, far-2*hour)
}

func testRescheduleOrder(d *desk) {
	base := d.get(byID(d.send(delay(hour)))).At
	ids := d.sendMany(5, delay(2*hour))
	want := []store.ID{ids[3], ids[1], ids[4], ids[0], ids[2]}
	for i, id := range want {
		d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id), Due: base + int64(i) + 1}), store.CodeOK)
	}
	d.wantEqual("order", recordIDs(d.list(store.Scheduled, 2))[1:], want)
}

func testRescheduleKeeps(d *desk) {
	id := d.send(ttl(2*hour), key("k"))
	d.wantSettled(store.Nack, d.takeOf(id), store.CodeOK)
	before := d.get(byID(id))
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id), Delay: hour}), store.CodeOK)
	after := d.get(byID(id))
	before.At, before.State = after.At, store.Scheduled
	d.wantEqual("record", after, before)
}
