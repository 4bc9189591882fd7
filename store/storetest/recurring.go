package storetest

import (
	"strings"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// recurring holds what messages with Repeat promise.
func recurring() []testCase {
	return []testCase{
		{"ScheduleIsKept", "", testRecurringKept},
		{"ScheduleBesideHeaders", "", testRecurringHeaders},
		{"ClaimSaysTheInstant", "", testRecurringNow},
		{"NowIsTheClock", "", testNow},
		{"SameDeclarationChangesNothing", "", testDeclareSame},
		{"DeclarationChangesScheduled", "", testDeclareScheduled},
		{"DeclarationChangesLeased", "", testDeclareLeased},
		{"DeclarationKeepsCancel", "", testDeclareCancelled},
		{"DeclarationsInOnePush", "", testDeclareInOnePush},
		{"RepeatedPushDeclaresOnce", "", testDeclareRepeatedPush},
		{"OnlyRecurringMessagesAreDeclared", "", testDeclareOthers},
		{"AgainOfAnotherScheduleIsRefused", "", testAgainChanged},
		{"LastNackParts", "", testPartNack},
		{"RejectParts", "", testPartReject},
		{"PartRefusedChangesNothing", "", testPartRefused},
		{"PartRepeatedAnswersTheSame", "", testPartRepeated},
		{"PartOfCancelledIsRemoved", "", testPartCancelled},
		{"PartsAndPlainInOneCall", "", testPartMixed},
		{"LetterNamesItsKey", "", testLetterKey},
		{"LetterIsRedrivenBesideItsSeries", "", testLetterRedriven},
		{"LetterKeepsTheLastFailureText", "", testLetterText},
		{"SeriesOutlivesItsLetters", "", testSeriesOutlivesLetters},
		{"AgainWithATTLIsRefused", "", testRecurringTTL},
		{"WithoutNextTheMessageDies", "", testRecurringDies},
		{"LostLeaseNeverBuries", expiring, testRecurringLeaseLost},
		{"AckOnClaimLeases", "", testRecurringAckOnClaim},
		{"SurvivesReopen", reopening, testRecurringReopen},
		{"FullStoreGoesOn", fillingUp, testRecurringFull},
	}
}

const (
	daily  = "cron 0 9 * * * Europe/Berlin"
	hourly = "every 1h0m0s"
)

func repeat(schedule string) func(*store.Message) {
	return func(m *store.Message) { m.Repeat = schedule }
}

// recur pushes a recurring message with the key "k".
func (d *desk) recur(edits ...func(*store.Message)) store.ID {
	d.t.Helper()
	return d.send(append([]func(*store.Message){key("k"), repeat(daily)}, edits...)...)
}

// declare pushes a message and wants holder to be what was declared.
func (d *desk) declare(m store.Message, holder store.ID) {
	d.t.Helper()
	d.wantEqual("results", d.push(m), []store.PushResult{{Code: store.CodeOK, Holder: holder}})
}

// parting returns what ends an occurrence for good, with the next one after a span.
func (d *desk) parting(r store.Receipt, schedule string, span int64) store.Settlement {
	now, err := d.s.Now(d.t.Context(), d.p)
	d.noError("now", err)
	return store.Settlement{
		Receipt: r, Failure: "no luck", Next: &store.Occurrence{Due: now + span, Repeat: schedule},
		Letter: route.FollowingID(r.ID, int64(r.Attempt), -1, r.ID.Partition()),
	}
}

func (d *desk) part(v store.Verdict, item store.Settlement, want store.Code) {
	d.t.Helper()
	d.wantCodes(string(v), d.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item}}), want)
}

func testRecurringKept(d *desk) {
	id := d.recur()
	d.wantEqual("schedule", d.get(byID(id)).Repeat, daily)
	d.wantEqual("listed", d.list(store.Ready, 10)[0].Repeat, daily)
	v := d.take("c")
	d.wantEqual("delivered", []any{v.Repeat, v.Key, string(v.Body), v.MaxAttempts}, []any{daily, "k", "body", 20})
	d.again(v.Receipt, 0, &store.Occurrence{Repeat: daily, Body: []byte("new"), NewBody: true}, store.CodeOK)
	v = d.take("c")
	d.wantEqual("second", []any{v.Repeat, string(v.Body)}, []any{daily, "new"})
	d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	d.wantGone(byKey("k"))
	d.wantEqual("schedule of another", d.get(byID(d.send(key("k")))).Repeat, "")
}

