package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// histories holds what becomes of messages that have ended.
func histories() []testCase {
	cases := []testCase{
		{"OffKeepsNothing", "", func(d *desk) {
			id := d.send(key("k"))
			d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
			d.wantGone(byID(id), byKey("k"))
			d.wantEqual("done", d.list(store.Done, 10), []store.Record(nil))
			d.wantEqual("stats", d.stats().Done, int64(0))
		}},
		{"RecordOfADoneMessage", "", testDoneRecord},
		{"FoundByKeyBehindLiveAndDead", "", testDoneByKey},
		{"DoneIsGoneForOtherCalls", "", testDoneIsGone},
		{"SentAgainUnderItsID", "", testDoneSentAgain},
		{"SentAgainWithAnotherKey", "", testDoneSentAgainWithKey},
		{"NotPurgedReplacedOrRepeatedOnes", "", testNotDone},
		{"OfManyInOneCall", "", testDoneOfManyInOneCall},
		{"DoesNotCountAgainstMaxMessages", "", func(d *desk) {
			d.keepDone(hour, 0)
			d.configure(store.Change{MaxMessages: pointer(int64(1))})
			for range 3 {
				d.send()
				d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
			}
			d.send()
			d.wantPushed(d.push(d.message()), store.CodeFull)
			d.wantEqual("done", d.stats().Done, int64(3))
		}},
		{"ByCountTheOldestGo", "", testDoneByCount},
		{"ByAge", manualClock, testDoneByAge},
		{"OverAge", "", testDoneOverAge},
		{"LastOfAKeyAreFound", "", testDoneOfOneKey},
		{"ClockThatWasSetBack", manualClock, testDoneByKeyWhenTheClockWasSetBack},
		{"IsNoMemory", "", testDoneIsNoMemory},
		{"Ending/ExpiryAfterAFailure", "", func(d *desk) {
			d.keepDone(hour, 0)
			r, span, expired := d.takeExpiring(key("k"), attempts(5))
			d.outlive(span)
			d.wantSettled(store.Nack, r, store.CodeOK)
			d.takeNothing("c")
			rec := d.wantState(r.ID, store.Done)
			d.wantEqual("ending, attempts", []any{rec.Ending, rec.Attempt}, []any{store.EndingExpired, 1})
			d.wantFound("k", r.ID, store.Done)
			d.wantEqual("expired", d.stats().Counters.Expired, expired+1)
		}},
		{"SharesOfPartitions", "", testDoneShares},
		{"DefaultCount", "", func(d *desk) {
			s := store.Settings{Partitions: 4, History: 1}
			d.wantEqual("share", s.DonePerPartition(), int64(store.DefaultHistory/4))
		}},
		{"TurnedOff", "", testDoneTurnedOff},
		{"Purge", "", testPurgeDone},
		{"Pages", "", testDonePages},
		{"AfterReopening", reopening, testDoneReopened},
	}
	for _, e := range doneEndings() {
		cases = append(cases, testCase{"Ending/" + e.name, "", func(d *desk) {
			d.keepDone(hour, 0)
			id := d.send(key("k"), attempts(5), ttl(e.ttl))
			e.end(d, id)
			rec := d.wantState(id, store.Done)
			d.wantEqual("ending", rec.Ending, e.want)
			d.wantEqual("attempts", rec.Attempt, e.attempts)
			d.wantEqual("of the key", d.get(byKey("k")).ID, id)
			d.wantEqual("sent less gone", d.stats().Counters.Sent-d.stats().Counters.Gone(), int64(0))
			d.send(key("k")) // which is free
		}})
	}
	return cases
}

// keepDone makes the queue keep done messages.
func (d *desk) keepDone(span, most int64) {
	d.t.Helper()
	d.configure(store.Change{Create: true, History: &span, MaxHistory: &most})
}

type doneEnding struct {
	name     string
	ttl      int64
	want     store.Ending
	attempts int
	end      func(d *desk, id store.ID)
}

