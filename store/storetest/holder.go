package storetest

import (
	"time"

	"github.com/dueq-dev/dueq/store"
)

var verdicts = []store.Verdict{store.Ack, store.Nack, store.Release, store.Snooze, store.Again, store.Reject, Extend, Start}

// oneHolder tests that a message has one valid receipt, and that only this one settles it.
func oneHolder() []testCase {
	return []testCase{
		{"NoOtherConsumerGetsIt", "", testNoOtherConsumerGetsIt},
		{"StaleReceiptDoesNothing", "", testStaleReceipt},
		{"ForgedReceiptDoesNothing", "", testForgedReceipt},
		{"RunOutButNotTakenYet", "", testRunOutNotTaken},
		{"ExtendKeepsTheLease", "", testExtendKeeps},
		{"ExtendNeverShortens", "", testExtendNeverShortens},
		{"ExtendRoundsUp", manualClock, testExtendRoundsUp},
		{"LeaseEndsOnTime", manualClock, testLeaseEndsOnTime},
		{"ReceiptsAreNeverReissued", "", testReceiptsNeverReissued},
		{"MixedBatch", "", testMixedBatch},
	}
}

func testNoOtherConsumerGetsIt(g *rig) {
	id := g.send()
	g.take("a")
	for _, c := range []string{"a", "b", "c"} {
		g.takeNothing(c)
	}
	rec := g.wantState(id, store.Leased)
	g.wantEqual("attempt", rec.Attempt, 1)
	g.wantEqual("leased", recordIDs(g.list(store.Leased, 10)), []store.ID{id})
	g.wantEqual("ready", g.list(store.Ready, 10), []store.Record(nil))
}

func testStaleReceipt(g *rig) {
	id := g.send(key("k"))
	old := g.takeFor("a", shortLease).Receipt
	g.runOut()
	current := g.take("b").Receipt
	before := g.get(byID(id))
	for _, v := range verdicts {
		g.wantSettled(v, old, store.CodeLeaseLost)
		g.wantEqual("record after a stale "+string(v), g.get(byID(id)), before)
	}
	g.wantSettled(store.Ack, current, store.CodeOK)
	for _, v := range verdicts {
		g.wantSettled(v, old, store.CodeGone)
	}
	g.wantCounters(store.Counters{Sent: 1, Delivered: 2, LeaseLost: 1, Acked: 1})
}

func testForgedReceipt(g *rig) {
	scheduled, leased := g.send(delay(hour)), g.send()
	g.take("c")
	unknown := g.message().ID
	for _, v := range verdicts {
		g.wantSettled(v, store.Receipt{ID: unknown, Attempt: 1}, store.CodeGone)
		g.wantSettled(v, store.Receipt{ID: scheduled, Attempt: 1}, store.CodeLeaseLost)
		g.wantSettled(v, store.Receipt{ID: leased, Attempt: 2}, store.CodeLeaseLost)
	}
	g.wantState(scheduled, store.Scheduled)
	g.wantState(leased, store.Leased)
	g.wantCounters(store.Counters{Sent: 2, Delivered: 1})
}

// A lease that has run out can still be extended and settled until a claim puts the message back.
func testRunOutNotTaken(g *rig) {
	for _, c := range []struct {
		verdict store.Verdict
		check   func(id store.ID)
	}{
		{store.Ack, func(id store.ID) { g.wantGone(byID(id)) }},
		{store.Nack, func(id store.ID) { g.wantEqual("failures", g.wantState(id, store.Ready).Failures, 1) }},
		{store.Release, func(id store.ID) { g.wantEqual("failures", g.wantState(id, store.Ready).Failures, 0) }},
		{store.Again, func(id store.ID) { g.wantEqual("earlier", g.wantState(id, store.Ready).Earlier, 1) }},
		{store.Snooze, func(id store.ID) { g.wantEqual("snoozes", g.wantState(id, store.Ready).Snoozes, 1) }},
		{store.Reject, func(id store.ID) { g.wantState(id, store.Dead) }},
		{Extend, func(id store.ID) { g.takeNothing("c"); g.wantState(id, store.Leased) }},
		{Start, func(id store.ID) { g.takeNothing("c"); g.wantState(id, store.Leased) }},
	} {
		id := g.send()
		r := g.takeFor("c", shortLease).Receipt
		g.runOut()
		g.wantState(id, store.Leased)
		g.wantSettled(c.verdict, r, store.CodeOK)
		c.check(id)
		if lengthens(c.verdict) {
			g.wantSettled(store.Ack, r, store.CodeOK)
		} else {
			g.cancel(byID(id))
		}
	}
	g.wantEqual("leases lost", g.stats().Counters.LeaseLost, int64(0))
}