func testRecurringHeaders(d *desk) {
	for _, schedule := range []string{"a", strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("x", store.MaxRepeat)} {
		for _, headers := range []map[string]string{nil, {"a": "", "b": strings.Repeat("v", 300)}} {
			m := d.message(key("k"), repeat(schedule))
			m.Headers = headers
			d.wantPushed(d.push(m), store.CodeOK)
			v := d.take("c")
			d.wantEqual("delivered", []any{v.Repeat, v.Headers, string(v.Body)}, []any{schedule, headers, "body"})
			item := d.parting(v.Receipt, schedule, hour)
			d.part(store.Reject, item, store.CodeOK)
			letter := d.get(byID(item.Letter))
			d.wantEqual("letter", []any{letter.Repeat, letter.Headers, string(letter.Body), letter.Key}, []any{"", headers, "body", "k"})
			d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeOK)
		}
	}
}

func testRecurringNow(d *desk) {
	id := d.recur(delay(1))
	d.send()
	d.pass(2e6)
	r := d.claimRequest("c", 2)
	for range 2 { // the second is a repetition
		for _, v := range d.claimAs(r).Deliveries {
			now, err := d.s.Now(d.t.Context(), d.p)
			d.noError("now", err)
			if v.Receipt.ID != id {
				d.wantEqual("instant of a message without a schedule", v.Now, int64(0))
			} else if v.Now < v.Due || v.Now > now {
				d.t.Fatalf("claimed at %d, want %d to %d", v.Now, v.Due, now)
			}
		}
	}
}

func testNow(d *desk) {
	before, err := d.s.Now(d.t.Context(), d.p) // of a queue that does not exist
	d.noError("now", err)
	d.send()
	d.pass(2e6)
	after, err := d.s.Now(d.t.Context(), d.p)
	d.noError("now", err)
	if after < before+2 {
		d.t.Fatalf("%d, and at least 2 ms later %d", before, after)
	}
}

func testDeclareSame(d *desk) {
	id := d.recur(delay(hour))
	before := d.get(byID(id))
	m := d.message(key("k"), repeat(daily), attempts(3), size(9))
	d.declare(m, id)
	d.wantEqual("record", d.get(byKey("k")), before)
	d.wantGone(byID(m.ID))
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byKey("k")}), store.CodeOK)
	v := d.take("c")
	d.declare(m, id)
	d.wantEqual("leased", d.get(byKey("k")).Body, v.Body)
	d.again(v.Receipt, 0, &store.Occurrence{Repeat: daily}, store.CodeOK)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, Repeated: 1})
}

func testDeclareScheduled(d *desk) {
	id := d.recur(delay(hour))
	d.reschedule(store.Move{Ref: byKey("k")})
	item := store.Settlement{Receipt: d.take("c").Receipt, Failure: "no luck", Delay: hour}
	d.wantCodes("nack", d.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{item}}), store.CodeOK)
	m := d.message(key("k"), repeat(hourly), attempts(3), size(9))
	m.Headers = map[string]string{"a": "1"}
	d.declare(m, id)
	rec := d.wantState(id, store.Ready)
	d.wantEqual("record", strip(rec), store.Record{
		ID: id, Key: "k", Headers: m.Headers, BodySize: 9, State: store.Ready, MaxAttempts: 3, Attempt: 1, Earlier: 1, Repeat: hourly,
	})
	d.wantSettled(store.Nack, item.Receipt, store.CodeOK) // a repetition
	v := d.take("c")
	d.wantEqual("delivered", []any{v.Receipt.Attempt, v.Earlier, v.Failures, v.Repeat, len(v.Body)}, []any{2, 1, 0, hourly, 9})
	d.again(v.Receipt, hour, &store.Occurrence{Repeat: hourly}, store.CodeOK)
	d.declare(d.message(key("k"), repeat(daily), delay(2*hour)), id)
	d.wantState(id, store.Scheduled)
	d.wantRefused("k", id)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 2, Nacked: 1, Repeated: 1, Duplicates: 1})
}

