package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// histories are the tests of queues that keep their done messages.
func histories() []testCase {
	cases := []testCase{
		{"OffKeepsNothing", "", func(g *rig) {
			id := g.send(key("k"))
			g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
			g.wantGone(byID(id), byKey("k"))
			g.wantEqual("done", g.list(store.Done, 10), []store.Record(nil))
			g.wantEqual("stats", g.stats().Done, int64(0))
		}},
		{"RecordOfADoneMessage", "", testDoneRecord},
		{"FoundByKeyBehindLiveAndDead", "", testDoneByKey},
		{"DoneIsGoneForOtherCalls", "", testDoneIsGone},
		{"SentAgainUnderItsID", "", testDoneSentAgain},
		{"SentAgainWithAnotherKey", "", testDoneSentAgainWithKey},
		{"PurgedReplacedAndRepeatedAreNotDone", "", testNotDone},
		{"OfManyInOneCall", "", testDoneOfManyInOneCall},
		{"DoesNotCountAgainstMaxMessages", "", func(g *rig) {
			g.keepDone(hour, 0)
			g.configure(store.Change{MaxMessages: pointer(int64(1))})
			for range 3 {
				g.send()
				g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
			}
			g.send()
			g.wantPushed(g.push(g.message()), store.CodeFull)
			g.wantEqual("done", g.stats().Done, int64(3))
		}},
		{"ByCountTheOldestGo", "", testDoneByCount},
		{"ByAge", manualClock, testDoneByAge},
		{"OverAge", "", testDoneOverAge},
		{"LastOfAKeyAreFound", "", testDoneOfOneKey},
		{"ClockThatWasSetBack", manualClock, testDoneByKeyWhenTheClockWasSetBack},
		{"IDCanBeSentAgain", "", testDoneIDCanBeSentAgain},
		{"Ending/ExpiryAfterAFailure", "", func(g *rig) {
			g.keepDone(hour, 0)
			r, span, expired := g.takeExpiring(key("k"), attempts(5))
			g.outlive(span)
			g.wantSettled(store.Nack, r, store.CodeOK)
			g.takeNothing("c")
			rec := g.wantState(r.ID, store.Done)
			g.wantEqual("ending, attempts", []any{rec.Ending, rec.Attempt}, []any{store.EndingExpired, 1})
			g.wantFound("k", r.ID, store.Done)
			g.wantEqual("expired", g.stats().Counters.Expired, expired+1)
		}},
		{"SharesOfPartitions", "", testDoneShares},
		{"DefaultCount", "", func(g *rig) {
			s := store.Settings{Partitions: 4, History: 1}
			g.wantEqual("share", s.DonePerPartition(), int64(store.DefaultHistory/4))
		}},
		{"TurnedOff", "", testDoneTurnedOff},
		{"Purge", "", testPurgeDone},
		{"Pages", "", testDonePages},
		{"AfterReopening", reopening, testDoneReopened},
	}
	for _, e := range doneEndings() {
		cases = append(cases, testCase{"Ending/" + e.name, "", func(g *rig) {
			g.keepDone(hour, 0)
			id := g.send(key("k"), attempts(5), ttl(e.ttl))
			e.end(g, id)
			rec := g.wantState(id, store.Done)
			g.wantEqual("ending", rec.Ending, e.want)
			g.wantEqual("attempts", rec.Attempt, e.attempts)
			g.wantEqual("of the key", g.get(byKey("k")).ID, id)
			g.wantEqual("sent less gone", g.stats().Counters.Sent-g.stats().Counters.Gone(), int64(0))
			g.send(key("k")) // the key is free
		}})
	}
	return cases
}

// keepDone sets how long, and how many, done messages the queue keeps.
func (g *rig) keepDone(span, most int64) {
	g.t.Helper()
	g.configure(store.Change{Create: true, History: &span, MaxHistory: &most})
}

type doneEnding struct {
	name     string
	ttl      int64
	want     store.Ending
	attempts int
	end      func(g *rig, id store.ID)
}