func testExtendKeeps(g *rig) {
	id := g.send()
	r := g.takeFor("a", shortLease).Receipt
	first := g.get(byID(id)).At
	g.wantSettled(Extend, r, store.CodeOK)
	if at := g.get(byID(id)).At; at < first+longLease-shortLease {
		g.t.Fatalf("lease ends at %d, before at %d: not extended", at, first)
	}
	g.pass((shortLease + 1) * time.Millisecond)
	g.takeNothing("b")
	g.wantSettled(store.Ack, r, store.CodeOK)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, Acked: 1})
}

func testExtendNeverShortens(g *rig) {
	id := g.send()
	r := g.take("a").Receipt
	at := g.get(byID(id)).At
	shorter := store.SettleRequest{Verdict: Extend, Items: []store.Settlement{{Receipt: r, Delay: shortLease}}}
	g.wantCodes("extend", g.settleAs(shorter), store.CodeOK)
	g.wantEqual("end of lease", g.get(byID(id)).At, at)
}

func testExtendRoundsUp(g *rig) {
	id := g.send()
	r := g.takeFor("a", shortLease).Receipt
	g.offset(1)
	ms := g.h.Now().UnixMilli()
	g.wantSettled(Extend, r, store.CodeOK)
	g.wantEqual("end of lease", g.get(byID(id)).At, ms+1+longLease)
}

func testLeaseEndsOnTime(g *rig) {
	g.offset(400)
	id := g.send()
	g.takeFor("a", shortLease)
	g.h.Advance(shortLease*time.Millisecond + 599*time.Microsecond)
	g.wantEqual("wait", g.takeNothing("b").Wait, time.Microsecond)
	g.h.Advance(time.Microsecond)
	v := g.take("b")
	g.wantEqual("receipt", v.Receipt, store.Receipt{ID: id, Attempt: 2})
	g.wantEqual("due", v.Due, g.h.Now().UnixMilli())
	g.wantEqual("failures", v.Failures, 0)
}

func testReceiptsNeverReissued(g *rig) {
	id := g.send(key("k"))
	seen := map[string]bool{}
	last := 0
	next := func() store.Receipt {
		r := g.takeFor("c", shortLease).Receipt
		if seen[r.String()] || r.Attempt <= last {
			g.t.Fatalf("receipt %v after attempt %d", r, last)
		}
		seen[r.String()], last = true, r.Attempt
		return r
	}
	for range 3 {
		g.wantSettled(store.Release, next(), store.CodeOK)
		g.wantSettled(store.Nack, next(), store.CodeOK)
		next()
		g.runOut()
		g.wantSettled(store.Reject, next(), store.CodeOK)
		g.wantPushed(g.redrive(id), store.CodeOK)
	}
	g.wantEqual("attempts", last, 12)
}

func testMixedBatch(g *rig) {
	gone, stale, leased, keyed, waiting := g.send(), g.send(), g.send(), g.send(key("k")), g.send(delay(hour))
	got := receipts(g.claim("c", 4).Deliveries)
	g.wantEqual("claimed", len(got), 4)
	g.wantSettled(store.Ack, got[0], store.CodeOK)
	g.wantSettled(store.Release, got[1], store.CodeOK)
	items := []store.Settlement{
		{Receipt: got[2]},
		{Receipt: got[0]},
		{Receipt: got[1]},
		{Receipt: got[3]},
		{Receipt: got[2]},
		{Receipt: store.Receipt{ID: waiting, Attempt: 1}},
	}
	g.wantCodes("ack of a mixed batch", g.settleAs(store.SettleRequest{Verdict: store.Ack, Items: items}),
		store.CodeOK, store.CodeGone, store.CodeLeaseLost, store.CodeOK, store.CodeGone, store.CodeLeaseLost)
	g.wantGone(byID(gone), byID(leased), byID(keyed), byKey("k"))
	g.wantState(stale, store.Ready)
	g.wantCounters(store.Counters{Sent: 5, Delivered: 4, Acked: 3, Released: 1})
}
