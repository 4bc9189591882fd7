package storetest

import (
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// parting returns a settlement that ends an occurrence for good, with the next one after span ms.
func (g *rig) parting(r store.Receipt, schedule string, span int64) store.Settlement {
	now, err := g.s.Now(g.t.Context(), g.p)
	g.noError("now", err)
	return store.Settlement{
		Receipt: r, Failure: "no luck", Next: &store.Occurrence{Due: now + span, Repeat: schedule},
		Letter: route.FollowingID(r.ID, int64(r.Attempt), -1, r.ID.Partition()),
	}
}

func (g *rig) part(v store.Verdict, item store.Settlement, want store.Code) {
	g.t.Helper()
	g.wantCodes(string(v), g.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item}}), want)
}

func testPartNack(g *rig) {
	id := g.recur(attempts(2))
	plain := g.get(byID(id))
	v := g.take("c")
	item := g.parting(v.Receipt, daily, hour)
	g.part(store.Nack, item, store.CodeOK) // attempts are left
	rec := g.wantState(id, store.Ready)
	g.wantEqual("failures, failure", []any{rec.Failures, rec.LastFailure}, []any{1, "no luck"})
	item = g.parting(g.take("c").Receipt, daily, hour)
	g.part(store.Nack, item, store.CodeDead)

	rec = g.wantState(id, store.Scheduled)
	g.wantEqual("series", strip(rec), store.Record{
		ID: id, Key: "k", BodySize: plain.BodySize, State: store.Scheduled, MaxAttempts: 2, Attempt: 2, Earlier: 2, Repeat: daily,
	})
	g.wantEqual("due", rec.At, item.Next.Due)
	letter := g.wantState(item.Letter, store.Dead)
	g.wantEqual("letter", strip(letter), store.Record{
		ID: item.Letter, Key: "k", BodySize: plain.BodySize, State: store.Dead, MaxAttempts: 2, Attempt: 2, Failures: 2, LastFailure: "no luck",
		RecentFailures: []store.Failure{{Attempt: 2, Text: "no luck"}, {Attempt: 1, Text: "no luck"}}, Letter: true,
	})
	g.wantEqual("body", letter.Body, plain.Body)
	g.wantEqual("of the key", g.get(byKey("k")).ID, id)
	g.wantCounters(store.Counters{Sent: 2, Delivered: 2, Nacked: 2, DeadLettered: 1})
	g.wantEqual("sizes", []int64{g.stats().Scheduled, g.stats().Dead}, []int64{1, 1})
	g.reschedule(store.Move{Ref: byKey("k")})
	v = g.take("c")
	g.wantEqual("next", []any{v.Receipt.Attempt, v.Earlier, v.Failures, v.Repeat}, []any{3, 2, 0, daily})
}

func testPartReject(g *rig) {
	id := g.recur()
	item := g.parting(g.take("c").Receipt, daily, 0)
	g.part(store.Reject, item, store.CodeOK)
	g.wantState(id, store.Ready)
	letter := g.wantState(item.Letter, store.Dead)
	g.wantEqual("letter", []any{letter.Attempt, letter.Failures, letter.LastFailure}, []any{1, 1, "no luck"})
	second := g.parting(g.take("c").Receipt, daily, hour)
	second.Failure = ""
	g.part(store.Reject, second, store.CodeOK)
	g.wantEqual("dead", len(g.list(store.Dead, 10)), 2)
	g.wantCounters(store.Counters{Sent: 3, Delivered: 2, Rejected: 2, DeadLettered: 2})
}

func testPartRefused(g *rig) {
	far := g.farFuture()
	id := g.recur(attempts(1))
	r := g.take("c").Receipt
	before := g.get(byID(id))
	late, other := g.parting(r, daily, hour), g.parting(r, hourly, hour)
	late.Next.Due = far
	for _, v := range []store.Verdict{store.Nack, store.Reject} {
		g.part(v, late, store.CodeTooFar)
		g.part(v, other, store.CodeChanged)
	}
	g.wantEqual("record", g.get(byID(id)), before)
	g.wantGone(byID(late.Letter))
	g.part(store.Nack, g.parting(r, daily, hour), store.CodeDead)
}

func testPartRepeated(g *rig) {
	id := g.recur(attempts(1))
	nacked := g.parting(g.take("c").Receipt, daily, 0)
	for range 3 {
		g.part(store.Nack, nacked, store.CodeDead)
		g.wantSettled(store.Nack, nacked.Receipt, store.CodeDead)
		g.part(store.Reject, nacked, store.CodeLeaseLost)
		g.wantSettled(store.Again, nacked.Receipt, store.CodeLeaseLost)
	}
	rejected := g.parting(g.take("c").Receipt, daily, hour)
	for range 3 {
		g.part(store.Reject, rejected, store.CodeOK)
		g.wantSettled(store.Reject, rejected.Receipt, store.CodeOK)
		g.part(store.Nack, rejected, store.CodeLeaseLost)
	}
	g.wantEqual("dead", len(g.list(store.Dead, 10)), 2)
	g.cancel(byID(id))
	g.part(store.Nack, nacked, store.CodeGone)
	g.wantCounters(store.Counters{Sent: 3, Delivered: 2, Nacked: 1, Rejected: 1, DeadLettered: 2, Cancelled: 1})
}

