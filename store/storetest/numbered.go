package storetest

import "github.com/dueq-dev/dueq/store"

// idempotentManagement holds promise 4 for cancels, reschedules, redrives and purges: a
// repetition gets the answer of the first try, whatever has happened since, and a delayed
// duplicate does nothing.
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

func testCancelAgain(d *desk) {
	waiting, running := d.send(key("k"), delay(hour)), d.send()
	d.takeOf(running)
	dead := d.dead()
	r := store.CancelRequest{Caller: "m", Number: 7, Refs: []store.Ref{byKey("k"), byID(running), byID(dead), byID(d.message().ID)}}
	want := []store.Code{store.CodeOK, store.CodeRunning, store.CodeDead, store.CodeNotFound}
	d.wantCodes("cancel", d.cancelAs(r), want...)
	again := d.send(key("k"), delay(hour))
	d.wantCodes("cancel again", d.cancelAs(r), want...)
	d.wantGone(byID(waiting))
	d.wantState(again, store.Scheduled)
	d.wantEqual("cancelled", d.stats().Counters.Cancelled, int64(1))
	r.Number++
	d.wantCodes("the next cancel", d.cancelAs(r), store.CodeOK, store.CodeRunning, store.CodeDead, store.CodeNotFound)
	d.wantGone(byID(again))
}

func testRescheduleAgain(d *desk) {
	id := d.send()
	r := store.RescheduleRequest{Caller: "m", Number: 1, Moves: []store.Move{{Ref: byID(id), Delay: hour}, {Ref: byKey("k")}}}
	want := []store.Code{store.CodeOK, store.CodeNotFound}
	d.wantCodes("reschedule", d.rescheduleAs(r), want...)
	d.wantCodes("another one", d.reschedule(store.Move{Ref: byID(id)}), store.CodeOK)
	d.takeOf(id)
	d.wantCodes("reschedule again", d.rescheduleAs(r), want...)
	d.wantState(id, store.Leased)
}

func testRedriveAgain(d *desk) {
	plain, keyed := d.dead(), d.dead(key("k"))
	holder := d.send(key("k"), delay(hour))
	r := store.RedriveRequest{Caller: "m", Number: 1, Items: redrives(plain, keyed, d.message().ID, plain)}
	want := []store.PushResult{{}, {Code: store.CodeDuplicate, Holder: holder}, {Code: store.CodeNotFound}, {Code: store.CodeNotFound}}
	d.wantEqual("redrive", d.redriveAs(r), want)
	d.wantSettled(store.Reject, d.takeOf(plain), store.CodeOK)
	d.wantCodes("cancel of the holder", d.cancel(byID(holder)), store.CodeOK)
	d.wantEqual("redrive again", d.redriveAs(r), want)
	d.wantState(plain, store.Dead)
	d.wantState(keyed, store.Dead)
	d.wantEqual("redriven", d.stats().Counters.Redriven, int64(1))
}

func testPurgeAgain(d *desk) {
	ids := d.sendMany(5, delay(hour))
	all := store.PurgeRequest{Caller: "m", Number: 1, State: store.Scheduled, All: true, Limit: 2}
	d.wantEqual("purge", d.purgeAs(all), store.PurgeResult{Removed: 2})
	d.wantEqual("purge again", d.purgeAs(all), store.PurgeResult{Removed: 2})
	d.wantEqual("left", len(d.list(store.Scheduled, 10)), 3)
	some := store.PurgeRequest{Caller: "m", Number: 2, State: store.Scheduled, IDs: ids[1:4], Limit: 9}
	d.wantEqual("purge of three", d.purgeAs(some), store.PurgeResult{Removed: 2})
	d.wantEqual("purge of three again", d.purgeAs(some), store.PurgeResult{Removed: 2})
	d.wantEqual("purged", d.stats().Counters.Purged, int64(4))
}