// doneEndings are the ways in which a message becomes done.
func doneEndings() []doneEnding {
	cancelled := func(v store.Verdict) func(d *desk, id store.ID) {
		return func(d *desk, id store.ID) {
			d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
			r := d.take("c").Receipt
			d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
			d.wantSettled(v, r, store.CodeCancelled)
			d.wantSettled(v, r, store.CodeGone)
		}
	}
	return []doneEnding{
		{"Ack", 0, store.EndingAcked, 1, func(d *desk, _ store.ID) {
			r := d.take("c").Receipt
			d.wantSettled(store.Ack, r, store.CodeOK)
			d.wantSettled(store.Ack, r, store.CodeGone)
			d.wantSettled(Extend, r, store.CodeGone)
			d.wantSettled(store.Nack, r, store.CodeGone)
		}},
		{"AckAfterFailures", 0, store.EndingAcked, 3, func(d *desk, _ store.ID) {
			d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
			d.wantSettled(store.Release, d.take("c").Receipt, store.CodeOK)
			d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
		}},
		{"AckOfACancelledOne", 0, store.EndingAcked, 1, func(d *desk, id store.ID) {
			r := d.take("c").Receipt
			d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
			d.wantSettled(store.Ack, r, store.CodeOK)
		}},
		{"AckOnClaim", 0, store.EndingAcked, 1, func(d *desk, _ store.ID) {
			r := d.claimRequest("c", 1)
			r.AckOnClaim = true
			d.wantEqual("claimed", len(d.claimAs(r).Deliveries), 1)
		}},
		{"CancelReady", 0, store.EndingCancelled, 0, func(d *desk, id store.ID) {
			d.wantCodes("cancel", d.cancel(byID(id)), store.CodeOK)
			d.wantCodes("cancel again", d.cancel(byID(id), byKey("k")), store.CodeNotFound, store.CodeNotFound)
		}},
		{"CancelAfterAFailure", 0, store.EndingCancelled, 1, func(d *desk, _ store.ID) {
			d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
			d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeOK)
		}},
		{"CancelRunningThenNack", 0, store.EndingCancelled, 2, cancelled(store.Nack)},
		{"CancelRunningThenReject", 0, store.EndingCancelled, 2, cancelled(store.Reject)},
		{"CancelRunningThenRelease", 0, store.EndingCancelled, 2, cancelled(store.Release)},
		{"CancelRunningThenSnooze", 0, store.EndingCancelled, 2, cancelled(store.Snooze)},
		{"CancelRunningThenAgain", 0, store.EndingCancelled, 2, cancelled(store.Again)},
		{"CancelRunningThenLeaseLost", 0, store.EndingCancelled, 1, func(d *desk, id store.ID) {
			d.takeFor("c", shortLease)
			d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
			d.runOut()
			d.takeNothing("c")
		}},
		{"Expiry", shortTTL, store.EndingExpired, 0, func(d *desk, id store.ID) {
			d.expire(id)
			d.takeNothing("c")
		}},
	}
}

func testDoneRecord(d *desk) {
	d.keepDone(hour, 0)
	m := d.message(key("k"), attempts(7), ttl(hour))
	m.Headers, m.Body = map[string]string{"a": "b"}, []byte("what ran")
	d.wantPushed(d.push(m), store.CodeOK)
	expiry := d.get(byID(m.ID)).Expiry
	nack := store.Settlement{Receipt: d.takeOf(m.ID), Failure: "first try"}
	d.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{nack}})
	d.wantSettled(store.Snooze, d.takeOf(m.ID), store.CodeOK)
	lease := d.takeOf(m.ID)
	before := d.get(byID(m.ID)).At - longLease
	d.wantSettled(store.Ack, lease, store.CodeOK)
	want := store.Record{
		ID: m.ID, Key: "k", Headers: m.Headers, Body: m.Body, BodySize: len(m.Body), State: store.Done, MaxAttempts: 7, Expiry: expiry,
		Attempt: 3, Failures: 1, Snoozes: 1, LastFailure: "first try", Ending: store.EndingAcked,
	}
	got := d.get(byID(m.ID))
	if got.At < before-1 {
		d.t.Fatalf("ended at %d, before it was claimed at %d", got.At, before)
	}
	want.At = got.At
	d.wantEqual("record", got, want)
	d.wantEqual("by its key", d.get(byKey("k")), want)
	d.wantEqual("in the list", d.list(store.Done, 10), []store.Record{want})
	d.wantEqual("stats", d.stats().Done, int64(1))
	d.wantCounters(store.Counters{Sent: 1, Delivered: 3, Nacked: 1, Snoozed: 1, Acked: 1})
}

