package storetest

import (
	"strings"

	"github.com/dueq-dev/dueq/store"
)

// recurring are the tests of messages with Repeat.
func recurring() []testCase {
	return []testCase{
		{"ScheduleIsKept", "", testRecurringKept},
		{"ScheduleBesideHeaders", "", testRecurringHeaders},
		{"ClaimReturnsTheInstant", "", testRecurringNow},
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
func (g *rig) recur(edits ...func(*store.Message)) store.ID {
	g.t.Helper()
	return g.send(append([]func(*store.Message){key("k"), repeat(daily)}, edits...)...)
}

func testRecurringKept(g *rig) {
	id := g.recur()
	g.wantEqual("schedule", g.get(byID(id)).Repeat, daily)
	g.wantEqual("listed", g.list(store.Ready, 10)[0].Repeat, daily)
	v := g.take("c")
	g.wantEqual("delivered", []any{v.Repeat, v.Key, string(v.Body), v.MaxAttempts}, []any{daily, "k", "body", 20})
	g.again(v.Receipt, 0, &store.Occurrence{Repeat: daily, Body: []byte("new"), NewBody: true}, store.CodeOK)
	v = g.take("c")
	g.wantEqual("second", []any{v.Repeat, string(v.Body)}, []any{daily, "new"})
	g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	g.wantGone(byKey("k"))
	g.wantEqual("schedule of another", g.get(byID(g.send(key("k")))).Repeat, "")
}

func testRecurringHeaders(g *rig) {
	for _, schedule := range []string{"a", strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("x", store.MaxRepeat)} {
		for _, headers := range []map[string]string{nil, {"a": "", "b": strings.Repeat("v", 300)}} {
			m := g.message(key("k"), repeat(schedule))
			m.Headers = headers
			g.wantPushed(g.push(m), store.CodeOK)
			v := g.take("c")
			g.wantEqual("delivered", []any{v.Repeat, v.Headers, string(v.Body)}, []any{schedule, headers, "body"})
			item := g.parting(v.Receipt, schedule, hour)
			g.part(store.Reject, item, store.CodeOK)
			letter := g.get(byID(item.Letter))
			g.wantEqual("letter", []any{letter.Repeat, letter.Headers, string(letter.Body), letter.Key}, []any{"", headers, "body", "k"})
			g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeOK)
		}
	}
}

func testRecurringNow(g *rig) {
	id := g.recur(delay(1))
	g.send()
	g.pass(2e6)
	r := g.claimRequest("c", 2)
	for range 2 { // the second is a repetition
		for _, v := range g.claimAs(r).Deliveries {
			now, err := g.s.Now(g.t.Context(), g.p)
			g.noError("now", err)
			if v.Receipt.ID != id {
				g.wantEqual("instant of a message without a schedule", v.Now, int64(0))
			} else if v.Now < v.Due || v.Now > now {
				g.t.Fatalf("claimed at %d, want %d to %d", v.Now, v.Due, now)
			}
		}
	}
}

func testNow(g *rig) {
	before, err := g.s.Now(g.t.Context(), g.p) // the queue does not exist
	g.noError("now", err)
	g.send()
	g.pass(2e6)
	after, err := g.s.Now(g.t.Context(), g.p)
	g.noError("now", err)
	if after < before+2 {
		g.t.Fatalf("%d, and at least 2 ms later %d", before, after)
	}
}

func testAgainChanged(g *rig) {
	id := g.recur()
	v := g.take("c")
	before := g.get(byID(id))
	g.again(v.Receipt, 0, &store.Occurrence{Repeat: hourly, Body: []byte("new"), NewBody: true}, store.CodeChanged)
	g.wantEqual("record", g.get(byID(id)), before)
	g.again(v.Receipt, 0, nil, store.CodeOK) // the occurrence has no schedule
}

// A TTL is refused, because it would end the series, not the occurrence.
func testRecurringTTL(g *rig) {
	id := g.recur()
	r := g.take("c").Receipt
	before := g.get(byID(id))
	g.again(r, 0, &store.Occurrence{TTL: hour, Repeat: daily}, store.CodeExpires)
	g.wantEqual("record", g.get(byID(id)), before)
}

func testRecurringDies(g *rig) {
	id := g.recur(attempts(1))
	g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeDead)
	g.wantState(id, store.Dead)
	other := g.recur(delay(hour))
	g.wantEqual("redrive", g.redrive(id), []store.PushResult{{Code: store.CodeDuplicate, Holder: other}})
	g.wantCodes("cancel", g.cancel(byID(other)), store.CodeOK)
	g.wantPushed(g.redrive(id), store.CodeOK)
	g.declare(g.message(key("k"), repeat(hourly), delay(hour)), id)
	g.wantEqual("schedule", g.wantState(id, store.Scheduled).Repeat, hourly)
}

