package storetest

import (
	"time"

	"github.com/dueq-dev/dueq/store"
)

// remembering holds what a store remembers of messages that are gone.
func remembering() []testCase {
	cases := []testCase{
		{"DedupIDOfALiveMessage", "", testDedupLive},
		{"DedupIDWithoutAWindowIsFreeAfterTheEnd", "", testDedupWithoutWindow},
		{"DeadOnesAreKnown", "", testDedupDead},
		{"WithinOnePush", "", testDedupWithinOnePush},
		{"ReplacedWithinOnePush", "", testDedupReplacedWithinOnePush},
		{"BeforeAllOtherAnswers", "", testDedupFirst},
		{"RepeatedPushGetsItsAnswer", "", testDedupRepeatedPush},
		{"IDBeforeDedupID", "", testDedupIDFirst},
		{"WindowBeginsAtTheEnd", manualClock, testDedupWindow},
		{"StoredAgainAfterTheWindow", manualClock, testDedupAfterWindow},
		{"EachItsOwnWindow", manualClock, testDedupWindows},
		{"WhatIsOverIsDropped", manualClock, testDedupLapses},
		{"SurvivesReopen", reopening, testDedupReopen},
		{"ExpiredOnesAreRemembered", "", testDedupExpired},
	}
	for _, c := range keyEndings() {
		if c.name == "Expiry" { // has a test of its own
			continue
		}
		cases = append(cases, testCase{"After/" + c.name, "", func(d *desk) {
			id := d.send(key("k"), attempts(1), named("a"), remember(hour))
			c.end(d, id)
			d.wantKnown(id, "a")
		}})
	}
	return cases
}

func named(name string) func(*store.Message) {
	return func(m *store.Message) { m.DedupID = store.NewDedupID(name) }
}

func remember(ms int64) func(*store.Message) { return func(m *store.Message) { m.Remember = ms } }

// again is for a message that has been sent before.
func again(id store.ID) func(*store.Message) {
	return func(m *store.Message) { m.ID, m.New = id, false }
}

// wantKnown fails unless a push of a message that is gone or dead stores nothing, be it by
// its id or by its dedup id.
func (d *desk) wantKnown(id store.ID, name string) {
	d.t.Helper()
	live := d.liveOnes()
	other := d.message(named(name))
	d.wantEqual("by dedup id", d.push(other), []store.PushResult{{Code: store.CodeKnown, Holder: id}})
	d.wantGone(byID(other.ID))
	if rec, err := d.s.Get(d.t.Context(), d.p, byID(id)); err == nil {
		d.wantEqual("state", rec.State, store.Dead)
	} else {
		d.wantPushed(d.push(d.message(again(id), size(100))), store.CodeOK)
		d.wantGone(byID(id))
	}
	d.wantEqual("live messages", d.liveOnes(), live)
}

func (d *desk) liveOnes() int64 {
	d.t.Helper()
	s := d.stats()
	return s.Scheduled + s.Ready + s.Leased + s.Dead
}

