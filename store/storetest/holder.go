package storetest

import (
	"time"

	"github.com/dueq-dev/dueq/store"
)

var verdicts = []store.Verdict{store.Ack, store.Nack, store.Release, store.Snooze, store.Again, store.Reject, Extend, Start}

// oneHolder holds promise 3: one valid receipt per message, and only it settles.
func oneHolder() []testCase {
	return []testCase{
		{"NobodyElseGetsIt", "", testNobodyElseGetsIt},
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

func testNobodyElseGetsIt(d *desk) {
	id := d.send()
	d.take("a")
	for _, c := range []string{"a", "b", "c"} {
		d.takeNothing(c)
	}
	rec := d.wantState(id, store.Leased)
	d.wantEqual("attempt", rec.Attempt, 1)
	d.wantEqual("leased", recordIDs(d.list(store.Leased, 10)), []store.ID{id})
	d.wantEqual("ready", d.list(store.Ready, 10), []store.Record(nil))
}

func testStaleReceipt(d *desk) {
	id := d.send(key("k"))
	old := d.takeFor("a", shortLease).Receipt
	d.runOut()
	current := d.take("b").Receipt
	before := d.get(byID(id))
	for _, v := range verdicts {
		d.wantSettled(v, old, store.CodeLeaseLost)
		d.wantEqual("record after a stale "+string(v), d.get(byID(id)), before)
	}
	d.wantSettled(store.Ack, current, store.CodeOK)
	for _, v := range verdicts {
		d.wantSettled(v, old, store.CodeGone)
	}
	d.wantCounters(store.Counters{Sent: 1, Delivered: 2, LeaseLost: 1, Acked: 1})
}

func testForgedReceipt(d *desk) {
	scheduled, leased := d.send(delay(hour)), d.send()
	d.take("c")
	unknown := d.message().ID
	for _, v := range verdicts {
		d.wantSettled(v, store.Receipt{ID: unknown, Attempt: 1}, store.CodeGone)
		d.wantSettled(v, store.Receipt{ID: scheduled, Attempt: 1}, store.CodeLeaseLost)
		d.wantSettled(v, store.Receipt{ID: leased, Attempt: 2}, store.CodeLeaseLost)
	}
	d.wantState(scheduled, store.Scheduled)
	d.wantState(leased, store.Leased)
	d.wantCounters(store.Counters{Sent: 2, Delivered: 1})
}

// A lease that has run out is its holder's until a claim has put the message back.
func testRunOutNotTaken(d *desk) {
	for _, c := range []struct {
		verdict store.Verdict
		check   func(id store.ID)
	}{
		{store.Ack, func(id store.ID) { d.wantGone(byID(id)) }},
		{store.Nack, func(id store.ID) { d.wantEqual("failures", d.wantState(id, store.Ready).Failures, 1) }},
		{store.Release, func(id store.ID) { d.wantEqual("failures", d.wantState(id, store.Ready).Failures, 0) }},
		{store.Again, func(id store.ID) { d.wantEqual("earlier", d.wantState(id, store.Ready).Earlier, 1) }},
		{store.Snooze, func(id store.ID) { d.wantEqual("snoozes", d.wantState(id, store.Ready).Snoozes, 1) }},
		{store.Reject, func(id store.ID) { d.wantState(id, store.Dead) }},
		{Extend, func(id store.ID) { d.takeNothing("c"); d.wantState(id, store.Leased) }},
		{Start, func(id store.ID) { d.takeNothing("c"); d.wantState(id, store.Leased) }},
	} {
		id := d.send()
		r := d.takeFor("c", shortLease).Receipt
		d.runOut()
		d.wantState(id, store.Leased)
		d.wantSettled(c.verdict, r, store.CodeOK)
		c.check(id)
		if lengthens(c.verdict) {
			d.wantSettled(store.Ack, r, store.CodeOK)
		} else {
			d.cancel(byID(id))
		}
	}
	d.wantEqual("leases lost", d.stats().Counters.LeaseLost, int64(0))
}

func testExtendKeeps(d *desk) {
	id := d.send()
	r := d.takeFor("a", shortLease).Receipt
	first := d.get(byID(id)).At
	d.wantSettled(Extend, r, store.CodeOK)
	if at := d.get(byID(id)).At; at < first+longLease-shortLease {
		d.t.Fatalf("lease ends at %d, before at %d: not extended", at, first)
	}
	d.pass((shortLease + 1) * time.Millisecond)
	d.takeNothing("b")
	d.wantSettled(store.Ack, r, store.CodeOK)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, Acked: 1})
}

