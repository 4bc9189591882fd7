package storetest

import "github.com/dueq-dev/dueq/store"

// definiteCancel are the tests of Cancel.
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
		cases = append(cases, testCase{"RunningThen/" + string(v), "", func(g *rig) { testCancelThenSettle(g, v) }})
	}
	return cases
}

func testCancelByID(g *rig) {
	scheduled, ready := g.send(delay(hour)), g.send(key("k"))
	g.wantCodes("cancel", g.cancel(byID(scheduled)), store.CodeOK)
	g.wantCodes("cancel", g.cancel(byID(ready)), store.CodeOK)
	g.wantCodes("cancel repeated", g.cancel(byID(ready)), store.CodeNotFound)
	g.wantGone(byID(scheduled), byID(ready), byKey("k"))
	g.takeNothing("c")
	g.wantCounters(store.Counters{Sent: 2, Cancelled: 2})
}

func testCancelByKey(g *rig) {
	id := g.send(key("k"), delay(hour))
	g.wantCodes("cancel of another key", g.cancel(byKey("K")), store.CodeNotFound)
	g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeOK)
	g.wantCodes("cancel repeated", g.cancel(byKey("k")), store.CodeNotFound)
	g.wantGone(byID(id))
	g.dead(key("k"))
	g.wantCodes("cancel by a dead message's key", g.cancel(byKey("k")), store.CodeDead)
}

func testCancelDead(g *rig) {
	id := g.dead()
	g.wantCodes("cancel", g.cancel(byID(id), byID(g.message().ID)), store.CodeDead, store.CodeNotFound)
	g.wantState(id, store.Dead)
	g.wantSettled(store.Ack, g.takeOf(g.send()), store.CodeOK)
	g.wantEqual("cancelled", g.stats().Counters.Cancelled, int64(0))
}

// A cancel that may remove dead messages cancels live ones, too.
func testCancelDeadToo(g *rig) {
	dead, keyed := g.dead(), g.dead(key("k"))
	running := g.send()
	g.takeOf(running)
	waiting, unknown := g.send(delay(hour), key("k")), g.message().ID
	refs := []store.Ref{byID(dead), byID(waiting), byID(running), byID(dead), byID(unknown), byID(keyed)}
	r := store.CancelRequest{Caller: "m", Number: 1, Refs: refs, Dead: true}
	want := []store.Code{store.CodeOK, store.CodeOK, store.CodeRunning, store.CodeNotFound, store.CodeNotFound, store.CodeOK}
	g.wantCodes("cancel", g.cancelAs(r), want...)
	g.wantCodes("cancel again", g.cancelAs(r), want...)
	g.wantGone(byID(dead), byID(keyed), byID(waiting), byKey("k"))
	g.wantCounters(store.Counters{Sent: 4, Delivered: 3, Rejected: 2, DeadLettered: 2, Cancelled: 1, Purged: 2})
}

// takeOf claims the only message that is due, which must be id.
func (g *rig) takeOf(id store.ID) store.Receipt {
	g.t.Helper()
	r := g.take("c").Receipt
	g.wantEqual("claimed", r.ID, id)
	return r
}

func testCancelBatch(g *rig) {
	leased := g.send()
	g.takeOf(leased)
	scheduled, ready, dead := g.send(delay(hour)), g.send(key("k"), delay(hour)), g.message().ID
	g.wantCodes("cancel", g.cancel(byID(leased), byID(scheduled), byKey("k"), byID(ready), byID(dead), byID(leased), byID(scheduled)),
		store.CodeRunning, store.CodeOK, store.CodeOK, store.CodeNotFound, store.CodeNotFound, store.CodeRunning, store.CodeNotFound)
	if rec := g.wantState(leased, store.Leased); !rec.Cancelling {
		g.t.Fatalf("record of a running message does not say that it is to be cancelled")
	}
	g.wantCounters(store.Counters{Sent: 3, Delivered: 1, Cancelled: 2})
}

func testCancelThenSettle(g *rig, v store.Verdict) {
	id := g.send(key("k"))
	r := g.takeOf(id)
	g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeRunning)
	g.wantSettled(v, r, store.CodeCancelled)
	g.wantGone(byID(id), byKey("k"))
	g.wantSettled(v, r, store.CodeGone)
	g.takeNothing("c")
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, Cancelled: 1})
}

func testCancelThenAck(g *rig) {
	id := g.send()
	r := g.takeOf(id)
	g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
	g.wantSettled(store.Ack, r, store.CodeOK)
	g.wantCodes("cancel of a done message", g.cancel(byID(id)), store.CodeNotFound)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, Acked: 1})
}