// doneEndings are the ways in which a message can become done.
func doneEndings() []doneEnding {
	cancelled := func(v store.Verdict) func(g *rig, id store.ID) {
		return func(g *rig, id store.ID) {
			g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
			r := g.take("c").Receipt
			g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
			g.wantSettled(v, r, store.CodeCancelled)
			g.wantSettled(v, r, store.CodeGone)
		}
	}
	return []doneEnding{
		{"Ack", 0, store.EndingAcked, 1, func(g *rig, _ store.ID) {
			r := g.take("c").Receipt
			g.wantSettled(store.Ack, r, store.CodeOK)
			g.wantSettled(store.Ack, r, store.CodeGone)
			g.wantSettled(Extend, r, store.CodeGone)
			g.wantSettled(store.Nack, r, store.CodeGone)
		}},
		{"AckAfterFailures", 0, store.EndingAcked, 3, func(g *rig, _ store.ID) {
			g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
			g.wantSettled(store.Release, g.take("c").Receipt, store.CodeOK)
			g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
		}},
		{"AckOfACancelledOne", 0, store.EndingAcked, 1, func(g *rig, id store.ID) {
			r := g.take("c").Receipt
			g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
			g.wantSettled(store.Ack, r, store.CodeOK)
		}},
		{"AckOnClaim", 0, store.EndingAcked, 1, func(g *rig, _ store.ID) {
			r := g.claimRequest("c", 1)
			r.AckOnClaim = true
			g.wantEqual("claimed", len(g.claimAs(r).Deliveries), 1)
		}},
		{"CancelReady", 0, store.EndingCancelled, 0, func(g *rig, id store.ID) {
			g.wantCodes("cancel", g.cancel(byID(id)), store.CodeOK)
			g.wantCodes("cancel again", g.cancel(byID(id), byKey("k")), store.CodeNotFound, store.CodeNotFound)
		}},
		{"CancelAfterAFailure", 0, store.EndingCancelled, 1, func(g *rig, _ store.ID) {
			g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
			g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeOK)
		}},
		{"CancelRunningThenNack", 0, store.EndingCancelled, 2, cancelled(store.Nack)},
		{"CancelRunningThenReject", 0, store.EndingCancelled, 2, cancelled(store.Reject)},
		{"CancelRunningThenRelease", 0, store.EndingCancelled, 2, cancelled(store.Release)},
		{"CancelRunningThenSnooze", 0, store.EndingCancelled, 2, cancelled(store.Snooze)},
		{"CancelRunningThenAgain", 0, store.EndingCancelled, 2, cancelled(store.Again)},
		{"CancelRunningThenLeaseLost", 0, store.EndingCancelled, 1, func(g *rig, id store.ID) {
			g.takeFor("c", shortLease)
			g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
			g.runOut()
			g.takeNothing("c")
		}},
		{"Expiry", shortTTL, store.EndingExpired, 0, func(g *rig, id store.ID) {
			g.expire(id)
			g.takeNothing("c")
		}},
	}
}

func testDoneRecord(g *rig) {
	g.keepDone(hour, 0)
	m := g.message(key("k"), attempts(7), ttl(hour))
	m.Headers, m.Body = map[string]string{"a": "b"}, []byte("what ran")
	g.wantPushed(g.push(m), store.CodeOK)
	expiry := g.get(byID(m.ID)).Expiry
	nack := store.Settlement{Receipt: g.takeOf(m.ID), Failure: "first try"}
	g.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{nack}})
	g.wantSettled(store.Snooze, g.takeOf(m.ID), store.CodeOK)
	lease := g.takeOf(m.ID)
	before := g.get(byID(m.ID)).At - longLease
	g.wantSettled(store.Ack, lease, store.CodeOK)
	want := store.Record{
		ID: m.ID, Key: "k", Headers: m.Headers, Body: m.Body, BodySize: len(m.Body), State: store.Done, MaxAttempts: 7, Expiry: expiry,
		Attempt: 3, Failures: 1, Snoozes: 1, LastFailure: "first try", Ending: store.EndingAcked,
	}
	got := g.get(byID(m.ID))
	if got.At < before-1 {
		g.t.Fatalf("ended at %d, before it was claimed at %d", got.At, before)
	}
	want.At = got.At
	for _, f := range got.RecentFailures {
		want.RecentFailures = []store.Failure{{At: f.At, Attempt: 1, Text: "first try"}}
	}
	g.wantEqual("record", got, want)
	g.wantEqual("by its key", g.get(byKey("k")), want)
	g.wantEqual("in the list", g.list(store.Done, 10), []store.Record{want})
	g.wantEqual("stats", g.stats().Done, int64(1))
	g.wantCounters(store.Counters{Sent: 1, Delivered: 3, Nacked: 1, Snoozed: 1, Acked: 1})
}

