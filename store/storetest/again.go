package storetest

import (
	"bytes"

	"github.com/dueq-dev/dueq/store"
)

// repeating are the tests of the verdict Again.
func repeating() []testCase {
	return []testCase{
		{"SameMessageWithoutItsPast", "", testAgainForgetsThePast},
		{"ReceiptsAreNeverReissued", "", testAgainReceipts},
		{"NewBody", "", testAgainNewBody},
		{"TTLIsOfTheOccurrence", "", testAgainTTL},
		{"RefusedChangesNothing", "", testAgainRefused},
		{"FirstThatIsNotRefusedCounts", "", testAgainTwice},
		{"RepeatAnswersTheSame", "", testAgainRepeated},
		{"KeyStaysTaken", "", testAgainKey},
		{"EarlierOccurrencesAreKept", "", testAgainEarlier},
		{"CancelledIsRemoved", "", testAgainCancelled},
		{"RepeatedClaimHasTheOccurrence", "", testAgainRepeatedClaim},
		{"SurvivesReopen", reopening, testAgainReopen},
		{"FullStoreRepeats", fillingUp, testAgainFull},
	}
}

// again settles the delivery with Again and fails unless the code is want.
func (g *rig) again(r store.Receipt, delay int64, next *store.Occurrence, want store.Code) {
	g.t.Helper()
	item := store.Settlement{Receipt: r, Delay: delay, Next: next}
	g.wantCodes("again", g.settleAs(store.SettleRequest{Verdict: store.Again, Items: []store.Settlement{item}}), want)
}

func testAgainForgetsThePast(g *rig) {
	m := g.message(key("k"), attempts(3), ttl(hour))
	m.Headers = map[string]string{"a": "1"}
	g.wantPushed(g.push(m), store.CodeOK)
	item := store.Settlement{Receipt: g.take("c").Receipt, Failure: "no luck"}
	g.wantCodes("nack", g.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{item}}), store.CodeOK)
	g.snooze("busy")
	g.again(g.take("c").Receipt, 0, nil, store.CodeOK)
	rec := g.wantState(m.ID, store.Ready)
	g.wantEqual("record", strip(rec), store.Record{
		ID: m.ID, Key: "k", Headers: m.Headers, BodySize: len(m.Body), State: store.Ready, MaxAttempts: 3, Attempt: 3, Earlier: 3,
	})
	g.wantEqual("expiry", rec.Expiry, int64(0))
	v := g.take("c")
	g.wantEqual("delivery", v, store.Delivery{
		Receipt: store.Receipt{ID: m.ID, Attempt: 4, Keyed: true}, Key: "k", Headers: m.Headers, Body: m.Body, Due: rec.At, MaxAttempts: 3, Earlier: 3,
	})
	g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	g.wantGone(byID(m.ID), byKey("k"))
	g.wantCounters(store.Counters{Sent: 1, Delivered: 4, Nacked: 1, Snoozed: 1, Repeated: 1, Acked: 1})
}

func testAgainReceipts(g *rig) {
	id := g.send()
	for i := range 5 {
		r := g.take("c").Receipt
		g.wantEqual("receipt", r, store.Receipt{ID: id, Attempt: i + 1})
		g.again(r, 0, nil, store.CodeOK)
	}
	last := g.take("c").Receipt
	for i := range 5 {
		g.wantSettled(store.Ack, store.Receipt{ID: id, Attempt: i + 1}, store.CodeLeaseLost)
	}
	g.wantSettled(store.Ack, last, store.CodeOK)
}

