package storetest

import (
	"bytes"

	"github.com/dueq-dev/dueq/store"
)

// repeating holds what the verdict Again promises.
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

// again ends the delivery with Again and wants a code.
func (d *desk) again(r store.Receipt, delay int64, next *store.Occurrence, want store.Code) {
	d.t.Helper()
	item := store.Settlement{Receipt: r, Delay: delay, Next: next}
	d.wantCodes("again", d.settleAs(store.SettleRequest{Verdict: store.Again, Items: []store.Settlement{item}}), want)
}

func testAgainForgetsThePast(d *desk) {
	m := d.message(key("k"), attempts(3), ttl(hour))
	m.Headers = map[string]string{"a": "1"}
	d.wantPushed(d.push(m), store.CodeOK)
	item := store.Settlement{Receipt: d.take("c").Receipt, Failure: "no luck"}
	d.wantCodes("nack", d.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{item}}), store.CodeOK)
	d.snooze("busy")
	d.again(d.take("c").Receipt, 0, nil, store.CodeOK)
	rec := d.wantState(m.ID, store.Ready)
	d.wantEqual("record", strip(rec), store.Record{
		ID: m.ID, Key: "k", Headers: m.Headers, BodySize: len(m.Body), State: store.Ready, MaxAttempts: 3, Attempt: 3, Earlier: 3,
	})
	d.wantEqual("expiry", rec.Expiry, int64(0))
	v := d.take("c")
	d.wantEqual("delivery", v, store.Delivery{
		Receipt: store.Receipt{ID: m.ID, Attempt: 4, Keyed: true}, Key: "k", Headers: m.Headers, Body: m.Body, Due: rec.At, MaxAttempts: 3, Earlier: 3,
	})
	d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	d.wantGone(byID(m.ID), byKey("k"))
	d.wantCounters(store.Counters{Sent: 1, Delivered: 4, Nacked: 1, Snoozed: 1, Repeated: 1, Acked: 1})
}

func testAgainReceipts(d *desk) {
	id := d.send()
	for i := range 5 {
		r := d.take("c").Receipt
		d.wantEqual("receipt", r, store.Receipt{ID: id, Attempt: i + 1})
		d.again(r, 0, nil, store.CodeOK)
	}
	last := d.take("c").Receipt
	for i := range 5 {
		d.wantSettled(store.Ack, store.Receipt{ID: id, Attempt: i + 1}, store.CodeLeaseLost)
	}
	d.wantSettled(store.Ack, last, store.CodeOK)
}

func testAgainNewBody(d *desk) {
	m := d.message(key("k"))
	m.Headers = map[string]string{"a": "1", "b": ""}
	d.wantPushed(d.push(m), store.CodeOK)
	for _, body := range [][]byte{[]byte("second"), nil, {}, {0}, []byte("="), bytes.Repeat([]byte("b"), store.DefaultMaxBody), []byte("last")} {
		d.again(d.take("c").Receipt, 0, &store.Occurrence{Body: body, NewBody: true}, store.CodeOK)
		rec := d.get(byKey("k"))
		d.wantEqual("body", rec.Body, body)
		d.wantEqual("size, headers", []any{rec.BodySize, rec.Headers}, []any{len(body), m.Headers})
	}
	v := d.take("c")
	d.wantEqual("body delivered", string(v.Body), "last")
	d.again(v.Receipt, 0, &store.Occurrence{Body: []byte("ignored")}, store.CodeOK)
	d.wantEqual("body", string(d.take("c").Body), "last")
}

func testAgainTTL(d *desk) {
	id := d.send(key("k"))
	d.again(d.take("c").Receipt, 0, &store.Occurrence{TTL: hour}, store.CodeOK)
	if d.get(byID(id)).Expiry == 0 {
		d.t.Fatal("no expiry")
	}
	d.again(d.take("c").Receipt, 0, &store.Occurrence{TTL: shortTTL}, store.CodeOK)
	d.expire(id)
	d.wantPushed(d.push(d.message(key("k"))), store.CodeOK) // an expired message gives way
	d.wantGone(byID(id))
	v := d.take("c")
	d.again(v.Receipt, 0, &store.Occurrence{TTL: hour}, store.CodeOK)
	v = d.take("c")
	d.again(v.Receipt, 0, nil, store.CodeOK)
	d.wantEqual("expiry", d.get(byKey("k")).Expiry, int64(0))
	d.wantPushed(d.push(d.message(key("k"))), store.CodeDuplicate)
	d.wantCounters(store.Counters{Sent: 2, Delivered: 4, Repeated: 4, Expired: 1, Duplicates: 1})
}

func testAgainRefused(d *desk) {
	far := d.farFuture()
	id := d.send()
	r := d.take("c").Receipt
	before := d.get(byID(id))
	now := far - store.MaxDelay - hour
	d.again(r, 0, &store.Occurrence{Due: far, Body: []byte("new"), NewBody: true}, store.CodeTooFar)
	d.again(r, 0, &store.Occurrence{Due: now + 2*hour, TTL: hour}, store.CodeExpires)
	d.wantEqual("record", d.get(byID(id)), before)
	d.again(r, store.MaxDelay, nil, store.CodeOK)
	d.wantState(id, store.Scheduled)
	d.wantEqual("repeated", d.stats().Counters.Repeated, int64(1))
}