func testDeclareLeased(d *desk) {
	id := d.recur()
	v := d.take("c")
	lease := d.get(byID(id))
	d.declare(d.message(key("k"), repeat(hourly), size(9), delay(5*hour)), id)
	rec := d.wantState(id, store.Leased)
	d.wantEqual("lease, schedule, body", []any{rec.At, rec.Attempt, rec.Repeat, rec.BodySize}, []any{lease.At, 1, hourly, 9})
	d.again(v.Receipt, hour, &store.Occurrence{Repeat: daily}, store.CodeChanged)
	d.wantState(id, store.Leased)
	d.again(v.Receipt, hour, &store.Occurrence{Repeat: hourly}, store.CodeOK)
	rec = d.wantState(id, store.Scheduled)
	d.wantEqual("schedule, body", []any{rec.Repeat, rec.BodySize}, []any{hourly, 9})
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, Repeated: 1})
}

func testDeclareCancelled(d *desk) {
	id := d.recur()
	v := d.take("c")
	d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeRunning)
	d.declare(d.message(key("k"), repeat(hourly)), id)
	d.again(v.Receipt, hour, &store.Occurrence{Repeat: hourly}, store.CodeCancelled)
	d.wantGone(byID(id), byKey("k"))
}

func testDeclareInOnePush(d *desk) {
	first, second, third := d.message(key("k"), repeat(daily), delay(hour)), d.message(key("k"), repeat(hourly), size(9)), d.message(key("k"), repeat(hourly), size(10))
	plain := d.message(key("k"), replacing)
	d.wantEqual("results", d.push(first, second, third), []store.PushResult{{}, {Holder: first.ID}, {Holder: first.ID}})
	rec := d.wantState(first.ID, store.Ready)
	d.wantEqual("schedule, body", []any{rec.Repeat, rec.BodySize}, []any{hourly, 9})
	d.wantGone(byID(second.ID), byID(third.ID))

	back := d.message(key("k"), repeat(daily), delay(hour))
	d.wantEqual("declared and replaced", d.push(back, plain), []store.PushResult{{Holder: first.ID}, {}})
	d.wantGone(byID(first.ID), byID(back.ID))
	d.wantEqual("of the key", d.get(byKey("k")).ID, plain.ID)
	d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeOK)

	id := d.recur()
	d.take("c")
	refused := d.message(key("k"), replacing)
	d.wantEqual("declared while leased", d.push(d.message(key("k"), repeat(hourly)), refused),
		[]store.PushResult{{Holder: id}, {Code: store.CodeDuplicate, Holder: id}})
	d.wantState(id, store.Leased)
	d.wantCounters(store.Counters{Sent: 3, Delivered: 1, Replaced: 1, Cancelled: 1, Duplicates: 1})
}

func testDeclareRepeatedPush(d *desk) {
	id := d.recur(delay(hour))
	r := d.pushRequest(d.message(key("k"), repeat(hourly), delay(hour)))
	want := []store.PushResult{{Holder: id}}
	d.wantEqual("first", d.pushAs(r), want)
	d.reschedule(store.Move{Ref: byKey("k")})
	d.wantEqual("repeated", d.pushAs(r), want)
	d.wantState(id, store.Ready)
}

func testDeclareOthers(d *desk) {
	plain := d.send(key("k"), delay(hour))
	d.wantEqual("plain holder", d.push(d.message(key("k"), repeat(daily))), []store.PushResult{{Code: store.CodeDuplicate, Holder: plain}})
	series := d.send(key("k"), repeat(daily), replacing)
	d.wantGone(byID(plain))
	d.wantEqual("plain message", d.push(d.message(key("k"))), []store.PushResult{{Code: store.CodeDuplicate, Holder: series}})
	d.send(key("k"), replacing)
	d.wantGone(byID(series))
	d.wantCounters(store.Counters{Sent: 3, Replaced: 2, Duplicates: 2})
}

func testAgainChanged(d *desk) {
	id := d.recur()
	v := d.take("c")
	before := d.get(byID(id))
	d.again(v.Receipt, 0, &store.Occurrence{Repeat: hourly, Body: []byte("new"), NewBody: true}, store.CodeChanged)
	d.wantEqual("record", d.get(byID(id)), before)
	d.again(v.Receipt, 0, nil, store.CodeOK) // which is of no schedule
}