// What came after a purge that found nothing is not what it was asked to remove.
func testPurgeOfNothingAgain(d *desk) {
	d.send(delay(hour))
	r := store.PurgeRequest{Caller: "m", Number: 1, State: store.Dead, All: true, Limit: 10}
	d.wantEqual("purge", d.purgeAs(r), store.PurgeResult{})
	id := d.dead()
	d.wantEqual("purge again", d.purgeAs(r), store.PurgeResult{})
	d.wantState(id, store.Dead)
}

func testManagementStale(d *desk) {
	id, dead := d.send(delay(hour)), d.dead()
	d.wantCodes("a cancel", d.cancelAs(store.CancelRequest{Caller: "m", Number: 9, Refs: []store.Ref{byKey("k")}}), store.CodeNotFound)
	d.wantCodes("cancel", d.cancelAs(store.CancelRequest{Caller: "m", Number: 8, Refs: []store.Ref{byID(id), byID(dead)}}), store.CodeStale, store.CodeStale)
	moves := []store.Move{{Ref: byID(id)}}
	d.wantCodes("reschedule", d.rescheduleAs(store.RescheduleRequest{Caller: "m", Number: 8, Moves: moves}), store.CodeStale)
	d.wantPushed(d.redriveAs(store.RedriveRequest{Caller: "m", Number: 8, Items: redrives(dead)}), store.CodeStale)
	all := store.PurgeRequest{Caller: "m", Number: 8, State: store.Dead, All: true, Limit: 1}
	d.wantEqual("purge", d.purgeAs(all), store.PurgeResult{Stale: true})
	d.wantState(id, store.Scheduled)
	d.wantState(dead, store.Dead)
}

func testManagersApart(d *desk) {
	ids := d.sendMany(2, delay(hour))
	for i, caller := range []string{"m", "n"} {
		r := store.CancelRequest{Caller: caller, Number: 1, Refs: []store.Ref{byID(ids[i])}}
		d.wantCodes("cancel by "+caller, d.cancelAs(r), store.CodeOK)
	}
}

func testManagersAndProducersApart(d *desk) {
	id := d.send(delay(hour)) // by producer, with number 1
	for _, caller := range []string{"producer", "c"} {
		d.numbers[caller] = 5
		d.takeNothing(caller)
	}
	r := store.CancelRequest{Caller: "producer", Number: 1, Refs: []store.Ref{byID(id)}}
	d.wantCodes("cancel", d.cancelAs(r), store.CodeOK)
	d.send()
	d.wantCodes("cancel again", d.cancelAs(r), store.CodeOK)
}

func testManagementReopened(d *desk) {
	dead := d.dead()
	id := d.send(delay(hour))
	cancel := store.CancelRequest{Caller: "m", Number: 1, Refs: []store.Ref{byID(id), byID(dead)}}
	purge := store.PurgeRequest{Caller: "n", Number: 1, State: store.Dead, All: true, Limit: 5}
	d.wantCodes("cancel", d.cancelAs(cancel), store.CodeOK, store.CodeDead)
	d.wantEqual("purge", d.purgeAs(purge), store.PurgeResult{Removed: 1})
	d.s = d.h.Reopen(d.t)
	d.wantCodes("cancel again", d.cancelAs(cancel), store.CodeOK, store.CodeDead)
	d.wantEqual("purge again", d.purgeAs(purge), store.PurgeResult{Removed: 1})
}

// A batch that is too large for one step is answered as a whole when it is repeated.
func testLargeCancelAgain(d *desk) {
	var r store.CancelRequest
	want := []store.Code{}
	for i := range 6 {
		r.Refs = append(r.Refs, byID(d.send(delay(hour), size(400<<10))), byID(d.message().ID))
		want = append(want, store.CodeOK, store.CodeNotFound)
		if i == 3 {
			r.Refs = append(r.Refs, byID(d.takeOf(d.send()).ID))
			want = append(want, store.CodeRunning)
		}
	}
	r.Caller, r.Number = "m", 1
	d.wantCodes("cancel", d.cancelAs(r), want...)
	d.wantCodes("cancel again", d.cancelAs(r), want...)
	d.wantEqual("cancelled", d.stats().Counters.Cancelled, int64(6))
}