func testDoneByKey(g *rig) {
	g.keepDone(hour, 0)
	end := func() store.ID {
		id := g.send(key("k"))
		g.wantSettled(store.Ack, g.takeOf(id), store.CodeOK)
		return id
	}
	first := end()
	second := end()
	g.wantFound("k", second, store.Done)
	dead := g.dead(key("k"))
	g.wantFound("k", dead, store.Dead)
	live := g.send(key("k"), delay(hour))
	g.wantFound("k", live, store.Scheduled)
	g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeOK)
	g.wantFound("k", dead, store.Dead)
	g.wantEqual("purged", g.purge(store.Dead, 10), 1)
	g.wantFound("k", live, store.Done)
	g.wantEqual("purged", g.purge(store.Done, 10, live), 1)
	g.wantFound("k", second, store.Done)
	g.wantEqual("purged", g.purge(store.Done, 10, second), 1)
	g.wantFound("k", first, store.Done)
	g.wantEqual("purged", g.purge(store.Done, 10), 1)
	g.wantGone(byKey("k"))
}

func testDoneIsGone(g *rig) {
	g.keepDone(hour, 0)
	id := g.send(key("k"))
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantCodes("cancel", g.cancel(byID(id), byKey("k")), store.CodeNotFound, store.CodeNotFound)
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id)}, store.Move{Ref: byKey("k")}), store.CodeNotFound, store.CodeNotFound)
	g.wantPushed(g.redrive(id), store.CodeNotFound)
	for _, state := range []store.State{store.Ready, store.Scheduled, store.Dead} {
		g.wantEqual("purged", g.purge(state, 10, id), 0)
	}
	g.takeNothing("c")
	g.wantState(id, store.Done)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, Acked: 1})
}

// A message that is only kept as done is not remembered: its id can be sent again, and when that
// message ends, it replaces the first.
func testDoneSentAgain(g *rig) {
	g.keepDone(hour, 0)
	m := g.message()
	m.New = false
	g.wantPushed(g.push(m), store.CodeOK)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	first := g.wantState(m.ID, store.Done)
	g.pass(2 * time.Millisecond)
	m.Body = []byte("another")
	g.wantPushed(g.push(m), store.CodeOK)
	g.wantState(m.ID, store.Ready)
	g.wantEqual("done", recordIDs(g.list(store.Done, 10)), []store.ID{m.ID})
	g.wantCodes("cancel", g.cancel(byID(m.ID)), store.CodeOK)
	second := g.wantState(m.ID, store.Done)
	g.wantEqual("ending", second.Ending, store.EndingCancelled)
	g.wantEqual("ended later", second.At > first.At, true)
	g.wantEqual("done", g.stats().Done, int64(1))
	g.wantEqual("body", string(g.get(byID(m.ID)).Body), "another")
}

func testDoneSentAgainWithKey(g *rig) {
	g.keepDone(hour, 0)
	m := g.message(key("old"))
	m.New = false
	g.wantPushed(g.push(m), store.CodeOK)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	m.Key = "new"
	g.wantPushed(g.push(m), store.CodeOK)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantGone(byKey("old"))
	g.wantFound("new", m.ID, store.Done)
	m.Key = ""
	g.wantPushed(g.push(m), store.CodeOK)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantGone(byKey("new"))
}

func testNotDone(g *rig) {
	g.keepDone(hour, 0)
	deleted, purged := g.dead(), g.send(delay(hour))
	replaced, old := g.send(key("k"), delay(hour)), g.send(key("old"), ttl(shortTTL))
	last := g.send(key("k"), delay(hour), replacing)
	g.expire(old)
	g.send(key("old"), delay(hour)) // takes the key
	g.wantEqual("purged", g.purge(store.Scheduled, 10, purged), 1)
	r := store.CancelRequest{Caller: "deleter", Number: 1, Refs: []store.Ref{byID(deleted)}, Dead: true}
	g.wantCodes("delete", g.cancelAs(r), store.CodeOK)
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(last)}), store.CodeOK)
	g.wantSettled(store.Again, g.takeOf(last), store.CodeOK)
	for _, id := range []store.ID{replaced, old, purged, deleted} {
		g.wantGone(byID(id))
	}
	g.wantEqual("done", g.stats().Done, int64(0))
}

