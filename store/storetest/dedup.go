package storetest

import (
	"time"

	"github.com/dueq-dev/dueq/store"
)

// remembering tests that a store recognizes messages that are gone when they are sent again.
func remembering() []testCase {
	cases := []testCase{
		{"DedupIDOfALiveMessage", "", testDedupLive},
		{"DedupIDWithoutAWindowIsFreeAfterTheEnd", "", testDedupWithoutWindow},
		{"DeadMessagesAreKnown", "", testDedupDead},
		{"WithinOnePush", "", testDedupWithinOnePush},
		{"ReplacedWithinOnePush", "", testDedupReplacedWithinOnePush},
		{"BeforeAllOtherAnswers", "", testDedupFirst},
		{"RepeatedPushGetsItsAnswer", "", testDedupRepeatedPush},
		{"IDBeforeDedupID", "", testDedupIDFirst},
		{"WindowBeginsAtTheEnd", manualClock, testDedupWindow},
		{"StoredAgainAfterTheWindow", manualClock, testDedupAfterWindow},
		{"EachHasItsOwnWindow", manualClock, testDedupWindows},
		{"ForgottenAfterTheWindow", manualClock, testDedupLapses},
		{"SurvivesReopen", reopening, testDedupReopen},
		{"ExpiredMessagesAreRemembered", "", testDedupExpired},
	}
	for _, c := range keyEndings() {
		if c.name == "Expiry" { // it has a test of its own
			continue
		}
		cases = append(cases, testCase{"After/" + c.name, "", func(g *rig) {
			id := g.send(key("k"), attempts(1), named("a"), remember(hour))
			c.end(g, id)
			g.wantKnown(id, "a")
		}})
	}
	return cases
}

func named(name string) func(*store.Message) {
	return func(m *store.Message) { m.DedupID = store.NewDedupID(name) }
}

func remember(ms int64) func(*store.Message) { return func(m *store.Message) { m.Remember = ms } }

// again makes a message one that has been sent before.
func again(id store.ID) func(*store.Message) {
	return func(m *store.Message) { m.ID, m.New = id, false }
}

// wantKnown fails unless pushing a message again that is gone or dead stores nothing, both with
// its id and with its dedup id.
func (g *rig) wantKnown(id store.ID, name string) {
	g.t.Helper()
	live := g.liveOnes()
	other := g.message(named(name))
	g.wantEqual("by dedup id", g.push(other), []store.PushResult{{Code: store.CodeKnown, Holder: id}})
	g.wantGone(byID(other.ID))
	if rec, err := g.s.Get(g.t.Context(), g.p, byID(id)); err == nil {
		g.wantEqual("state", rec.State, store.Dead)
	} else {
		g.wantPushed(g.push(g.message(again(id), size(100))), store.CodeOK)
		g.wantGone(byID(id))
	}
	g.wantEqual("live messages", g.liveOnes(), live)
}

func (g *rig) liveOnes() int64 {
	g.t.Helper()
	s := g.stats()
	return s.Scheduled + s.Ready + s.Leased + s.Dead
}