// The store does not know when the message is due next, so a lost lease at the last attempt
// hands it out once more.
func testRecurringLeaseLost(g *rig) {
	id := g.recur(attempts(1))
	r := g.takeFor("c", shortLease).Receipt
	g.start(shortLease, r)
	g.runOut()
	v := g.await("c")
	g.wantEqual("spent", []any{v.Receipt.ID, v.Receipt.Attempt, v.Failures, v.MaxAttempts, v.Suspicion, v.Repeat}, []any{id, 2, 1, 1, store.Crashed, daily})
	item := g.parting(v.Receipt, daily, hour)
	g.part(store.Reject, item, store.CodeOK)
	letter := g.wantState(item.Letter, store.Dead)
	g.wantEqual("letter", []any{letter.Attempt, letter.Failures}, []any{2, 1})
	g.wantState(id, store.Scheduled)
}

func testRecurringAckOnClaim(g *rig) {
	id, plain := g.recur(), g.send()
	r := g.claimRequest("c", 2)
	r.AckOnClaim = true
	var receipt store.Receipt
	for _, v := range g.claimAs(r).Deliveries {
		if v.Receipt.ID == id {
			receipt = v.Receipt
		}
	}
	g.wantGone(byID(plain))
	g.wantState(id, store.Leased)
	g.wantEqual("acked", g.stats().Counters.Acked, int64(1))
	g.again(receipt, hour, &store.Occurrence{Repeat: daily}, store.CodeOK)
}

func testRecurringReopen(g *rig) {
	id := g.recur(attempts(1))
	item := g.parting(g.take("c").Receipt, daily, 0)
	g.part(store.Nack, item, store.CodeDead)
	leased := g.take("c").Receipt
	g.declare(g.message(key("k"), repeat(hourly), size(9)), id)
	series, letter := g.get(byID(id)), g.get(byID(item.Letter))
	g.s = g.h.Reopen(g.t)
	reopened := g.get(byID(id))
	reopened.Holder, series.Holder = "", "" // a store may forget it
	g.wantEqual("series", reopened, series)
	g.wantEqual("letter", g.get(byID(item.Letter)), letter)
	g.part(store.Nack, item, store.CodeDead)
	g.wantPushed(g.redrive(item.Letter), store.CodeOK)
	g.s = g.h.Reopen(g.t)
	g.wantSettled(store.Ack, g.takeOf(item.Letter), store.CodeOK)
	g.declare(g.message(key("k"), repeat(hourly)), id)
	g.again(leased, 0, &store.Occurrence{Repeat: daily}, store.CodeChanged)
	g.again(leased, 0, &store.Occurrence{Repeat: hourly}, store.CodeOK)
	g.s = g.h.Reopen(g.t)
	g.wantEqual("schedule", g.take("c").Repeat, hourly)
}

func testRecurringFull(g *rig) {
	id := g.recur()
	r := g.take("c").Receipt
	undo := g.h.FillUp(g.t)
	defer undo()
	g.again(r, 0, &store.Occurrence{Repeat: daily}, store.CodeOK)
	g.wantState(id, store.Ready)
	g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
}
