package storetest

import "github.com/dueq-dev/dueq/store"

// idempotentManagement tests that a repeated Cancel, Reschedule, Redrive or Purge returns the answer
// of the first try, whatever has happened since, and that a delayed duplicate does nothing.
func idempotentManagement() []testCase {
	return []testCase{
		{"CancelAgain", "", testCancelAgain},
		{"RescheduleAgain", "", testRescheduleAgain},
		{"RedriveAgain", "", testRedriveAgain},
		{"PurgeAgain", "", testPurgeAgain},
		{"PurgeOfNothingAgain", "", testPurgeOfNothingAgain},
		{"DelayedDuplicates", "", testManagementStale},
		{"CallersAreApart", "", testManagersApart},
		{"NamesOfOtherCallersAreApart", "", testManagersAndProducersApart},
		{"RepeatedAfterReopening", reopening, testManagementReopened},
		{"LargeBatchAgain", "", testLargeCancelAgain},
	}
}

func testCancelAgain(g *rig) {
	waiting, running := g.send(key("k"), delay(hour)), g.send()
	g.takeOf(running)
	dead := g.dead()
	r := store.CancelRequest{Caller: "m", Number: 7, Refs: []store.Ref{byKey("k"), byID(running), byID(dead), byID(g.message().ID)}}
	want := []store.Code{store.CodeOK, store.CodeRunning, store.CodeDead, store.CodeNotFound}
	g.wantCodes("cancel", g.cancelAs(r), want...)
	again := g.send(key("k"), delay(hour))
	g.wantCodes("cancel again", g.cancelAs(r), want...)
	g.wantGone(byID(waiting))
	g.wantState(again, store.Scheduled)
	g.wantEqual("cancelled", g.stats().Counters.Cancelled, int64(1))
	r.Number++
	g.wantCodes("the next cancel", g.cancelAs(r), store.CodeOK, store.CodeRunning, store.CodeDead, store.CodeNotFound)
	g.wantGone(byID(again))
}

func testRescheduleAgain(g *rig) {
	id := g.send()
	r := store.RescheduleRequest{Caller: "m", Number: 1, Moves: []store.Move{{Ref: byID(id), Delay: hour}, {Ref: byKey("k")}}}
	want := []store.Code{store.CodeOK, store.CodeNotFound}
	g.wantCodes("reschedule", g.rescheduleAs(r), want...)
	g.wantCodes("another one", g.reschedule(store.Move{Ref: byID(id)}), store.CodeOK)
	g.takeOf(id)
	g.wantCodes("reschedule again", g.rescheduleAs(r), want...)
	g.wantState(id, store.Leased)
}

func testRedriveAgain(g *rig) {
	plain, keyed := g.dead(), g.dead(key("k"))
	holder := g.send(key("k"), delay(hour))
	r := store.RedriveRequest{Caller: "m", Number: 1, Items: redrives(plain, keyed, g.message().ID, plain)}
	want := []store.PushResult{{}, {Code: store.CodeDuplicate, Holder: holder}, {Code: store.CodeNotFound}, {Code: store.CodeNotFound}}
	g.wantEqual("redrive", g.redriveAs(r), want)
	g.wantSettled(store.Reject, g.takeOf(plain), store.CodeOK)
	g.wantCodes("cancel of the holder", g.cancel(byID(holder)), store.CodeOK)
	g.wantEqual("redrive again", g.redriveAs(r), want)
	g.wantState(plain, store.Dead)
	g.wantState(keyed, store.Dead)
	g.wantEqual("redriven", g.stats().Counters.Redriven, int64(1))
}

func testPurgeAgain(g *rig) {
	ids := g.sendMany(5, delay(hour))
	all := store.PurgeRequest{Caller: "m", Number: 1, State: store.Scheduled, All: true, Limit: 2}
	g.wantEqual("purge", g.purgeAs(all), store.PurgeResult{Removed: 2})
	g.wantEqual("purge again", g.purgeAs(all), store.PurgeResult{Removed: 2})
	g.wantEqual("left", len(g.list(store.Scheduled, 10)), 3)
	some := store.PurgeRequest{Caller: "m", Number: 2, State: store.Scheduled, IDs: ids[1:4], Limit: 9}
	g.wantEqual("purge of three", g.purgeAs(some), store.PurgeResult{Removed: 2})
	g.wantEqual("purge of three again", g.purgeAs(some), store.PurgeResult{Removed: 2})
	g.wantEqual("purged", g.stats().Counters.Purged, int64(4))
}