func testExtendNeverShortens(d *desk) {
	id := d.send()
	r := d.take("a").Receipt
	at := d.get(byID(id)).At
	shorter := store.SettleRequest{Verdict: Extend, Items: []store.Settlement{{Receipt: r, Delay: shortLease}}}
	d.wantCodes("extend", d.settleAs(shorter), store.CodeOK)
	d.wantEqual("end of lease", d.get(byID(id)).At, at)
}

func testExtendRoundsUp(d *desk) {
	id := d.send()
	r := d.takeFor("a", shortLease).Receipt
	d.offset(1)
	ms := d.h.Now().UnixMilli()
	d.wantSettled(Extend, r, store.CodeOK)
	d.wantEqual("end of lease", d.get(byID(id)).At, ms+1+longLease)
}

func testLeaseEndsOnTime(d *desk) {
	d.offset(400)
	id := d.send()
	d.takeFor("a", shortLease)
	d.h.Advance(shortLease*time.Millisecond + 599*time.Microsecond)
	d.wantEqual("wait", d.takeNothing("b").Wait, time.Microsecond)
	d.h.Advance(time.Microsecond)
	v := d.take("b")
	d.wantEqual("receipt", v.Receipt, store.Receipt{ID: id, Attempt: 2})
	d.wantEqual("due", v.Due, d.h.Now().UnixMilli())
	d.wantEqual("failures", v.Failures, 0)
}

func testReceiptsNeverReissued(d *desk) {
	id := d.send(key("k"))
	seen := map[string]bool{}
	last := 0
	next := func() store.Receipt {
		r := d.takeFor("c", shortLease).Receipt
		if seen[r.String()] || r.Attempt <= last {
			d.t.Fatalf("receipt %v after attempt %d", r, last)
		}
		seen[r.String()], last = true, r.Attempt
		return r
	}
	for range 3 {
		d.wantSettled(store.Release, next(), store.CodeOK)
		d.wantSettled(store.Nack, next(), store.CodeOK)
		next()
		d.runOut()
		d.wantSettled(store.Reject, next(), store.CodeOK)
		d.wantPushed(d.redrive(id), store.CodeOK)
	}
	d.wantEqual("attempts", last, 12)
}

func testMixedBatch(d *desk) {
	gone, stale, leased, keyed, waiting := d.send(), d.send(), d.send(), d.send(key("k")), d.send(delay(hour))
	got := receipts(d.claim("c", 4).Deliveries)
	d.wantEqual("claimed", len(got), 4)
	d.wantSettled(store.Ack, got[0], store.CodeOK)
	d.wantSettled(store.Release, got[1], store.CodeOK)
	items := []store.Settlement{
		{Receipt: got[2]},
		{Receipt: got[0]},
		{Receipt: got[1]},
		{Receipt: got[3]},
		{Receipt: got[2]},
		{Receipt: store.Receipt{ID: waiting, Attempt: 1}},
	}
	d.wantCodes("ack of a mixed batch", d.settleAs(store.SettleRequest{Verdict: store.Ack, Items: items}),
		store.CodeOK, store.CodeGone, store.CodeLeaseLost, store.CodeOK, store.CodeGone, store.CodeLeaseLost)
	d.wantGone(byID(gone), byID(leased), byID(keyed), byKey("k"))
	d.wantState(stale, store.Ready)
	d.wantCounters(store.Counters{Sent: 5, Delivered: 4, Acked: 3, Released: 1})
}