func testPartNack(d *desk) {
	id := d.recur(attempts(2))
	plain := d.get(byID(id))
	v := d.take("c")
	item := d.parting(v.Receipt, daily, hour)
	d.part(store.Nack, item, store.CodeOK) // not the last one
	rec := d.wantState(id, store.Ready)
	d.wantEqual("failures, failure", []any{rec.Failures, rec.LastFailure}, []any{1, "no luck"})
	item = d.parting(d.take("c").Receipt, daily, hour)
	d.part(store.Nack, item, store.CodeDead)

	rec = d.wantState(id, store.Scheduled)
	d.wantEqual("series", strip(rec), store.Record{
		ID: id, Key: "k", BodySize: plain.BodySize, State: store.Scheduled, MaxAttempts: 2, Attempt: 2, Earlier: 2, Repeat: daily,
	})
	d.wantEqual("due", rec.At, item.Next.Due)
	letter := d.wantState(item.Letter, store.Dead)
	d.wantEqual("letter", strip(letter), store.Record{
		ID: item.Letter, Key: "k", BodySize: plain.BodySize, State: store.Dead, MaxAttempts: 2, Attempt: 2, Failures: 2, LastFailure: "no luck",
	})
	d.wantEqual("body", letter.Body, plain.Body)
	d.wantEqual("of the key", d.get(byKey("k")).ID, id)
	d.wantCounters(store.Counters{Sent: 2, Delivered: 2, Nacked: 2, DeadLettered: 1})
	d.wantEqual("sizes", []int64{d.stats().Scheduled, d.stats().Dead}, []int64{1, 1})
	d.reschedule(store.Move{Ref: byKey("k")})
	v = d.take("c")
	d.wantEqual("next", []any{v.Receipt.Attempt, v.Earlier, v.Failures, v.Repeat}, []any{3, 2, 0, daily})
}

func testPartReject(d *desk) {
	id := d.recur()
	item := d.parting(d.take("c").Receipt, daily, 0)
	d.part(store.Reject, item, store.CodeOK)
	d.wantState(id, store.Ready)
	letter := d.wantState(item.Letter, store.Dead)
	d.wantEqual("letter", []any{letter.Attempt, letter.Failures, letter.LastFailure}, []any{1, 1, "no luck"})
	second := d.parting(d.take("c").Receipt, daily, hour)
	second.Failure = ""
	d.part(store.Reject, second, store.CodeOK)
	d.wantEqual("dead", len(d.list(store.Dead, 10)), 2)
	d.wantCounters(store.Counters{Sent: 3, Delivered: 2, Rejected: 2, DeadLettered: 2})
}

func testPartRefused(d *desk) {
	far := d.farFuture()
	id := d.recur(attempts(1))
	r := d.take("c").Receipt
	before := d.get(byID(id))
	late, other := d.parting(r, daily, hour), d.parting(r, hourly, hour)
	late.Next.Due = far
	for _, v := range []store.Verdict{store.Nack, store.Reject} {
		d.part(v, late, store.CodeTooFar)
		d.part(v, other, store.CodeChanged)
	}
	d.wantEqual("record", d.get(byID(id)), before)
	d.wantGone(byID(late.Letter))
	d.part(store.Nack, d.parting(r, daily, hour), store.CodeDead)
}

func testPartRepeated(d *desk) {
	id := d.recur(attempts(1))
	nacked := d.parting(d.take("c").Receipt, daily, 0)
	for range 3 {
		d.part(store.Nack, nacked, store.CodeDead)
		d.wantSettled(store.Nack, nacked.Receipt, store.CodeDead)
		d.part(store.Reject, nacked, store.CodeLeaseLost)
		d.wantSettled(store.Again, nacked.Receipt, store.CodeLeaseLost)
	}
	rejected := d.parting(d.take("c").Receipt, daily, hour)
	for range 3 {
		d.part(store.Reject, rejected, store.CodeOK)
		d.wantSettled(store.Reject, rejected.Receipt, store.CodeOK)
		d.part(store.Nack, rejected, store.CodeLeaseLost)
	}
	d.wantEqual("dead", len(d.list(store.Dead, 10)), 2)
	d.cancel(byID(id))
	d.part(store.Nack, nacked, store.CodeGone)
	d.wantCounters(store.Counters{Sent: 3, Delivered: 2, Nacked: 1, Rejected: 1, DeadLettered: 2, Cancelled: 1})
}