func testCancelThenExtend(g *rig) {
	id := g.send()
	r := g.takeFor("c", shortLease).Receipt
	at := g.get(byID(id)).At
	g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
	g.wantSettled(Extend, r, store.CodeCancelled)
	if got := g.wantState(id, store.Leased).At; got < at+longLease-shortLease {
		g.t.Fatalf("lease ends at %d, before at %d: not extended", got, at)
	}
	g.wantSettled(store.Ack, r, store.CodeOK)
}

func testCancelThenCrash(g *rig) {
	id := g.send(key("k"))
	r := g.takeFor("c", shortLease).Receipt
	g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
	g.runOut()
	g.takeNothing("other")
	g.wantGone(byID(id), byKey("k"))
	for _, v := range verdicts {
		g.wantSettled(v, r, store.CodeGone)
	}
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, LeaseLost: 1, Cancelled: 1})
}

func testCancelThenRepeatedClaim(g *rig) {
	id := g.send()
	r := g.claimRequest("c", 1)
	first := g.claimAs(r)
	g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
	g.wantEqual("repeated", g.claimAs(r).Deliveries, first.Deliveries)
	g.wantSettled(store.Release, first.Deliveries[0].Receipt, store.CodeCancelled)
}

// definiteReschedule are the tests of Reschedule.
func definiteReschedule() []testCase {
	return []testCase{
		{"EveryState", "", testRescheduleStates},
		{"ByKey", "", testRescheduleByKey},
		{"TooFar", "", testRescheduleTooFar},
		{"KeepsTheOrderOfDueTimes", "", testRescheduleOrder},
		{"KeepsAttemptsAndExpiry", "", testRescheduleKeeps},
	}
}

func testRescheduleStates(g *rig) {
	leased := g.send()
	g.takeOf(leased)
	dead := g.dead()
	scheduled := g.send(delay(hour))
	ready := g.send()
	before := g.get(byID(leased))
	g.wantCodes("reschedule", g.reschedule(
		store.Move{Ref: byID(scheduled)}, store.Move{Ref: byID(ready), Delay: hour}, store.Move{Ref: byID(leased), Delay: hour},
		store.Move{Ref: byID(dead), Delay: hour}, store.Move{Ref: byID(g.message().ID), Delay: hour},
	), store.CodeOK, store.CodeOK, store.CodeRunning, store.CodeDead, store.CodeNotFound)
	g.wantState(scheduled, store.Ready)
	g.wantState(ready, store.Scheduled)
	g.wantEqual("running message", g.get(byID(leased)), before)
	g.wantState(dead, store.Dead)
	g.takeOf(scheduled)
	g.takeNothing("c")
}

func testRescheduleByKey(g *rig) {
	id := g.send(key("k"), delay(hour))
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byKey("k")}, store.Move{Ref: byKey("K")}), store.CodeOK, store.CodeNotFound)
	g.wantSettled(store.Reject, g.takeOf(id), store.CodeOK)
	g.wantCodes("reschedule by a dead message's key", g.reschedule(store.Move{Ref: byKey("k")}), store.CodeDead)
}

func testRescheduleTooFar(g *rig) {
	far := g.farFuture()
	leased := g.send()
	g.takeOf(leased)
	id := g.send()
	g.wantCodes("reschedule", g.reschedule(
		store.Move{Ref: byID(id), Due: far}, store.Move{Ref: byID(leased), Due: far}, store.Move{Ref: byID(g.message().ID), Due: far},
	), store.CodeTooFar, store.CodeRunning, store.CodeNotFound)
	g.wantState(id, store.Ready)
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id), Due: far - 2*hour}), store.CodeOK)
	g.wantEqual("due", g.wantState(id, store.Scheduled).At, far-2*hour)
}

func testRescheduleOrder(g *rig) {
	base := g.get(byID(g.send(delay(hour)))).At
	ids := g.sendMany(5, delay(2*hour))
	want := []store.ID{ids[3], ids[1], ids[4], ids[0], ids[2]}
	for i, id := range want {
		g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id), Due: base + int64(i) + 1}), store.CodeOK)
	}
	g.wantEqual("order", recordIDs(g.list(store.Scheduled, 2))[1:], want)
}

func testRescheduleKeeps(g *rig) {
	id := g.send(ttl(2*hour), key("k"))
	g.wantSettled(store.Nack, g.takeOf(id), store.CodeOK)
	before := g.get(byID(id))
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id), Delay: hour}), store.CodeOK)
	after := g.get(byID(id))
	before.At, before.State = after.At, store.Scheduled
	g.wantEqual("record", after, before)
}