func testDoneByKey(d *desk) {
	d.keepDone(hour, 0)
	end := func() store.ID {
		id := d.send(key("k"))
		d.wantSettled(store.Ack, d.takeOf(id), store.CodeOK)
		return id
	}
	first := end()
	second := end()
	d.wantFound("k", second, store.Done)
	dead := d.dead(key("k"))
	d.wantFound("k", dead, store.Dead)
	live := d.send(key("k"), delay(hour))
	d.wantFound("k", live, store.Scheduled)
	d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeOK)
	d.wantFound("k", dead, store.Dead)
	d.wantEqual("purged", d.purge(store.Dead, 10), 1)
	d.wantFound("k", live, store.Done)
	d.wantEqual("purged", d.purge(store.Done, 10, live), 1)
	d.wantFound("k", second, store.Done)
	d.wantEqual("purged", d.purge(store.Done, 10, second), 1)
	d.wantFound("k", first, store.Done)
	d.wantEqual("purged", d.purge(store.Done, 10), 1)
	d.wantGone(byKey("k"))
}

func testDoneIsGone(d *desk) {
	d.keepDone(hour, 0)
	id := d.send(key("k"))
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantCodes("cancel", d.cancel(byID(id), byKey("k")), store.CodeNotFound, store.CodeNotFound)
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id)}, store.Move{Ref: byKey("k")}), store.CodeNotFound, store.CodeNotFound)
	d.wantPushed(d.redrive(id), store.CodeNotFound)
	for _, state := range []store.State{store.Ready, store.Scheduled, store.Dead} {
		d.wantEqual("purged", d.purge(state, 10, id), 0)
	}
	d.takeNothing("c")
	d.wantState(id, store.Done)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, Acked: 1})
}

// A history is no memory of what was sent: a done message's id can be sent again, and its
// second end takes the place of the first.
func testDoneSentAgain(d *desk) {
	d.keepDone(hour, 0)
	m := d.message()
	m.New = false
	d.wantPushed(d.push(m), store.CodeOK)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	first := d.wantState(m.ID, store.Done)
	d.pass(2 * time.Millisecond)
	m.Body = []byte("another")
	d.wantPushed(d.push(m), store.CodeOK)
	d.wantState(m.ID, store.Ready)
	d.wantEqual("done", recordIDs(d.list(store.Done, 10)), []store.ID{m.ID})
	d.wantCodes("cancel", d.cancel(byID(m.ID)), store.CodeOK)
	second := d.wantState(m.ID, store.Done)
	d.wantEqual("ending", second.Ending, store.EndingCancelled)
	d.wantEqual("ended later", second.At > first.At, true)
	d.wantEqual("done", d.stats().Done, int64(1))
	d.wantEqual("body", string(d.get(byID(m.ID)).Body), "another")
}

func testDoneSentAgainWithKey(d *desk) {
	d.keepDone(hour, 0)
	m := d.message(key("old"))
	m.New = false
	d.wantPushed(d.push(m), store.CodeOK)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	m.Key = "new"
	d.wantPushed(d.push(m), store.CodeOK)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantGone(byKey("old"))
	d.wantFound("new", m.ID, store.Done)
	m.Key = ""
	d.wantPushed(d.push(m), store.CodeOK)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantGone(byKey("new"))
}

func testNotDone(d *desk) {
	d.keepDone(hour, 0)
	deleted, purged := d.dead(), d.send(delay(hour))
	replaced, old := d.send(key("k"), delay(hour)), d.send(key("old"), ttl(shortTTL))
	last := d.send(key("k"), delay(hour), replacing)
	d.expire(old)
	d.send(key("old"), delay(hour)) // takes the key
	d.wantEqual("purged", d.purge(store.Scheduled, 10, purged), 1)
	r := store.CancelRequest{Caller: "deleter", Number: 1, Refs: []store.Ref{byID(deleted)}, Dead: true}
	d.wantCodes("delete", d.cancelAs(r), store.CodeOK)
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(last)}), store.CodeOK)
	d.wantSettled(store.Again, d.takeOf(last), store.CodeOK)
	for _, id := range []store.ID{replaced, old, purged, deleted} {
		d.wantGone(byID(id))
	}
	d.wantEqual("done", d.stats().Done, int64(0))
}