func testPartCancelled(d *desk) {
	id := d.recur(attempts(1))
	item := d.parting(d.take("c").Receipt, daily, hour)
	d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeRunning)
	d.part(store.Nack, item, store.CodeCancelled)
	d.wantGone(byID(id), byKey("k"), byID(item.Letter))
}

func testPartMixed(d *desk) {
	series, plain := d.recur(attempts(1)), d.send(attempts(1))
	first, second := d.takeOf(series), d.takeOf(plain)
	items := []store.Settlement{{Receipt: second, Failure: "plain"}, d.parting(first, daily, hour), {Receipt: second}}
	d.wantCodes("nack", d.settleAs(store.SettleRequest{Verdict: store.Nack, Items: items}), store.CodeDead, store.CodeDead, store.CodeDead)
	d.wantState(plain, store.Dead)
	d.wantState(series, store.Scheduled)
	d.wantState(items[1].Letter, store.Dead)
}

func testLetterKey(d *desk) {
	id := d.recur()
	first := d.parting(d.take("c").Receipt, daily, 0)
	d.part(store.Reject, first, store.CodeOK)
	d.wantEqual("of the key", d.get(byKey("k")).ID, id)
	second := d.parting(d.take("c").Receipt, daily, hour)
	d.part(store.Reject, second, store.CodeOK)
	d.wantCodes("cancel", d.cancel(byID(id)), store.CodeOK)
	d.wantEqual("died last", d.get(byKey("k")).ID, second.Letter)
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byKey("k")}), store.CodeDead)
	d.wantCodes("delete", d.cancelAs(store.CancelRequest{Caller: "manager", Number: d.number("manager"), Refs: []store.Ref{byKey("k")}, Dead: true}), store.CodeOK)
	d.wantEqual("the one before", d.get(byKey("k")).ID, first.Letter)
	d.wantPushed(d.redrive(first.Letter), store.CodeOK)
	d.wantGone(byKey("k"))
	d.wantSettled(store.Reject, d.takeOf(first.Letter), store.CodeOK)
	d.wantEqual("dead again", d.get(byKey("k")).ID, first.Letter)
	d.send(key("k")) // which no letter has
}

func testLetterRedriven(d *desk) {
	id := d.recur()
	item := d.parting(d.take("c").Receipt, daily, hour)
	d.part(store.Reject, item, store.CodeOK)
	d.wantPushed(d.redrive(item.Letter), store.CodeOK)
	d.wantEqual("of the key", d.get(byKey("k")).ID, id)
	v := d.take("c")
	d.wantEqual("delivered", []any{v.Receipt, v.Key, v.Repeat, v.Now, v.Failures, string(v.Body)},
		[]any{store.Receipt{ID: item.Letter, Attempt: 2, Keyed: true}, "k", "", int64(0), 0, "body"})
	d.wantSettled(store.Nack, v.Receipt, store.CodeOK)
	d.wantSettled(store.Release, d.take("c").Receipt, store.CodeOK)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantGone(byID(item.Letter))
	d.wantEqual("of the key", d.get(byKey("k")).ID, id)
	d.wantRefused("k", id)
}

func testLetterText(d *desk) {
	d.recur(attempts(3))
	d.part(store.Nack, d.parting(d.take("c").Receipt, daily, hour), store.CodeOK) // not the last one
	item := d.parting(d.take("c").Receipt, daily, hour)
	item.Failure = ""
	d.part(store.Reject, item, store.CodeOK)
	letter := d.wantState(item.Letter, store.Dead)
	d.wantEqual("letter", []any{letter.Attempt, letter.Failures, letter.LastFailure}, []any{2, 2, "no luck"})
}

// What is known of a message is still known when the letters of its occurrences are gone.
func testSeriesOutlivesLetters(d *desk) {
	id := d.recur()
	item := d.parting(d.take("c").Receipt, daily, 0)
	d.part(store.Reject, item, store.CodeOK)
	d.wantEqual("purged", d.purge(store.Dead, 10), 1)
	rec := d.wantState(id, store.Ready)
	d.wantEqual("deliveries", []int{rec.Attempt, rec.Earlier}, []int{1, 1})
	d.part(store.Reject, item, store.CodeOK) // a repetition
	v := d.take("c")
	d.wantEqual("next", []any{v.Receipt.Attempt, v.Earlier}, []any{2, 1})
	d.wantGone(byID(item.Letter))
}

