package storetest

import "github.com/dueq-dev/dueq/store"

// declare pushes a message and fails unless it was declared as holder.
func (g *rig) declare(m store.Message, holder store.ID) {
	g.t.Helper()
	g.wantEqual("results", g.push(m), []store.PushResult{{Code: store.CodeOK, Holder: holder}})
}

func testDeclareSame(g *rig) {
	id := g.recur(delay(hour))
	before := g.get(byID(id))
	m := g.message(key("k"), repeat(daily), attempts(3), size(9))
	g.declare(m, id)
	g.wantEqual("record", g.get(byKey("k")), before)
	g.wantGone(byID(m.ID))
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byKey("k")}), store.CodeOK)
	v := g.take("c")
	g.declare(m, id)
	g.wantEqual("leased", g.get(byKey("k")).Body, v.Body)
	g.again(v.Receipt, 0, &store.Occurrence{Repeat: daily}, store.CodeOK)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, Repeated: 1})
}

func testDeclareScheduled(g *rig) {
	id := g.recur(delay(hour))
	g.reschedule(store.Move{Ref: byKey("k")})
	item := store.Settlement{Receipt: g.take("c").Receipt, Failure: "no luck", Delay: hour}
	g.wantCodes("nack", g.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{item}}), store.CodeOK)
	m := g.message(key("k"), repeat(hourly), attempts(3), size(9))
	m.Headers = map[string]string{"a": "1"}
	g.declare(m, id)
	rec := g.wantState(id, store.Ready)
	g.wantEqual("record", strip(rec), store.Record{
		ID: id, Key: "k", Headers: m.Headers, BodySize: 9, State: store.Ready, MaxAttempts: 3, Attempt: 1, Earlier: 1, Repeat: hourly,
	})
	g.wantSettled(store.Nack, item.Receipt, store.CodeOK) // a repetition
	v := g.take("c")
	g.wantEqual("delivered", []any{v.Receipt.Attempt, v.Earlier, v.Failures, v.Repeat, len(v.Body)}, []any{2, 1, 0, hourly, 9})
	g.again(v.Receipt, hour, &store.Occurrence{Repeat: hourly}, store.CodeOK)
	g.declare(g.message(key("k"), repeat(daily), delay(2*hour)), id)
	g.wantState(id, store.Scheduled)
	g.wantRefused("k", id)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 2, Nacked: 1, Repeated: 1, Duplicates: 1})
}

func testDeclareLeased(g *rig) {
	id := g.recur()
	v := g.take("c")
	lease := g.get(byID(id))
	g.declare(g.message(key("k"), repeat(hourly), size(9), delay(5*hour)), id)
	rec := g.wantState(id, store.Leased)
	g.wantEqual("lease, schedule, body", []any{rec.At, rec.Attempt, rec.Repeat, rec.BodySize}, []any{lease.At, 1, hourly, 9})
	g.again(v.Receipt, hour, &store.Occurrence{Repeat: daily}, store.CodeChanged)
	g.wantState(id, store.Leased)
	g.again(v.Receipt, hour, &store.Occurrence{Repeat: hourly}, store.CodeOK)
	rec = g.wantState(id, store.Scheduled)
	g.wantEqual("schedule, body", []any{rec.Repeat, rec.BodySize}, []any{hourly, 9})
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, Repeated: 1})
}

func testDeclareCancelled(g *rig) {
	id := g.recur()
	v := g.take("c")
	g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeRunning)
	g.declare(g.message(key("k"), repeat(hourly)), id)
	g.again(v.Receipt, hour, &store.Occurrence{Repeat: hourly}, store.CodeCancelled)
	g.wantGone(byID(id), byKey("k"))
}

func testDeclareInOnePush(g *rig) {
	first, second, third := g.message(key("k"), repeat(daily), delay(hour)), g.message(key("k"), repeat(hourly), size(9)), g.message(key("k"), repeat(hourly), size(10))
	plain := g.message(key("k"), replacing)
	g.wantEqual("results", g.push(first, second, third), []store.PushResult{{}, {Holder: first.ID}, {Holder: first.ID}})
	rec := g.wantState(first.ID, store.Ready)
	g.wantEqual("schedule, body", []any{rec.Repeat, rec.BodySize}, []any{hourly, 9})
	g.wantGone(byID(second.ID), byID(third.ID))

	back := g.message(key("k"), repeat(daily), delay(hour))
	g.wantEqual("declared and replaced", g.push(back, plain), []store.PushResult{{Holder: first.ID}, {}})
	g.wantGone(byID(first.ID), byID(back.ID))
	g.wantEqual("of the key", g.get(byKey("k")).ID, plain.ID)
	g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeOK)

	id := g.recur()
	g.take("c")
	refused := g.message(key("k"), replacing)
	g.wantEqual("declared while leased", g.push(g.message(key("k"), repeat(hourly)), refused),
		[]store.PushResult{{Holder: id}, {Code: store.CodeDuplicate, Holder: id}})
	g.wantState(id, store.Leased)
	g.wantCounters(store.Counters{Sent: 3, Delivered: 1, Replaced: 1, Cancelled: 1, Duplicates: 1})
}

func testDeclareRepeatedPush(g *rig) {
	id := g.recur(delay(hour))
	r := g.pushRequest(g.message(key("k"), repeat(hourly), delay(hour)))
	want := []store.PushResult{{Holder: id}}
	g.wantEqual("first", g.pushAs(r), want)
	g.reschedule(store.Move{Ref: byKey("k")})
	g.wantEqual("repeated", g.pushAs(r), want)
	g.wantState(id, store.Ready)
}

func testDeclareOthers(g *rig) {
	plain := g.send(key("k"), delay(hour))
	g.wantEqual("plain holder", g.push(g.message(key("k"), repeat(daily))), []store.PushResult{{Code: store.CodeDuplicate, Holder: plain}})
	series := g.send(key("k"), repeat(daily), replacing)
	g.wantGone(byID(plain))
	g.wantEqual("plain message", g.push(g.message(key("k"))), []store.PushResult{{Code: store.CodeDuplicate, Holder: series}})
	g.send(key("k"), replacing)
	g.wantGone(byID(series))
	g.wantCounters(store.Counters{Sent: 3, Replaced: 2, Duplicates: 2})
}