// All that one call ends is kept, with keys and without.
func testDoneOfManyInOneCall(d *desk) {
	d.keepDone(hour, 0)
	var ms []store.Message
	for i := range 300 {
		ms = append(ms, d.message(func(m *store.Message) {
			if i%3 == 0 {
				m.Key = fmt.Sprint("k", i)
			}
		}))
	}
	d.push(ms...)
	var items []store.Settlement
	for _, v := range d.claim("c", store.MaxBatch).Deliveries {
		items = append(items, store.Settlement{Receipt: v.Receipt})
	}
	d.wantEqual("held", len(items), 300)
	items = append(items[:250], items[0]) // one twice
	codes := d.settleAs(store.SettleRequest{Verdict: store.Ack, Items: items})
	d.wantEqual("codes", []store.Code{codes[0], codes[249], codes[250]}, []store.Code{store.CodeOK, store.CodeOK, store.CodeGone})
	got := recordIDs(d.list(store.Done, 100))
	slices.SortFunc(got, func(a, b store.ID) int { return slices.Compare(a[:], b[:]) })
	d.wantEqual("done", len(got), 250)
	for i, id := range got {
		d.wantEqual("done", id, items[i].Receipt.ID)
	}
	d.wantFound("k0", ms[0].ID, store.Done)
}

func testDoneByCount(d *desk) {
	d.keepDone(hour, 3)
	var ids []store.ID
	for i := range 5 {
		ids = append(ids, d.send(key(fmt.Sprint("k", i%2))))
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
	d.wantEqual("done", recordIDs(d.list(store.Done, 10)), ids[2:])
	d.wantGone(byID(ids[1]))
	d.keepDone(hour, 1)
	d.takeNothing("c")
	d.wantEqual("done after a claim", recordIDs(d.list(store.Done, 10)), ids[4:])
	d.wantFound("k0", ids[4], store.Done)
	d.wantGone(byKey("k1"))
	d.wantCounters(store.Counters{Sent: 5, Delivered: 5, Acked: 5})
}

func testDoneByAge(d *desk) {
	d.keepDone(1000, 0)
	first := d.send()
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.h.Advance(999 * time.Millisecond)
	second := d.send()
	d.takeOf(second)
	d.wantState(first, store.Done)
	d.h.Advance(time.Millisecond)
	d.wantState(first, store.Done) // until something ends or is asked for
	d.takeNothing("c")
	d.wantGone(byID(first))
}

func testDoneOverAge(d *desk) {
	const age = 50
	d.keepDone(age, 0)
	id := d.send()
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.pass(age * time.Millisecond)
	d.takeNothing("c")
	d.wantGone(byID(id))
	d.wantEqual("done", d.stats().Done, int64(0))
}

// Of the messages of one key, the 16 that ended last are found by it.
func testDoneOfOneKey(d *desk) {
	const found, more = 16, 2
	d.keepDone(hour, 0)
	var ids []store.ID
	for range found + more {
		ids = append(ids, d.send(key("k")))
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
	for _, id := range slices.Backward(ids[more:]) {
		d.wantFound("k", id, store.Done)
		d.wantEqual("purged", d.purge(store.Done, 10, id), 1)
	}
	d.wantGone(byKey("k"))
	d.wantEqual("done", d.stats().Done, int64(more))
}

// The one that ended last by the store's clock is found, also when the clock was set back
// since.
func testDoneByKeyWhenTheClockWasSetBack(d *desk) {
	d.keepDone(3*hour, 0)
	d.wantInOrderOfTime(store.Done, func() store.ID {
		id := d.send(key("k"))
		d.wantSettled(store.Ack, d.takeOf(id), store.CodeOK)
		return id
	})
}

// wantInOrderOfTime ends three messages with the key "k", the first an hour later than the
// others by the clock.
func (d *desk) wantInOrderOfTime(state store.State, end func() store.ID) {
	d.t.Helper()
	last := end()
	d.h.Advance(-time.Hour)
	first := end()
	d.h.Advance(time.Second)
	second := end()
	for _, id := range []store.ID{last, second, first} {
		d.wantFound("k", id, state)
		d.wantEqual("purged", d.purge(state, 10, id), 1)
	}
	d.wantGone(byKey("k"))
}

// What is remembered of a message does not depend on whether it is kept.
func testDoneIsNoMemory(d *desk) {
	d.keepDone(hour, 0)
	ends := []func(id store.ID){
		func(id store.ID) { d.wantSettled(store.Ack, d.takeOf(id), store.CodeOK) },
		func(id store.ID) { d.wantCodes("cancel", d.cancel(byID(id)), store.CodeOK) },
	}
	for i, end := range ends {
		name := fmt.Sprint("name ", i)
		end(d.send(named(name)))
		second := d.send(named(name), remember(hour)) // nothing is remembered of the first
		end(second)
		known := d.push(d.message(named(name)), d.message(again(second)))
		d.wantEqual("sent again", known, []store.PushResult{{Code: store.CodeKnown, Holder: second}, {}})
		d.wantState(second, store.Done)
	}
	d.wantEqual("live", d.liveOnes(), int64(0))
	d.wantEqual("remembered", d.stats().Remembered, int64(len(ends)))
}

func testDoneShares(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(2), History: pointer(hour), MaxHistory: pointer(int64(5))})
	for _, k := range []*desk{d, d.at(d.p.Queue, 1)} {
		for range 4 {
			k.send()
			k.wantSettled(store.Ack, k.take("c").Receipt, store.CodeOK)
		}
		k.wantEqual("done of a partition", len(k.list(store.Done, 10)), 2)
	}
	d.wantEqual("done", d.stats().Done, int64(4))
}