// A TTL would end the series, not the occurrence.
func testRecurringTTL(d *desk) {
	id := d.recur()
	r := d.take("c").Receipt
	before := d.get(byID(id))
	d.again(r, 0, &store.Occurrence{TTL: hour, Repeat: daily}, store.CodeExpires)
	d.wantEqual("record", d.get(byID(id)), before)
}

func testRecurringDies(d *desk) {
	id := d.recur(attempts(1))
	d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeDead)
	d.wantState(id, store.Dead)
	other := d.recur(delay(hour))
	d.wantEqual("redrive", d.redrive(id), []store.PushResult{{Code: store.CodeDuplicate, Holder: other}})
	d.wantCodes("cancel", d.cancel(byID(other)), store.CodeOK)
	d.wantPushed(d.redrive(id), store.CodeOK)
	d.declare(d.message(key("k"), repeat(hourly), delay(hour)), id)
	d.wantEqual("schedule", d.wantState(id, store.Scheduled).Repeat, hourly)
}

// The store does not know when the message is due next, so somebody has to be asked.
func testRecurringLeaseLost(d *desk) {
	id := d.recur(attempts(1))
	r := d.takeFor("c", shortLease).Receipt
	d.start(shortLease, r)
	d.runOut()
	v := d.await("c")
	d.wantEqual("spent", []any{v.Receipt.ID, v.Receipt.Attempt, v.Failures, v.MaxAttempts, v.Suspicion, v.Repeat}, []any{id, 2, 1, 1, store.Crashed, daily})
	item := d.parting(v.Receipt, daily, hour)
	d.part(store.Reject, item, store.CodeOK)
	letter := d.wantState(item.Letter, store.Dead)
	d.wantEqual("letter", []any{letter.Attempt, letter.Failures}, []any{2, 1})
	d.wantState(id, store.Scheduled)
}

func testRecurringAckOnClaim(d *desk) {
	id, plain := d.recur(), d.send()
	r := d.claimRequest("c", 2)
	r.AckOnClaim = true
	var receipt store.Receipt
	for _, v := range d.claimAs(r).Deliveries {
		if v.Receipt.ID == id {
			receipt = v.Receipt
		}
	}
	d.wantGone(byID(plain))
	d.wantState(id, store.Leased)
	d.wantEqual("acked", d.stats().Counters.Acked, int64(1))
	d.again(receipt, hour, &store.Occurrence{Repeat: daily}, store.CodeOK)
}

func testRecurringReopen(d *desk) {
	id := d.recur(attempts(1))
	item := d.parting(d.take("c").Receipt, daily, 0)
	d.part(store.Nack, item, store.CodeDead)
	leased := d.take("c").Receipt
	d.declare(d.message(key("k"), repeat(hourly), size(9)), id)
	series, letter := d.get(byID(id)), d.get(byID(item.Letter))
	d.s = d.h.Reopen(d.t)
	reopened := d.get(byID(id))
	reopened.Holder, series.Holder = "", "" // which a store may forget
	d.wantEqual("series", reopened, series)
	d.wantEqual("letter", d.get(byID(item.Letter)), letter)
	d.part(store.Nack, item, store.CodeDead)
	d.wantPushed(d.redrive(item.Letter), store.CodeOK)
	d.s = d.h.Reopen(d.t)
	d.wantSettled(store.Ack, d.takeOf(item.Letter), store.CodeOK)
	d.declare(d.message(key("k"), repeat(hourly)), id)
	d.again(leased, 0, &store.Occurrence{Repeat: daily}, store.CodeChanged)
	d.again(leased, 0, &store.Occurrence{Repeat: hourly}, store.CodeOK)
	d.s = d.h.Reopen(d.t)
	d.wantEqual("schedule", d.take("c").Repeat, hourly)
}

func testRecurringFull(d *desk) {
	id := d.recur()
	r := d.take("c").Receipt
	undo := d.h.FillUp(d.t)
	defer undo()
	d.again(r, 0, &store.Occurrence{Repeat: daily}, store.CodeOK)
	d.wantState(id, store.Ready)
	d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
}