// All messages that one call ends are kept, with keys and without.
func testDoneOfManyInOneCall(g *rig) {
	g.keepDone(hour, 0)
	var ms []store.Message
	for i := range 300 {
		ms = append(ms, g.message(func(m *store.Message) {
			if i%3 == 0 {
				m.Key = fmt.Sprint("k", i)
			}
		}))
	}
	g.push(ms...)
	var items []store.Settlement
	for _, v := range g.claim("c", store.MaxBatch).Deliveries {
		items = append(items, store.Settlement{Receipt: v.Receipt})
	}
	g.wantEqual("held", len(items), 300)
	items = append(items[:250], items[0]) // one receipt twice
	codes := g.settleAs(store.SettleRequest{Verdict: store.Ack, Items: items})
	g.wantEqual("codes", []store.Code{codes[0], codes[249], codes[250]}, []store.Code{store.CodeOK, store.CodeOK, store.CodeGone})
	got := recordIDs(g.list(store.Done, 100))
	slices.SortFunc(got, func(a, b store.ID) int { return slices.Compare(a[:], b[:]) })
	g.wantEqual("done", len(got), 250)
	for i, id := range got {
		g.wantEqual("done", id, items[i].Receipt.ID)
	}
	g.wantFound("k0", ms[0].ID, store.Done)
}

func testDoneByCount(g *rig) {
	g.keepDone(hour, 3)
	var ids []store.ID
	for i := range 5 {
		ids = append(ids, g.send(key(fmt.Sprint("k", i%2))))
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	g.wantEqual("done", recordIDs(g.list(store.Done, 10)), ids[2:])
	g.wantGone(byID(ids[1]))
	g.keepDone(hour, 1)
	g.takeNothing("c")
	g.wantEqual("done after a claim", recordIDs(g.list(store.Done, 10)), ids[4:])
	g.wantFound("k0", ids[4], store.Done)
	g.wantGone(byKey("k1"))
	g.wantCounters(store.Counters{Sent: 5, Delivered: 5, Acked: 5})
}

func testDoneByAge(g *rig) {
	g.keepDone(1000, 0)
	first := g.send()
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.h.Advance(999 * time.Millisecond)
	second := g.send()
	g.takeOf(second)
	g.wantState(first, store.Done)
	g.h.Advance(time.Millisecond)
	g.wantState(first, store.Done) // it is removed when another message ends, or by a claim
	g.takeNothing("c")
	g.wantGone(byID(first))
}

func testDoneOverAge(g *rig) {
	const age = 50
	g.keepDone(age, 0)
	id := g.send()
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.pass(age * time.Millisecond)
	g.takeNothing("c")
	g.wantGone(byID(id))
	g.wantEqual("done", g.stats().Done, int64(0))
}

// A key finds the 16 of its messages that ended last.
func testDoneOfOneKey(g *rig) {
	const found, more = 16, 2
	g.keepDone(hour, 0)
	var ids []store.ID
	for range found + more {
		ids = append(ids, g.send(key("k")))
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	for _, id := range slices.Backward(ids[more:]) {
		g.wantFound("k", id, store.Done)
		g.wantEqual("purged", g.purge(store.Done, 10, id), 1)
	}
	g.wantGone(byKey("k"))
	g.wantEqual("done", g.stats().Done, int64(more))
}

// A key finds the message that ended last by the store's clock, also when the clock was set back
// since.
func testDoneByKeyWhenTheClockWasSetBack(g *rig) {
	g.keepDone(3*hour, 0)
	g.wantInOrderOfTime(store.Done, func() store.ID {
		id := g.send(key("k"))
		g.wantSettled(store.Ack, g.takeOf(id), store.CodeOK)
		return id
	})
}

// wantInOrderOfTime ends three messages with the key "k"; by the clock, the first ends an hour
// after the others.
func (g *rig) wantInOrderOfTime(state store.State, end func() store.ID) {
	g.t.Helper()
	last := end()
	g.h.Advance(-time.Hour)
	first := end()
	g.h.Advance(time.Second)
	second := end()
	for _, id := range []store.ID{last, second, first} {
		g.wantFound("k", id, state)
		g.wantEqual("purged", g.purge(state, 10, id), 1)
	}
	g.wantGone(byKey("k"))
}

// Whether a message is remembered does not depend on whether it is kept as done.
func testDoneIDCanBeSentAgain(g *rig) {
	g.keepDone(hour, 0)
	ends := []func(id store.ID){
		func(id store.ID) { g.wantSettled(store.Ack, g.takeOf(id), store.CodeOK) },
		func(id store.ID) { g.wantCodes("cancel", g.cancel(byID(id)), store.CodeOK) },
	}
	for i, end := range ends {
		name := fmt.Sprint("name ", i)
		end(g.send(named(name)))
		second := g.send(named(name), remember(hour)) // the first one is not remembered
		end(second)
		known := g.push(g.message(named(name)), g.message(again(second)))
		g.wantEqual("sent again", known, []store.PushResult{{Code: store.CodeKnown, Holder: second}, {}})
		g.wantState(second, store.Done)
	}
	g.wantEqual("live", g.liveOnes(), int64(0))
	g.wantEqual("remembered", g.stats().Remembered, int64(len(ends)))
}

func testDoneShares(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2), History: pointer(hour), MaxHistory: pointer(int64(5))})
	for _, k := range []*rig{g, g.at(g.p.Queue, 1)} {
		for range 4 {
			k.send()
			k.wantSettled(store.Ack, k.take("c").Receipt, store.CodeOK)
		}
		k.wantEqual("done of a partition", len(k.list(store.Done, 10)), 2)
	}
	g.wantEqual("done", g.stats().Done, int64(4))
}