func testAgainNewBody(g *rig) {
	m := g.message(key("k"))
	m.Headers = map[string]string{"a": "1", "b": ""}
	g.wantPushed(g.push(m), store.CodeOK)
	for _, body := range [][]byte{[]byte("second"), nil, {}, {0}, []byte("="), bytes.Repeat([]byte("b"), store.DefaultMaxBody), []byte("last")} {
		g.again(g.take("c").Receipt, 0, &store.Occurrence{Body: body, NewBody: true}, store.CodeOK)
		rec := g.get(byKey("k"))
		g.wantEqual("body", rec.Body, body)
		g.wantEqual("size, headers", []any{rec.BodySize, rec.Headers}, []any{len(body), m.Headers})
	}
	v := g.take("c")
	g.wantEqual("body delivered", string(v.Body), "last")
	g.again(v.Receipt, 0, &store.Occurrence{Body: []byte("ignored")}, store.CodeOK)
	g.wantEqual("body", string(g.take("c").Body), "last")
}

func testAgainTTL(g *rig) {
	id := g.send(key("k"))
	g.again(g.take("c").Receipt, 0, &store.Occurrence{TTL: hour}, store.CodeOK)
	if g.get(byID(id)).Expiry == 0 {
		g.t.Fatal("no expiry")
	}
	g.again(g.take("c").Receipt, 0, &store.Occurrence{TTL: shortTTL}, store.CodeOK)
	g.expire(id)
	g.wantPushed(g.push(g.message(key("k"))), store.CodeOK) // the key of an expired message is free
	g.wantGone(byID(id))
	v := g.take("c")
	g.again(v.Receipt, 0, &store.Occurrence{TTL: hour}, store.CodeOK)
	v = g.take("c")
	g.again(v.Receipt, 0, nil, store.CodeOK)
	g.wantEqual("expiry", g.get(byKey("k")).Expiry, int64(0))
	g.wantPushed(g.push(g.message(key("k"))), store.CodeDuplicate)
	g.wantCounters(store.Counters{Sent: 2, Delivered: 4, Repeated: 4, Expired: 1, Duplicates: 1})
}

func testAgainRefused(g *rig) {
	far := g.farFuture()
	id := g.send()
	r := g.take("c").Receipt
	before := g.get(byID(id))
	now := far - store.MaxDelay - hour
	g.again(r, 0, &store.Occurrence{Due: far, Body: []byte("new"), NewBody: true}, store.CodeTooFar)
	g.again(r, 0, &store.Occurrence{Due: now + 2*hour, TTL: hour}, store.CodeExpires)
	g.wantEqual("record", g.get(byID(id)), before)
	g.again(r, store.MaxDelay, nil, store.CodeOK)
	g.wantState(id, store.Scheduled)
	g.wantEqual("repeated", g.stats().Counters.Repeated, int64(1))
}

// One call may have several items with the receipt of one delivery.
func testAgainTwice(g *rig) {
	due := g.farFuture()
	id := g.send()
	r := g.take("c").Receipt
	far := store.Settlement{Receipt: r, Next: &store.Occurrence{Due: due}}
	soon, later := store.Settlement{Receipt: r, Delay: hour}, store.Settlement{Receipt: r, Delay: 2 * hour}
	request := store.SettleRequest{Verdict: store.Again, Items: []store.Settlement{far, far, soon, later}}
	g.wantCodes("again", g.settleAs(request), store.CodeTooFar, store.CodeTooFar, store.CodeOK, store.CodeOK)
	g.wantState(id, store.Scheduled)
	g.wantEqual("repeated", g.stats().Counters.Repeated, int64(1))
}

func testAgainRepeated(g *rig) {
	id := g.send()
	r := g.take("c").Receipt
	next := &store.Occurrence{Body: []byte("new"), NewBody: true, TTL: 2 * hour}
	g.again(r, hour, next, store.CodeOK)
	before := g.get(byID(id))
	for range 3 {
		g.again(r, 2*hour-1, next, store.CodeOK)
		g.wantSettled(store.Release, r, store.CodeLeaseLost)
		g.wantSettled(store.Ack, r, store.CodeLeaseLost)
	}
	g.wantEqual("record", g.get(byID(id)), before)
	g.reschedule(store.Move{Ref: byID(id)})
	current := g.take("c").Receipt
	g.again(r, 0, next, store.CodeOK)
	g.wantSettled(store.Ack, current, store.CodeOK)
	g.again(r, 0, next, store.CodeGone)
	g.wantEqual("repeated", g.stats().Counters.Repeated, int64(1))
}