func testPartCancelled(g *rig) {
	id := g.recur(attempts(1))
	item := g.parting(g.take("c").Receipt, daily, hour)
	g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeRunning)
	g.part(store.Nack, item, store.CodeCancelled)
	g.wantGone(byID(id), byKey("k"), byID(item.Letter))
}

func testPartMixed(g *rig) {
	series, plain := g.recur(attempts(1)), g.send(attempts(1))
	first, second := g.takeOf(series), g.takeOf(plain)
	items := []store.Settlement{{Receipt: second, Failure: "plain"}, g.parting(first, daily, hour), {Receipt: second}}
	g.wantCodes("nack", g.settleAs(store.SettleRequest{Verdict: store.Nack, Items: items}), store.CodeDead, store.CodeDead, store.CodeDead)
	g.wantState(plain, store.Dead)
	g.wantState(series, store.Scheduled)
	g.wantState(items[1].Letter, store.Dead)
}

func testLetterKey(g *rig) {
	id := g.recur()
	first := g.parting(g.take("c").Receipt, daily, 0)
	g.part(store.Reject, first, store.CodeOK)
	g.wantEqual("of the key", g.get(byKey("k")).ID, id)
	second := g.parting(g.take("c").Receipt, daily, hour)
	g.part(store.Reject, second, store.CodeOK)
	g.wantCodes("cancel", g.cancel(byID(id)), store.CodeOK)
	g.wantEqual("died last", g.get(byKey("k")).ID, second.Letter)
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byKey("k")}), store.CodeDead)
	g.wantCodes("delete", g.cancelAs(store.CancelRequest{Caller: "manager", Number: g.number("manager"), Refs: []store.Ref{byKey("k")}, Dead: true}), store.CodeOK)
	g.wantEqual("the one before", g.get(byKey("k")).ID, first.Letter)
	g.wantPushed(g.redrive(first.Letter), store.CodeOK)
	g.wantGone(byKey("k"))
	g.wantSettled(store.Reject, g.takeOf(first.Letter), store.CodeOK)
	g.wantEqual("dead again", g.get(byKey("k")).ID, first.Letter)
	g.send(key("k")) // no letter holds the key
}

func testLetterRedriven(g *rig) {
	id := g.recur()
	item := g.parting(g.take("c").Receipt, daily, hour)
	g.part(store.Reject, item, store.CodeOK)
	g.wantPushed(g.redrive(item.Letter), store.CodeOK)
	g.wantEqual("of the key", g.get(byKey("k")).ID, id)
	v := g.take("c")
	g.wantEqual("delivered", []any{v.Receipt, v.Key, v.Repeat, v.Now, v.Failures, string(v.Body)},
		[]any{store.Receipt{ID: item.Letter, Attempt: 2, Keyed: true}, "k", "", int64(0), 0, "body"})
	g.wantSettled(store.Nack, v.Receipt, store.CodeOK)
	g.wantSettled(store.Release, g.take("c").Receipt, store.CodeOK)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantGone(byID(item.Letter))
	g.wantEqual("of the key", g.get(byKey("k")).ID, id)
	g.wantRefused("k", id)
}

func testLetterText(g *rig) {
	g.recur(attempts(3))
	g.part(store.Nack, g.parting(g.take("c").Receipt, daily, hour), store.CodeOK) // attempts are left
	item := g.parting(g.take("c").Receipt, daily, hour)
	item.Failure = ""
	g.part(store.Reject, item, store.CodeOK)
	letter := g.wantState(item.Letter, store.Dead)
	g.wantEqual("letter", []any{letter.Attempt, letter.Failures, letter.LastFailure}, []any{2, 2, "no luck"})
}

// The history of a recurring message stays when its dead letters are removed.
func testSeriesOutlivesLetters(g *rig) {
	id := g.recur()
	item := g.parting(g.take("c").Receipt, daily, 0)
	g.part(store.Reject, item, store.CodeOK)
	g.wantEqual("purged", g.purge(store.Dead, 10), 1)
	rec := g.wantState(id, store.Ready)
	g.wantEqual("deliveries", []int{rec.Attempt, rec.Earlier}, []int{1, 1})
	g.part(store.Reject, item, store.CodeOK) // a repetition
	v := g.take("c")
	g.wantEqual("next", []any{v.Receipt.Attempt, v.Earlier}, []any{2, 1})
	g.wantGone(byID(item.Letter))
}