// A purge that found nothing removes nothing when it is repeated, also not what was sent since.
func testPurgeOfNothingAgain(g *rig) {
	g.send(delay(hour))
	r := store.PurgeRequest{Caller: "m", Number: 1, State: store.Dead, All: true, Limit: 10}
	g.wantEqual("purge", g.purgeAs(r), store.PurgeResult{})
	id := g.dead()
	g.wantEqual("purge again", g.purgeAs(r), store.PurgeResult{})
	g.wantState(id, store.Dead)
}

func testManagementStale(g *rig) {
	id, dead := g.send(delay(hour)), g.dead()
	g.wantCodes("a cancel", g.cancelAs(store.CancelRequest{Caller: "m", Number: 9, Refs: []store.Ref{byKey("k")}}), store.CodeNotFound)
	g.wantCodes("cancel", g.cancelAs(store.CancelRequest{Caller: "m", Number: 8, Refs: []store.Ref{byID(id), byID(dead)}}), store.CodeStale, store.CodeStale)
	moves := []store.Move{{Ref: byID(id)}}
	g.wantCodes("reschedule", g.rescheduleAs(store.RescheduleRequest{Caller: "m", Number: 8, Moves: moves}), store.CodeStale)
	g.wantPushed(g.redriveAs(store.RedriveRequest{Caller: "m", Number: 8, Items: redrives(dead)}), store.CodeStale)
	all := store.PurgeRequest{Caller: "m", Number: 8, State: store.Dead, All: true, Limit: 1}
	g.wantEqual("purge", g.purgeAs(all), store.PurgeResult{Stale: true})
	g.wantState(id, store.Scheduled)
	g.wantState(dead, store.Dead)
}

func testManagersApart(g *rig) {
	ids := g.sendMany(2, delay(hour))
	for i, caller := range []string{"m", "n"} {
		r := store.CancelRequest{Caller: caller, Number: 1, Refs: []store.Ref{byID(ids[i])}}
		g.wantCodes("cancel by "+caller, g.cancelAs(r), store.CodeOK)
	}
}

func testManagersAndProducersApart(g *rig) {
	id := g.send(delay(hour)) // a call of the producer with number 1
	for _, caller := range []string{"producer", "c"} {
		g.numbers[caller] = 5
		g.takeNothing(caller)
	}
	r := store.CancelRequest{Caller: "producer", Number: 1, Refs: []store.Ref{byID(id)}}
	g.wantCodes("cancel", g.cancelAs(r), store.CodeOK)
	g.send()
	g.wantCodes("cancel again", g.cancelAs(r), store.CodeOK)
}

func testManagementReopened(g *rig) {
	dead := g.dead()
	id := g.send(delay(hour))
	cancel := store.CancelRequest{Caller: "m", Number: 1, Refs: []store.Ref{byID(id), byID(dead)}}
	purge := store.PurgeRequest{Caller: "n", Number: 1, State: store.Dead, All: true, Limit: 5}
	g.wantCodes("cancel", g.cancelAs(cancel), store.CodeOK, store.CodeDead)
	g.wantEqual("purge", g.purgeAs(purge), store.PurgeResult{Removed: 1})
	g.s = g.h.Reopen(g.t)
	g.wantCodes("cancel again", g.cancelAs(cancel), store.CodeOK, store.CodeDead)
	g.wantEqual("purge again", g.purgeAs(purge), store.PurgeResult{Removed: 1})
}

// A repeated call that was too large for one step gets the answer for all its items.
func testLargeCancelAgain(g *rig) {
	var r store.CancelRequest
	want := []store.Code{}
	for i := range 6 {
		r.Refs = append(r.Refs, byID(g.send(delay(hour), size(400<<10))), byID(g.message().ID))
		want = append(want, store.CodeOK, store.CodeNotFound)
		if i == 3 {
			r.Refs = append(r.Refs, byID(g.takeOf(g.send()).ID))
			want = append(want, store.CodeRunning)
		}
	}
	r.Caller, r.Number = "m", 1
	g.wantCodes("cancel", g.cancelAs(r), want...)
	g.wantCodes("cancel again", g.cancelAs(r), want...)
	g.wantEqual("cancelled", g.stats().Counters.Cancelled, int64(6))
}