// When the history is turned off, what is in it is removed by claims.
func testDoneTurnedOff(d *desk) {
	d.keepDone(hour, 0)
	const n, bound = 700, 500
	d.sendMany(n)
	r := d.claimRequest("c", store.MaxBatch)
	r.AckOnClaim = true
	d.claimAs(r)
	r.Number = d.number("c")
	d.claimAs(r)
	d.wantEqual("done", d.stats().Done, int64(n))
	d.keepDone(0, 0)
	id := d.send()
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantGone(byID(id))
	d.wantEqual("done after a claim", d.stats().Done, int64(n-bound))
	d.takeNothing("c")
	d.wantEqual("done after another", d.stats().Done, int64(0))
	d.takeNothing("c")
	d.keepDone(hour, 0)
	d.send()
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantEqual("done when it is on again", d.stats().Done, int64(1))
}

func testPurgeDone(d *desk) {
	d.keepDone(hour, 0)
	var ids []store.ID
	for range 6 {
		ids = append(ids, d.send())
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
	live := d.send(delay(hour))
	d.wantEqual("purged by id", d.purge(store.Done, 10, ids[1], live, ids[1], ids[4]), 2)
	d.wantEqual("purged, at most", d.purge(store.Done, 3), 3)
	d.wantEqual("done", recordIDs(d.list(store.Done, 10)), ids[5:])
	d.wantEqual("purged", d.purge(store.Done, 10), 1)
	d.wantState(live, store.Scheduled)
	d.wantCounters(store.Counters{Sent: 7, Delivered: 6, Acked: 6}) // each ends once
}

func testDonePages(d *desk) {
	d.keepDone(hour, 0)
	ids := d.sendMany(25)
	for range ids {
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
	whole := d.list(store.Done, 100)
	d.wantEqual("in the order of their ends", slices.IsSortedFunc(whole, func(a, b store.Record) int { return int(a.At - b.At) }), true)
	d.wantEqual("in pages of 7", d.list(store.Done, 7), whole)
	page, err := d.s.List(d.t.Context(), d.p, store.ListRequest{State: store.Done, Limit: 2, BodyLimit: 2})
	d.noError("list", err)
	d.wantEqual("a body that is cut", []any{string(page.Records[0].Body), page.Records[0].BodySize}, []any{"bo", 4})
	if _, err := d.s.List(d.t.Context(), d.p, store.ListRequest{State: store.Dead, Limit: 2, Cursor: page.Next}); d.h.Advance != nil && !errors.Is(err, store.ErrInvalid) {
		d.t.Fatalf("a cursor of done messages for dead ones: %v", err)
	}
}

func testDoneReopened(d *desk) {
	d.keepDone(hour, 4)
	for i := range 6 {
		d.send(key(fmt.Sprint("k", i%2)))
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
	d.send()
	d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
	id := d.take("c").Receipt.ID
	d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
	d.wantSettled(store.Nack, store.Receipt{ID: id, Attempt: 2}, store.CodeCancelled)
	before := d.list(store.Done, 10)
	d.wantEqual("done", len(before), 4)
	d.s = d.h.Reopen(d.t)
	d.wantEqual("done", d.list(store.Done, 10), before)
	d.wantFound("k1", before[2].ID, store.Done)
	d.wantEqual("settings", []int64{d.stats().Settings.History, d.stats().Settings.MaxHistory}, []int64{hour, 4})
}