// One call may name a delivery more than once.
func testAgainTwice(d *desk) {
	due := d.farFuture()
	id := d.send()
	r := d.take("c").Receipt
	far := store.Settlement{Receipt: r, Next: &store.Occurrence{Due: due}}
	soon, later := store.Settlement{Receipt: r, Delay: hour}, store.Settlement{Receipt: r, Delay: 2 * hour}
	request := store.SettleRequest{Verdict: store.Again, Items: []store.Settlement{far, far, soon, later}}
	d.wantCodes("again", d.settleAs(request), store.CodeTooFar, store.CodeTooFar, store.CodeOK, store.CodeOK)
	d.wantState(id, store.Scheduled)
	d.wantEqual("repeated", d.stats().Counters.Repeated, int64(1))
}

func testAgainRepeated(d *desk) {
	id := d.send()
	r := d.take("c").Receipt
	next := &store.Occurrence{Body: []byte("new"), NewBody: true, TTL: 2 * hour}
	d.again(r, hour, next, store.CodeOK)
	before := d.get(byID(id))
	for range 3 {
		d.again(r, 2*hour-1, next, store.CodeOK)
		d.wantSettled(store.Release, r, store.CodeLeaseLost)
		d.wantSettled(store.Ack, r, store.CodeLeaseLost)
	}
	d.wantEqual("record", d.get(byID(id)), before)
	d.reschedule(store.Move{Ref: byID(id)})
	current := d.take("c").Receipt
	d.again(r, 0, next, store.CodeOK)
	d.wantSettled(store.Ack, current, store.CodeOK)
	d.again(r, 0, next, store.CodeGone)
	d.wantEqual("repeated", d.stats().Counters.Repeated, int64(1))
}

func testAgainKey(d *desk) {
	id := d.send(key("k"))
	d.again(d.take("c").Receipt, hour, &store.Occurrence{Body: []byte("new"), NewBody: true}, store.CodeOK)
	d.wantRefused("k", id)
	d.wantCodes("reschedule by key", d.reschedule(store.Move{Ref: byKey("k")}), store.CodeOK)
	d.takeOf(id)
	d.wantRefused("k", id)
}

// A failure, a snooze, a lost lease and a redrive do not change what is known of earlier
// occurrences.
func testAgainEarlier(d *desk) {
	id := d.send()
	d.again(d.take("c").Receipt, 0, nil, store.CodeOK)
	want := func(attempt int) store.Delivery {
		d.t.Helper()
		v := d.takeFor("c", shortLease)
		d.wantEqual("attempt, earlier", []int{v.Receipt.Attempt, v.Earlier}, []int{attempt, 1})
		return v
	}
	d.wantSettled(store.Nack, want(2).Receipt, store.CodeOK)
	d.wantSettled(store.Snooze, want(3).Receipt, store.CodeOK)
	d.wantSettled(store.Release, want(4).Receipt, store.CodeOK)
	want(5)
	d.runOut()
	v := want(6)
	d.start(longLease, v.Receipt)
	d.wantSettled(store.Reject, v.Receipt, store.CodeOK)
	d.wantEqual("earlier", d.wantState(id, store.Dead).Earlier, 1)
	d.wantPushed(d.redrive(id), store.CodeOK)
	v = want(7)
	d.again(v.Receipt, 0, nil, store.CodeOK)
	d.wantEqual("earlier", d.take("c").Earlier, 7)
}

func testAgainCancelled(d *desk) {
	id := d.send(key("k"))
	r := d.take("c").Receipt
	d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
	d.again(r, 0, &store.Occurrence{Due: d.farFuture(), Body: []byte("new"), NewBody: true}, store.CodeCancelled)
	d.wantGone(byID(id), byKey("k"))
	d.wantEqual("repeated", d.stats().Counters.Repeated, int64(0))
}

func testAgainRepeatedClaim(d *desk) {
	d.send(key("k"))
	d.again(d.take("c").Receipt, 0, nil, store.CodeOK)
	d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
	r := d.claimRequest("c", 1)
	first := d.claimAs(r).Deliveries
	d.wantEqual("earlier, failures", []int{first[0].Earlier, first[0].Failures}, []int{1, 1})
	d.wantEqual("repeated", d.claimAs(r).Deliveries, first)
}

func testAgainReopen(d *desk) {
	plain, rewritten := d.send(key("k")), d.send()
	first := d.takeOf(plain)
	d.again(first, hour, &store.Occurrence{TTL: 2 * hour}, store.CodeOK)
	d.again(d.takeOf(rewritten), 0, &store.Occurrence{Body: []byte("new"), NewBody: true}, store.CodeOK)
	before := d.get(byID(plain))
	d.s = d.h.Reopen(d.t)
	d.wantEqual("record", d.get(byID(plain)), before)
	v := d.take("c")
	d.wantEqual("id, body, earlier", []any{v.Receipt.ID, string(v.Body), v.Earlier}, []any{rewritten, "new", 1})
	d.again(first, hour, nil, store.CodeOK)
	d.wantRefused("k", plain)
	d.wantEqual("repeated", d.stats().Counters.Repeated, int64(2))
}

// What a message takes already is enough for another occurrence of it.
func testAgainFull(d *desk) {
	id := d.send()
	r := d.take("c").Receipt
	undo := d.h.FillUp(d.t)
	defer undo()
	d.again(r, 0, nil, store.CodeOK)
	d.wantState(id, store.Ready)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
}