func testDedupLive(d *desk) {
	for _, window := range []int64{0, hour} {
		name := time.Duration(window).String()
		id := d.send(named(name), remember(window), delay(hour))
		refused := func() {
			d.t.Helper()
			m := d.message(named(name))
			d.wantEqual("push", d.push(m), []store.PushResult{{Code: store.CodeKnown, Holder: id}})
			d.wantGone(byID(m.ID))
		}
		refused()
		d.reschedule(store.Move{Ref: byID(id)})
		refused()
		r := d.take("c").Receipt
		refused()
		d.wantSettled(store.Nack, r, store.CodeOK)
		refused()
		d.wantSettled(store.Again, d.take("c").Receipt, store.CodeOK)
		refused()
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
	d.wantEqual("deduplicated", d.stats().Counters.Deduplicated, int64(10))
}

func testDedupWithoutWindow(d *desk) {
	first := d.send(named("a"))
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	second := d.send(named("a"))
	d.wantCodes("cancel", d.cancel(byID(second)), store.CodeOK)
	third := d.send(named("a"))
	d.wantEqual("push", d.push(d.message(named("a"))), []store.PushResult{{Code: store.CodeKnown, Holder: third}})
	d.wantGone(byID(first), byID(second))
	d.wantEqual("remembered", d.stats().Remembered, int64(0))
}

func testDedupDead(d *desk) {
	id := d.dead(named("a"), remember(hour))
	d.wantKnown(id, "a")
	d.redrive(id)
	d.wantEqual("push", d.push(d.message(named("a"))), []store.PushResult{{Code: store.CodeKnown, Holder: id}})
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantKnown(id, "a")
	buried := d.dead(named("b"), remember(hour))
	d.wantEqual("purged", d.purge(store.Dead, 10), 1)
	d.wantKnown(buried, "b")
}

func testDedupWithinOnePush(d *desk) {
	a, b, c := d.message(named("a"), remember(hour)), d.message(named("a")), d.message(named("b"))
	d.wantEqual("push", d.push(a, b, c), []store.PushResult{{}, {Code: store.CodeKnown, Holder: a.ID}, {}})
	d.wantGone(byID(b.ID))
	d.wantEqual("live", d.liveOnes(), int64(2))
}

func testDedupReplacedWithinOnePush(d *desk) {
	old := d.send(key("k"), named("old"), remember(hour))
	a := d.message(key("k"), replacing, named("a"), remember(hour))
	b := d.message(key("k"), replacing, named("b"))
	d.wantPushed(d.push(
		a, b, d.message(key("k"), replacing), // the last one stays
		d.message(named("old")), d.message(named("a")), d.message(again(a.ID)), d.message(again(old)), d.message(named("b")),
	), store.CodeOK, store.CodeOK, store.CodeOK, store.CodeKnown, store.CodeKnown, store.CodeOK, store.CodeOK, store.CodeOK)
	d.wantEqual("live", d.liveOnes(), int64(2))
	d.wantKnown(a.ID, "a")
	d.wantKnown(old, "old")
}

func testDedupFirst(d *desk) {
	id := d.send(key("k"), named("a"), remember(hour))
	d.configure(store.Change{MaxMessages: pointer(int64(1))})
	known := []store.PushResult{{Code: store.CodeKnown, Holder: id}}
	d.wantEqual("the key is taken and the partition is full", d.push(d.message(key("k"), named("a"))), known)
	d.wantEqual("replacing", d.push(d.message(key("k"), replacing, named("a"))), known)
	d.wantEqual("too far ahead", d.push(d.message(named("a"), due(253402300799999))), known)
	d.wantState(id, store.Ready)
}

func testDedupRepeatedPush(d *desk) {
	r := d.pushRequest(d.message(named("a"), remember(hour)), d.message(named("a")), d.message(remember(hour)))
	want := []store.PushResult{{}, {Code: store.CodeKnown, Holder: r.Messages[0].ID}, {}}
	d.wantEqual("push", d.pushAs(r), want)
	for range 2 {
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
	d.wantEqual("again", d.pushAs(r), want)
	d.takeNothing("c")
	r.Producer = "another" // which has the messages from the first
	for i := range r.Messages {
		r.Messages[i].New = false
	}
	d.wantEqual("by another producer", d.pushAs(r), []store.PushResult{{}, {Code: store.CodeKnown, Holder: r.Messages[0].ID}, {}})
	d.takeNothing("c")
}

func testDedupIDFirst(d *desk) {
	a := d.send(named("a"), remember(hour))
	b := d.send(named("b"), remember(hour))
	both := d.message(again(b), named("a"))
	d.wantPushed(d.push(both), store.CodeOK)
	d.wantCodes("cancel", d.cancel(byID(a), byID(b)), store.CodeOK, store.CodeOK)
	d.wantPushed(d.push(both), store.CodeOK)
	d.wantEqual("live", d.liveOnes(), int64(0))
}

func testDedupWindow(d *desk) {
	id := d.send(named("a"), remember(60_000), delay(hour))
	d.pass(time.Hour + time.Millisecond)
	r := d.take("c").Receipt
	d.pass(50 * time.Minute)
	d.wantSettled(store.Ack, r, store.CodeOK)
	d.pass(59_990 * time.Millisecond)
	d.wantKnown(id, "a")
}

func testDedupAfterWindow(d *desk) {
	for _, edit := range []func(*store.Message){named("a"), named("other")} {
		id := d.send(named("a"), remember(60_000))
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
		d.pass(time.Minute + time.Millisecond)
		again := d.message(again(id), edit, remember(60_000))
		d.wantPushed(d.push(again), store.CodeOK)
		d.wantState(id, store.Ready)
		d.wantCodes("cancel", d.cancel(byID(id)), store.CodeOK)
		d.pass(59 * time.Second)
		d.wantPushed(d.push(again), store.CodeOK)
		d.wantGone(byID(id))
		d.pass(time.Minute)
	}
	d.wantSettled(store.Ack, d.sendAndTake(named("a"), remember(hour)).Receipt, store.CodeOK)
	d.pass(time.Minute) // what is over of the others is looked at here
	d.takeNothing("c")
	d.wantEqual("remembered", d.stats().Remembered, int64(1))
}

// sendAndTake sends a message and claims it.
func (d *desk) sendAndTake(edits ...func(*store.Message)) store.Delivery {
	d.t.Helper()
	d.send(edits...)
	return d.take("c")
}

func testDedupWindows(d *desk) {
	long := d.send(named("long"), remember(2*hour))
	short := d.send(named("short"), remember(hour))
	d.wantCodes("cancel", d.cancel(byID(long), byID(short)), store.CodeOK, store.CodeOK)
	d.pass(time.Hour + time.Second)
	d.wantKnown(long, "long")
	d.wantPushed(d.push(d.message(again(short), named("short"))), store.CodeOK)
	d.wantState(short, store.Ready)
	d.pass(time.Hour)
	d.send(named("long"))
}

func testDedupLapses(d *desk) {
	const n = 1200
	d.sendMany(n, remember(60_000))
	d.send(named("a"), remember(60_000))
	for _, v := range d.drain("c", store.MaxBatch) {
		d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	d.wantEqual("remembered", d.stats().Remembered, int64(n+1))
	d.pass(time.Minute + time.Millisecond)
	for range maxClaims {
		if d.takeNothing("c"); d.stats().Remembered == 0 {
			d.wantCounters(store.Counters{Sent: n + 1, Delivered: n + 1, Acked: n + 1})
			return
		}
	}
	d.t.Fatalf("%d are remembered still", d.stats().Remembered)
}

func testDedupReopen(d *desk) {
	gone := d.send(named("gone"), remember(hour))
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	live, unnamed := d.send(named("live"), remember(hour)), d.send(remember(hour))
	short := d.send(named("without"))
	d.s = d.h.Reopen(d.t)
	d.wantKnown(gone, "gone")
	d.wantEqual("without a window", d.push(d.message(named("without"))), []store.PushResult{{Code: store.CodeKnown, Holder: short}})
	d.wantEqual("live", d.push(d.message(named("live"))), []store.PushResult{{Code: store.CodeKnown, Holder: live}})
	d.wantCodes("cancel", d.cancel(byID(live), byID(short), byID(unnamed)), store.CodeOK, store.CodeOK, store.CodeOK)
	d.s = d.h.Reopen(d.t)
	d.wantKnown(gone, "gone")
	d.wantKnown(live, "live")
	d.wantPushed(d.push(d.message(again(unnamed))), store.CodeOK)
	d.wantGone(byID(unnamed))
	d.send(named("without"))
	d.wantEqual("remembered", d.stats().Remembered, int64(3))
}

func testDedupExpired(d *desk) {
	id := d.send(named("a"), remember(hour), ttl(shortTTL))
	d.expire(id)
	d.takeNothing("c")
	d.wantKnown(id, "a")
}
