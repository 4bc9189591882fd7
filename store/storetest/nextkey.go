package storetest

import "github.com/dueq-dev/dueq/store"

func testNextKey(g *rig) {
	r := g.sendAndTake(key("k")).Receipt
	for i := range 3 {
		m := g.message(key("k"))
		g.followOne(next(r, g.message(delay(hour)), m), store.CodeOK)
		g.wantFound("k", m.ID, store.Ready)
		g.wantRefused("k", m.ID)
		r = g.takeOf(m.ID)
		g.wantEqual("receipt", r, store.Receipt{ID: m.ID, Attempt: 1, Keyed: true})
		g.wantEqual("sent", g.stats().Counters.Sent, int64(2*i+3))
	}
	g.wantSettled(store.Ack, r, store.CodeOK)
	g.wantGone(byKey("k"))
	// The key of a delivery is free for a message of a later delivery of the call.
	a, b := g.sendAndTake(key("a")).Receipt, g.sendAndTake(key("b")).Receipt
	m := g.message(key("a"))
	g.follow([]store.Settlement{next(a, g.message(key("b")), g.message()), next(b, m)}, store.CodeDuplicate, store.CodeDuplicate)
	g.follow([]store.Settlement{next(a, g.message()), next(b, m)}, store.CodeOK, store.CodeOK)
	g.wantFound("a", m.ID, store.Ready)
}

func testNextReplaces(g *rig) {
	old := g.send(key("k"), delay(hour), named("a"), remember(hour))
	r := g.sendAndTake().Receipt
	m := g.message(key("k"), replacing)
	g.followOne(next(r, m), store.CodeOK)
	g.wantFound("k", m.ID, store.Ready)
	g.wantKnown(old, "a")
	g.wantEqual("replaced", g.stats().Counters.Replaced, int64(1))
}

func testNextExpired(g *rig) {
	r := g.sendAndTake().Receipt
	old := g.send(key("k"), ttl(shortTTL))
	g.expire(old)
	m := g.message(key("k"))
	g.followOne(next(r, m), store.CodeOK)
	g.wantFound("k", m.ID, store.Ready)
	g.wantEqual("expired", g.stats().Counters.Expired, int64(1))
}

// A message that an earlier run of the handler has sent is not stored again, and its delivery is
// acked.
func testNextKnown(g *rig) {
	r := g.sendAndTake().Receipt
	live := g.send(key("k"), delay(hour))
	dead := g.dead()
	gone := g.send(named("gone"), remember(hour))
	g.wantSettled(store.Ack, g.takeOf(gone), store.CodeOK)
	named1 := g.send(named("live"), delay(hour))
	before := g.liveOnes()
	g.followOne(next(
		r, g.message(again(live), key("k"), size(5)), g.message(again(dead)), g.message(again(gone)), g.message(named("live")),
	), store.CodeOK)
	g.wantGone(byID(r.ID), byID(gone))
	g.wantEqual("live", g.liveOnes(), before-1)
	g.wantEqual("body", string(g.get(byID(live)).Body), "body")
	g.wantState(dead, store.Dead)
	g.wantState(named1, store.Scheduled)
	g.wantEqual("deduplicated", g.stats().Counters.Deduplicated, int64(2))
}

// While the delivery's message is remembered, its dedup id is not free.
func testNextDedupID(g *rig) {
	r := g.sendAndTake(named("a")).Receipt
	m := g.message(named("a"), remember(hour))
	g.followOne(next(r, m), store.CodeOK)
	g.wantState(m.ID, store.Ready)
	g.wantEqual("push", g.push(g.message(named("a"))), []store.PushResult{{Code: store.CodeKnown, Holder: m.ID}})
	r = g.takeOf(m.ID)
	other := g.message(named("a"))
	g.followOne(next(r, other), store.CodeOK)
	g.wantGone(byID(other.ID), byID(m.ID))
	g.wantKnown(m.ID, "a")
}

func testNextDeclares(g *rig) {
	id := g.recur(delay(hour))
	r := g.sendAndTake().Receipt
	m, far := g.message(key("k"), repeat(hourly), delay(hour)), g.message(due(g.farFuture()))
	g.still("a refusal", func() { g.followOne(next(r, m, far), store.CodeTooFar) })
	g.followOne(next(r, m), store.CodeOK)
	g.wantEqual("schedule", g.get(byID(id)).Repeat, hourly)
	g.wantGone(byID(m.ID), byID(r.ID))
	g.followOne(next(r, m), store.CodeGone)
	g.followOne(next(r, g.message(key("other"), repeat(hourly))), store.CodeLeaseLost)
}

func testNextDeclaresAcked(g *rig) {
	g.keepDone(hour, 10)
	id := g.recur()
	leased := g.takeOf(id)
	r := g.sendAndTake().Receipt
	follows := g.message()
	g.follow([]store.Settlement{next(r, g.message(key("k"), repeat(hourly))), next(leased, follows)}, store.CodeOK, store.CodeOK)
	rec := g.wantState(id, store.Done)
	g.wantEqual("schedule of what was done", rec.Repeat, hourly)
	g.wantState(follows.ID, store.Ready)
	g.send(key("k"))
}