func testDedupLive(g *rig) {
	for _, window := range []int64{0, hour} {
		name := time.Duration(window).String()
		id := g.send(named(name), remember(window), delay(hour))
		refused := func() {
			g.t.Helper()
			m := g.message(named(name))
			g.wantEqual("push", g.push(m), []store.PushResult{{Code: store.CodeKnown, Holder: id}})
			g.wantGone(byID(m.ID))
		}
		refused()
		g.reschedule(store.Move{Ref: byID(id)})
		refused()
		r := g.take("c").Receipt
		refused()
		g.wantSettled(store.Nack, r, store.CodeOK)
		refused()
		g.wantSettled(store.Again, g.take("c").Receipt, store.CodeOK)
		refused()
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	g.wantEqual("deduplicated", g.stats().Counters.Deduplicated, int64(10))
}

func testDedupWithoutWindow(g *rig) {
	first := g.send(named("a"))
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	second := g.send(named("a"))
	g.wantCodes("cancel", g.cancel(byID(second)), store.CodeOK)
	third := g.send(named("a"))
	g.wantEqual("push", g.push(g.message(named("a"))), []store.PushResult{{Code: store.CodeKnown, Holder: third}})
	g.wantGone(byID(first), byID(second))
	g.wantEqual("remembered", g.stats().Remembered, int64(0))
}

func testDedupDead(g *rig) {
	id := g.dead(named("a"), remember(hour))
	g.wantKnown(id, "a")
	g.redrive(id)
	g.wantEqual("push", g.push(g.message(named("a"))), []store.PushResult{{Code: store.CodeKnown, Holder: id}})
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantKnown(id, "a")
	buried := g.dead(named("b"), remember(hour))
	g.wantEqual("purged", g.purge(store.Dead, 10), 1)
	g.wantKnown(buried, "b")
}

func testDedupWithinOnePush(g *rig) {
	a, b, c := g.message(named("a"), remember(hour)), g.message(named("a")), g.message(named("b"))
	g.wantEqual("push", g.push(a, b, c), []store.PushResult{{}, {Code: store.CodeKnown, Holder: a.ID}, {}})
	g.wantGone(byID(b.ID))
	g.wantEqual("live", g.liveOnes(), int64(2))
}

func testDedupReplacedWithinOnePush(g *rig) {
	old := g.send(key("k"), named("old"), remember(hour))
	a := g.message(key("k"), replacing, named("a"), remember(hour))
	b := g.message(key("k"), replacing, named("b"))
	g.wantPushed(g.push(
		a, b, g.message(key("k"), replacing), // the last one is stored
		g.message(named("old")), g.message(named("a")), g.message(again(a.ID)), g.message(again(old)), g.message(named("b")),
	), store.CodeOK, store.CodeOK, store.CodeOK, store.CodeKnown, store.CodeKnown, store.CodeOK, store.CodeOK, store.CodeOK)
	g.wantEqual("live", g.liveOnes(), int64(2))
	g.wantKnown(a.ID, "a")
	g.wantKnown(old, "old")
}

func testDedupFirst(g *rig) {
	id := g.send(key("k"), named("a"), remember(hour))
	g.configure(store.Change{MaxMessages: pointer(int64(1))})
	known := []store.PushResult{{Code: store.CodeKnown, Holder: id}}
	g.wantEqual("the key is taken and the partition is full", g.push(g.message(key("k"), named("a"))), known)
	g.wantEqual("replacing", g.push(g.message(key("k"), replacing, named("a"))), known)
	g.wantEqual("too far ahead", g.push(g.message(named("a"), due(253402300799999))), known)
	g.wantState(id, store.Ready)
}

func testDedupRepeatedPush(g *rig) {
	r := g.pushRequest(g.message(named("a"), remember(hour)), g.message(named("a")), g.message(remember(hour)))
	want := []store.PushResult{{}, {Code: store.CodeKnown, Holder: r.Messages[0].ID}, {}}
	g.wantEqual("push", g.pushAs(r), want)
	for range 2 {
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	g.wantEqual("again", g.pushAs(r), want)
	g.takeNothing("c")
	r.Producer = "another" // the messages are those of the first producer
	for i := range r.Messages {
		r.Messages[i].New = false
	}
	g.wantEqual("by another producer", g.pushAs(r), []store.PushResult{{}, {Code: store.CodeKnown, Holder: r.Messages[0].ID}, {}})
	g.takeNothing("c")
}

func testDedupIDFirst(g *rig) {
	a := g.send(named("a"), remember(hour))
	b := g.send(named("b"), remember(hour))
	both := g.message(again(b), named("a"))
	g.wantPushed(g.push(both), store.CodeOK)
	g.wantCodes("cancel", g.cancel(byID(a), byID(b)), store.CodeOK, store.CodeOK)
	g.wantPushed(g.push(both), store.CodeOK)
	g.wantEqual("live", g.liveOnes(), int64(0))
}

func testDedupWindow(g *rig) {
	id := g.send(named("a"), remember(60_000), delay(hour))
	g.pass(time.Hour + time.Millisecond)
	r := g.take("c").Receipt
	g.pass(50 * time.Minute)
	g.wantSettled(store.Ack, r, store.CodeOK)
	g.pass(59_990 * time.Millisecond)
	g.wantKnown(id, "a")
}

func testDedupAfterWindow(g *rig) {
	for _, edit := range []func(*store.Message){named("a"), named("other")} {
		id := g.send(named("a"), remember(60_000))
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
		g.pass(time.Minute + time.Millisecond)
		again := g.message(again(id), edit, remember(60_000))
		g.wantPushed(g.push(again), store.CodeOK)
		g.wantState(id, store.Ready)
		g.wantCodes("cancel", g.cancel(byID(id)), store.CodeOK)
		g.pass(59 * time.Second)
		g.wantPushed(g.push(again), store.CodeOK)
		g.wantGone(byID(id))
		g.pass(time.Minute)
	}
	g.wantSettled(store.Ack, g.sendAndTake(named("a"), remember(hour)).Receipt, store.CodeOK)
	g.pass(time.Minute) // the store forgets the others, whose time is over
	g.takeNothing("c")
	g.wantEqual("remembered", g.stats().Remembered, int64(1))
}

// sendAndTake sends a message and claims it.
func (g *rig) sendAndTake(edits ...func(*store.Message)) store.Delivery {
	g.t.Helper()
	g.send(edits...)
	return g.take("c")
}

func testDedupWindows(g *rig) {
	long := g.send(named("long"), remember(2*hour))
	short := g.send(named("short"), remember(hour))
	g.wantCodes("cancel", g.cancel(byID(long), byID(short)), store.CodeOK, store.CodeOK)
	g.pass(time.Hour + time.Second)
	g.wantKnown(long, "long")
	g.wantPushed(g.push(g.message(again(short), named("short"))), store.CodeOK)
	g.wantState(short, store.Ready)
	g.pass(time.Hour)
	g.send(named("long"))
}

func testDedupLapses(g *rig) {
	const n = 1200
	g.sendMany(n, remember(60_000))
	g.send(named("a"), remember(60_000))
	for _, v := range g.drain("c", store.MaxBatch) {
		g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	g.wantEqual("remembered", g.stats().Remembered, int64(n+1))
	g.pass(time.Minute + time.Millisecond)
	for range maxClaims {
		if g.takeNothing("c"); g.stats().Remembered == 0 {
			g.wantCounters(store.Counters{Sent: n + 1, Delivered: n + 1, Acked: n + 1})
			return
		}
	}
	g.t.Fatalf("%d messages are still remembered", g.stats().Remembered)
}

func testDedupReopen(g *rig) {
	gone := g.send(named("gone"), remember(hour))
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	live, unnamed := g.send(named("live"), remember(hour)), g.send(remember(hour))
	short := g.send(named("without"))
	g.s = g.h.Reopen(g.t)
	g.wantKnown(gone, "gone")
	g.wantEqual("without a window", g.push(g.message(named("without"))), []store.PushResult{{Code: store.CodeKnown, Holder: short}})
	g.wantEqual("live", g.push(g.message(named("live"))), []store.PushResult{{Code: store.CodeKnown, Holder: live}})
	g.wantCodes("cancel", g.cancel(byID(live), byID(short), byID(unnamed)), store.CodeOK, store.CodeOK, store.CodeOK)
	g.s = g.h.Reopen(g.t)
	g.wantKnown(gone, "gone")
	g.wantKnown(live, "live")
	g.wantPushed(g.push(g.message(again(unnamed))), store.CodeOK)
	g.wantGone(byID(unnamed))
	g.send(named("without"))
	g.wantEqual("remembered", g.stats().Remembered, int64(3))
}

func testDedupExpired(g *rig) {
	id := g.send(named("a"), remember(hour), ttl(shortTTL))
	g.expire(id)
	g.takeNothing("c")
	g.wantKnown(id, "a")
}