// When the history is turned off, claims remove the done messages.
func testDoneTurnedOff(g *rig) {
	g.keepDone(hour, 0)
	const n, bound = 700, 500
	g.sendMany(n)
	r := g.claimRequest("c", store.MaxBatch)
	r.AckOnClaim = true
	g.claimAs(r)
	r.Number = g.number("c")
	g.claimAs(r)
	g.wantEqual("done", g.stats().Done, int64(n))
	g.keepDone(0, 0)
	id := g.send()
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantGone(byID(id))
	g.wantEqual("done after a claim", g.stats().Done, int64(n-bound))
	g.takeNothing("c")
	g.wantEqual("done after another", g.stats().Done, int64(0))
	g.takeNothing("c")
	g.keepDone(hour, 0)
	g.send()
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantEqual("done when it is on again", g.stats().Done, int64(1))
}

func testPurgeDone(g *rig) {
	g.keepDone(hour, 0)
	var ids []store.ID
	for range 6 {
		ids = append(ids, g.send())
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	live := g.send(delay(hour))
	g.wantEqual("purged by id", g.purge(store.Done, 10, ids[1], live, ids[1], ids[4]), 2)
	g.wantEqual("purged, at most", g.purge(store.Done, 3), 3)
	g.wantEqual("done", recordIDs(g.list(store.Done, 10)), ids[5:])
	g.wantEqual("purged", g.purge(store.Done, 10), 1)
	g.wantState(live, store.Scheduled)
	g.wantCounters(store.Counters{Sent: 7, Delivered: 6, Acked: 6}) // each message has ended once
}

func testDonePages(g *rig) {
	g.keepDone(hour, 0)
	ids := g.sendMany(25)
	for range ids {
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	whole := g.list(store.Done, 100)
	g.wantEqual("in the order of their ends", slices.IsSortedFunc(whole, func(a, b store.Record) int { return int(a.At - b.At) }), true)
	g.wantEqual("in pages of 7", g.list(store.Done, 7), whole)
	page, err := g.s.List(g.t.Context(), g.p, store.ListRequest{State: store.Done, Limit: 2, BodyLimit: 2})
	g.noError("list", err)
	g.wantEqual("a body that is cut", []any{string(page.Records[0].Body), page.Records[0].BodySize}, []any{"bo", 4})
	if _, err := g.s.List(g.t.Context(), g.p, store.ListRequest{State: store.Dead, Limit: 2, Cursor: page.Next}); g.h.Advance != nil && !errors.Is(err, store.ErrInvalid) {
		g.t.Fatalf("a cursor of done messages for dead ones: %v", err)
	}
}

func testDoneReopened(g *rig) {
	g.keepDone(hour, 4)
	for i := range 6 {
		g.send(key(fmt.Sprint("k", i%2)))
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	g.send()
	g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
	id := g.take("c").Receipt.ID
	g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
	g.wantSettled(store.Nack, store.Receipt{ID: id, Attempt: 2}, store.CodeCancelled)
	before := g.list(store.Done, 10)
	g.wantEqual("done", len(before), 4)
	g.s = g.h.Reopen(g.t)
	g.wantEqual("done", g.list(store.Done, 10), before)
	g.wantFound("k1", before[2].ID, store.Done)
	g.wantEqual("settings", []int64{g.stats().Settings.History, g.stats().Settings.MaxHistory}, []int64{hour, 4})
}