func testAgainKey(g *rig) {
	id := g.send(key("k"))
	g.again(g.take("c").Receipt, hour, &store.Occurrence{Body: []byte("new"), NewBody: true}, store.CodeOK)
	g.wantRefused("k", id)
	g.wantCodes("reschedule by key", g.reschedule(store.Move{Ref: byKey("k")}), store.CodeOK)
	g.takeOf(id)
	g.wantRefused("k", id)
}

// A failure, a snooze, a lost lease and a redrive do not change the number of attempts of earlier
// occurrences.
func testAgainEarlier(g *rig) {
	id := g.send()
	g.again(g.take("c").Receipt, 0, nil, store.CodeOK)
	want := func(attempt int) store.Delivery {
		g.t.Helper()
		v := g.takeFor("c", shortLease)
		g.wantEqual("attempt, earlier", []int{v.Receipt.Attempt, v.Earlier}, []int{attempt, 1})
		return v
	}
	g.wantSettled(store.Nack, want(2).Receipt, store.CodeOK)
	g.wantSettled(store.Snooze, want(3).Receipt, store.CodeOK)
	g.wantSettled(store.Release, want(4).Receipt, store.CodeOK)
	want(5)
	g.runOut()
	v := want(6)
	g.start(longLease, v.Receipt)
	g.wantSettled(store.Reject, v.Receipt, store.CodeOK)
	g.wantEqual("earlier", g.wantState(id, store.Dead).Earlier, 1)
	g.wantPushed(g.redrive(id), store.CodeOK)
	v = want(7)
	g.again(v.Receipt, 0, nil, store.CodeOK)
	g.wantEqual("earlier", g.take("c").Earlier, 7)
}

func testAgainCancelled(g *rig) {
	id := g.send(key("k"))
	r := g.take("c").Receipt
	g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
	g.again(r, 0, &store.Occurrence{Due: g.farFuture(), Body: []byte("new"), NewBody: true}, store.CodeCancelled)
	g.wantGone(byID(id), byKey("k"))
	g.wantEqual("repeated", g.stats().Counters.Repeated, int64(0))
}

func testAgainRepeatedClaim(g *rig) {
	g.send(key("k"))
	g.again(g.take("c").Receipt, 0, nil, store.CodeOK)
	g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
	r := g.claimRequest("c", 1)
	first := g.claimAs(r).Deliveries
	g.wantEqual("earlier, failures", []int{first[0].Earlier, first[0].Failures}, []int{1, 1})
	g.wantEqual("repeated", g.claimAs(r).Deliveries, first)
}

func testAgainReopen(g *rig) {
	plain, rewritten := g.send(key("k")), g.send()
	first := g.takeOf(plain)
	g.again(first, hour, &store.Occurrence{TTL: 2 * hour}, store.CodeOK)
	g.again(g.takeOf(rewritten), 0, &store.Occurrence{Body: []byte("new"), NewBody: true}, store.CodeOK)
	before := g.get(byID(plain))
	g.s = g.h.Reopen(g.t)
	g.wantEqual("record", g.get(byID(plain)), before)
	v := g.take("c")
	g.wantEqual("id, body, earlier", []any{v.Receipt.ID, string(v.Body), v.Earlier}, []any{rewritten, "new", 1})
	g.again(first, hour, nil, store.CodeOK)
	g.wantRefused("k", plain)
	g.wantEqual("repeated", g.stats().Counters.Repeated, int64(2))
}

// On a full disk, another occurrence of a message needs no more space than the message has.
func testAgainFull(g *rig) {
	id := g.send()
	r := g.take("c").Receipt
	undo := g.h.FillUp(g.t)
	defer undo()
	g.again(r, 0, nil, store.CodeOK)
	g.wantState(id, store.Ready)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
}
