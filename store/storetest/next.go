package storetest

import (
	"context"
	"fmt"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// following holds what the verdict Next promises.
func following() []testCase {
	return []testCase{
		{"AckedAndStoredTogether", "", testNextTogether},
		{"RefusedChangesNothing", "", testNextRefused},
		{"RefusedAloneInItsCall", "", testNextRefusedAlone},
		{"FirstThatIsNotRefusedCounts", "", testNextTwice},
		{"ReceiptsOfACallAreAnsweredInOrder", "", testNextInOrder},
		{"RepeatAnswersTheSame", "", testNextRepeated},
		{"RepeatWhenAllWasConsumed", "", testNextRepeatedLate},
		{"LateReceiptStoresNothing", "", testNextLate},
		{"UnknownQueueStoresNothing", "", testNextUnknownQueue},
		{"FullPartitionTakesOneForTheDelivery", "", testNextFullPartition},
		{"KeyPassesOn", "", testNextKey},
		{"KeyOfAnotherIsReplaced", "", testNextReplaces},
		{"KeyOfAnExpiredOneIsFree", "", testNextExpired},
		{"KnownOnesCountAsStored", "", testNextKnown},
		{"DedupIDOfTheDelivery", "", testNextDedupID},
		{"RecurringOneIsDeclared", "", testNextDeclares},
		{"RecurringOneIsDeclaredAndAckedInACall", "", testNextDeclaresAcked},
		{"CancelledIsDone", "", testNextCancelled},
		{"DeliveryBecomesDone", "", testNextHistory},
		{"LargestCall", "", testNextLargest},
		{"Wakes", "", testNextWakes},
		{"BadMessages", "", testNextBad},
		{"SurvivesReopen", reopening, testNextReopen},
		{"FullStoreRefusesNewOnes", fillingUp, testNextFullStore},
	}
}

// next returns the settlement that ends a delivery with messages behind it.
func next(r store.Receipt, messages ...store.Message) store.Settlement {
	return store.Settlement{Receipt: r, Messages: messages}
}

// follow ends deliveries with Next, in one call, and wants a code for each.
func (d *desk) follow(items []store.Settlement, want ...store.Code) {
	d.t.Helper()
	d.wantCodes("next", d.settleAs(store.SettleRequest{Verdict: store.Next, Items: items}), want...)
}

func (d *desk) followOne(item store.Settlement, want store.Code) {
	d.t.Helper()
	d.follow([]store.Settlement{item}, want)
}

// still runs a call that must change nothing that can be seen.
func (d *desk) still(what string, call func()) {
	d.t.Helper()
	seen := func() []any {
		s := d.stats()
		s.OldestReady = 0
		all := []any{s}
		for _, state := range []store.State{store.Scheduled, store.Ready, store.Leased, store.Dead} {
			all = append(all, d.list(state, 100))
		}
		return all
	}
	before := seen()
	call()
	d.wantEqual("what there is after "+what, seen(), before)
}

func testNextTogether(d *desk) {
	first, second := d.send(key("k")), d.send()
	of := map[store.ID]store.Receipt{first: d.takeOf(first), second: d.takeOf(second)}
	now := d.message(key("now"), ttl(hour))
	now.Headers = map[string]string{"a": "1"}
	later, third := d.message(delay(hour), attempts(3), size(3000)), d.message()
	d.follow([]store.Settlement{next(of[first], now, later), next(of[second], third)}, store.CodeOK, store.CodeOK)
	d.wantGone(byID(first), byID(second), byKey("k"))
	rec := d.wantState(now.ID, store.Ready)
	d.wantEqual("record", []any{rec.Key, rec.Headers, string(rec.Body), rec.Expiry > rec.At}, []any{"now", now.Headers, "body", true})
	rec = d.wantState(later.ID, store.Scheduled)
	d.wantEqual("record", []int{rec.MaxAttempts, rec.BodySize}, []int{3, 3000})
	d.wantState(third.ID, store.Ready)
	d.wantCounters(store.Counters{Sent: 5, Delivered: 2, Acked: 2})
	for range 2 {
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
	d.reschedule(store.Move{Ref: byID(later.ID)})
	d.wantSettled(store.Ack, d.takeOf(later.ID), store.CodeOK)
}

// A message that is refused keeps its delivery leased, and the others of the delivery from
// being stored, be they before it or behind it.
func testNextRefused(d *desk) {
	holder := d.send(key("taken"), delay(hour))
	d.send(key("yields"), delay(hour))
	far := d.farFuture()
	now := far - store.MaxDelay - hour
	r := d.sendAndTake(key("k"), named("a"), remember(hour)).Receipt
	for _, c := range []struct {
		message store.Message
		want    store.Code
	}{
		{d.message(key("taken")), store.CodeDuplicate},
		{d.message(due(far)), store.CodeTooFar},
		{d.message(due(now+2*hour), ttl(hour)), store.CodeExpires},
	} {
		good := []store.Message{
			d.message(), d.message(key("free"), ttl(hour)), d.message(key("yields"), replacing),
			d.message(named("b"), remember(hour)), d.message(key("r"), repeat(daily), delay(hour)), d.message(key("k")),
		}
		d.still("a refusal", func() {
			d.followOne(next(r, append(append([]store.Message{}, good...), c.message)...), c.want)
			d.followOne(next(r, append([]store.Message{c.message}, good...)...), c.want)
			d.followOne(next(r, good[0], c.message, good[1]), c.want)
		})
	}
	d.wantState(holder, store.Scheduled)
	d.wantRefused("k", r.ID)
	free := d.send(key("free"), named("b"))
	d.wantState(free, store.Ready)
	d.followOne(next(r, d.message(key("k"))), store.CodeOK)
}

// What is refused does not keep other deliveries of its call from going on, and has no effect
// on what becomes of them.
func testNextRefusedAlone(d *desk) {
	d.send(key("taken"), delay(hour))
	var rs []store.Receipt
	for range 4 {
		rs = append(rs, d.sendAndTake().Receipt)
	}
	old := d.sendAndTake().Receipt
	d.wantSettled(store.Ack, old, store.CodeOK)
	a, b, c := d.message(key("x")), d.message(key("x")), d.message(key("y"))
	d.follow([]store.Settlement{
		next(rs[0], a, d.message(key("taken"))), next(rs[1], b), next(old, d.message()),
		next(rs[2], d.message(), d.message(key("x"))), next(rs[3], c),
	}, store.CodeDuplicate, store.CodeOK, store.CodeLeaseLost, store.CodeDuplicate, store.CodeOK)
	d.wantGone(byID(a.ID), byID(rs[1].ID), byID(rs[3].ID))
	d.wantFound("x", b.ID, store.Ready)
	d.wantFound("y", c.ID, store.Ready)
	d.wantState(rs[0].ID, store.Leased)
	d.wantState(rs[2].ID, store.Leased)
	d.wantCounters(store.Counters{Sent: 8, Delivered: 5, Acked: 3})
}

func testNextTwice(d *desk) {
	d.send(key("taken"), delay(hour))
	r := d.sendAndTake().Receipt
	refused, first, second := d.message(key("taken")), d.message(), d.message()
	d.follow(
		[]store.Settlement{next(r, refused), next(r, refused), next(r, first), next(r, second), next(r, first)},
		store.CodeDuplicate, store.CodeDuplicate, store.CodeOK, store.CodeLeaseLost, store.CodeGone,
	)
	d.wantState(first.ID, store.Ready)
	d.wantGone(byID(r.ID), byID(second.ID))
}

func testNextRepeated(d *desk) {
	r := d.sendAndTake(key("k")).Receipt
	item := next(r, d.message(delay(hour)), d.message(key("k"), delay(hour), named("a")))
	d.followOne(item, store.CodeOK)
	d.still("a repetition", func() {
		for range 3 {
			d.followOne(item, store.CodeGone)
		}
		d.wantSettled(store.Ack, r, store.CodeGone)
		d.followOne(next(r, item.Messages[0], d.message()), store.CodeLeaseLost)
	})
}

func testNextRepeatedLate(d *desk) {
	r := d.sendAndTake().Receipt
	item := next(r, d.message(remember(hour)), d.message(remember(hour), named("a")))
	d.followOne(item, store.CodeOK)
	d.wantSettled(store.Ack, d.takeOf(item.Messages[0].ID), store.CodeOK)
	d.followOne(item, store.CodeGone)
	d.wantSettled(store.Ack, d.takeOf(item.Messages[1].ID), store.CodeOK)
	d.still("a repetition", func() {
		d.followOne(item, store.CodeGone)
		d.followOne(next(r, d.message(named("a"))), store.CodeGone)
		d.followOne(next(r, d.message(named("b"))), store.CodeLeaseLost)
	})
	d.takeNothing("c")
}

func testNextLate(d *desk) {
	m := d.message()
	id := d.send()
	old := d.takeFor("a", shortLease).Receipt
	d.runOut()
	current := d.take("b").Receipt
	d.followOne(next(old, m), store.CodeLeaseLost)
	d.wantSettled(store.Nack, current, store.CodeOK)
	d.followOne(next(current, m), store.CodeLeaseLost)
	d.wantSettled(store.Ack, d.takeOf(id), store.CodeOK)
	d.followOne(next(current, m), store.CodeLeaseLost)

	cancelled := d.send()
	r := d.takeFor("c", shortLease).Receipt
	d.wantCodes("cancel", d.cancel(byID(cancelled)), store.CodeRunning)
	d.runOut()
	d.takeNothing("other")
	d.followOne(next(r, m), store.CodeLeaseLost)
	d.wantGone(byID(m.ID), byID(cancelled))
	d.wantEqual("sent", d.stats().Counters.Sent, int64(2))
}

func testNextUnknownQueue(d *desk) {
	d.followOne(next(store.Receipt{ID: d.message().ID, Attempt: 1}, d.message()), store.CodeLeaseLost)
	d.wantNoQueues()
}

// In a full partition, a message that is acked can be followed by one.
func testNextFullPartition(d *desk) {
	r := d.sendAndTake().Receipt
	taken := d.send(key("yields"), delay(hour))
	d.configure(store.Change{MaxMessages: pointer(int64(2))})
	d.still("a refusal", func() {
		d.followOne(next(r, d.message(), d.message()), store.CodeFull)
		d.followOne(next(r, d.message(key("k")), d.message(key("yields"))), store.CodeFull)
	})
	last := d.message(key("k"))
	d.followOne(next(r, d.message(key("yields"), replacing), last), store.CodeOK)
	d.wantGone(byID(taken), byID(r.ID))
	d.followOne(next(d.takeOf(last.ID), d.message(delay(hour))), store.CodeOK)
	d.wantPushed(d.push(d.message()), store.CodeFull)
	d.configure(store.Change{MaxMessages: pointer(int64(0))})
	var items []store.Settlement
	for range 4 {
		items = append(items, next(d.sendAndTake().Receipt, d.message(delay(hour)), d.message(delay(hour))))
	}
	d.configure(store.Change{MaxMessages: pointer(d.liveOnes() + 2)})
	d.follow(items, store.CodeOK, store.CodeOK, store.CodeFull, store.CodeFull)
}

func testNextKey(d *desk) {
	r := d.sendAndTake(key("k")).Receipt
	for i := range 3 {
		m := d.message(key("k"))
		d.followOne(next(r, d.message(delay(hour)), m), store.CodeOK)
		d.wantFound("k", m.ID, store.Ready)
		d.wantRefused("k", m.ID)
		r = d.takeOf(m.ID)
		d.wantEqual("receipt", r, store.Receipt{ID: m.ID, Attempt: 1, Keyed: true})
		d.wantEqual("sent", d.stats().Counters.Sent, int64(2*i+3))
	}
	d.wantSettled(store.Ack, r, store.CodeOK)
	d.wantGone(byKey("k"))
	// The key of a delivery is free for a message that follows a later one of the call.
	a, b := d.sendAndTake(key("a")).Receipt, d.sendAndTake(key("b")).Receipt
	m := d.message(key("a"))
	d.follow([]store.Settlement{next(a, d.message(key("b")), d.message()), next(b, m)}, store.CodeDuplicate, store.CodeDuplicate)
	d.follow([]store.Settlement{next(a, d.message()), next(b, m)}, store.CodeOK, store.CodeOK)
	d.wantFound("a", m.ID, store.Ready)
}

func testNextReplaces(d *desk) {
	old := d.send(key("k"), delay(hour), named("a"), remember(hour))
	r := d.sendAndTake().Receipt
	m := d.message(key("k"), replacing)
	d.followOne(next(r, m), store.CodeOK)
	d.wantFound("k", m.ID, store.Ready)
	d.wantKnown(old, "a")
	d.wantEqual("replaced", d.stats().Counters.Replaced, int64(1))
}

func testNextExpired(d *desk) {
	r := d.sendAndTake().Receipt
	old := d.send(key("k"), ttl(shortTTL))
	d.expire(old)
	m := d.message(key("k"))
	d.followOne(next(r, m), store.CodeOK)
	d.wantFound("k", m.ID, store.Ready)
	d.wantEqual("expired", d.stats().Counters.Expired, int64(1))
}

// A message that an earlier run of the handler has sent is not stored again, and does not keep
// the delivery from being acked.
func testNextKnown(d *desk) {
	r := d.sendAndTake().Receipt
	live := d.send(key("k"), delay(hour))
	dead := d.dead()
	gone := d.send(named("gone"), remember(hour))
	d.wantSettled(store.Ack, d.takeOf(gone), store.CodeOK)
	named1 := d.send(named("live"), delay(hour))
	before := d.liveOnes()
	d.followOne(next(
		r, d.message(again(live), key("k"), size(5)), d.message(again(dead)), d.message(again(gone)), d.message(named("live")),
	), store.CodeOK)
	d.wantGone(byID(r.ID), byID(gone))
	d.wantEqual("live", d.liveOnes(), before-1)
	d.wantEqual("body", string(d.get(byID(live)).Body), "body")
	d.wantState(dead, store.Dead)
	d.wantState(named1, store.Scheduled)
	d.wantEqual("deduplicated", d.stats().Counters.Deduplicated, int64(2))
}

// A dedup id is that of a message which is acked for as long as it is remembered.
func testNextDedupID(d *desk) {
	r := d.sendAndTake(named("a")).Receipt
	m := d.message(named("a"), remember(hour))
	d.followOne(next(r, m), store.CodeOK)
	d.wantState(m.ID, store.Ready)
	d.wantEqual("push", d.push(d.message(named("a"))), []store.PushResult{{Code: store.CodeKnown, Holder: m.ID}})
	r = d.takeOf(m.ID)
	other := d.message(named("a"))
	d.followOne(next(r, other), store.CodeOK)
	d.wantGone(byID(other.ID), byID(m.ID))
	d.wantKnown(m.ID, "a")
}

func testNextDeclares(d *desk) {
	id := d.recur(delay(hour))
	r := d.sendAndTake().Receipt
	m, far := d.message(key("k"), repeat(hourly), delay(hour)), d.message(due(d.farFuture()))
	d.still("a refusal", func() { d.followOne(next(r, m, far), store.CodeTooFar) })
	d.followOne(next(r, m), store.CodeOK)
	d.wantEqual("schedule", d.get(byID(id)).Repeat, hourly)
	d.wantGone(byID(m.ID), byID(r.ID))
	d.followOne(next(r, m), store.CodeGone)
	d.followOne(next(r, d.message(key("other"), repeat(hourly))), store.CodeLeaseLost)
}

// The message of one delivery is what another, which is gone, was to be followed by.
func testNextInOrder(d *desk) {
	gone := d.sendAndTake().Receipt
	d.wantSettled(store.Ack, gone, store.CodeOK)
	first, second := d.sendAndTake().Receipt, d.sendAndTake().Receipt
	of := func(r store.Receipt) store.Message {
		m := d.message()
		m.ID = r.ID
		return m
	}
	d.follow([]store.Settlement{next(gone, of(first)), next(first, d.message())}, store.CodeGone, store.CodeOK)
	d.follow([]store.Settlement{next(second, d.message()), next(gone, of(second))}, store.CodeOK, store.CodeLeaseLost)
}

func testNextDeclaresAcked(d *desk) {
	d.keepDone(hour, 10)
	id := d.recur()
	leased := d.takeOf(id)
	r := d.sendAndTake().Receipt
	follows := d.message()
	d.follow([]store.Settlement{next(r, d.message(key("k"), repeat(hourly))), next(leased, follows)}, store.CodeOK, store.CodeOK)
	rec := d.wantState(id, store.Done)
	d.wantEqual("schedule of what was done", rec.Repeat, hourly)
	d.wantState(follows.ID, store.Ready)
	d.send(key("k"))
}

func testNextCancelled(d *desk) {
	r := d.sendAndTake(key("k")).Receipt
	d.wantCodes("cancel", d.cancel(byID(r.ID)), store.CodeRunning)
	m := d.message()
	d.followOne(next(r, m), store.CodeOK)
	d.wantGone(byID(r.ID), byKey("k"))
	d.wantState(m.ID, store.Ready)
	d.wantCounters(store.Counters{Sent: 2, Delivered: 1, Acked: 1})
}

func testNextHistory(d *desk) {
	d.keepDone(hour, 10)
	r := d.sendAndTake(key("k")).Receipt
	m := d.message(key("k"), delay(hour))
	d.followOne(next(r, m), store.CodeOK)
	rec := d.wantState(r.ID, store.Done)
	d.wantEqual("ending, attempt", []any{rec.Ending, rec.Attempt}, []any{store.EndingAcked, 1})
	d.wantState(m.ID, store.Scheduled)
	d.followOne(next(r, m), store.CodeGone)
	d.followOne(next(r, d.message()), store.CodeLeaseLost)
}

func testNextLargest(d *desk) {
	for _, keyed := range []bool{false, true} {
		d.sendMany(store.MaxBatch)
		var items []store.Settlement
		for i, v := range d.claim("c", store.MaxBatch).Deliveries {
			m := d.message(size(2000), delay(hour), remember(hour))
			if keyed {
				m.Key, m.DedupID = fmt.Sprint("k", i), store.NewDedupID(fmt.Sprint(i))
			}
			items = append(items, next(v.Receipt, m))
		}
		codes := d.settleAs(store.SettleRequest{Verdict: store.Next, Items: items})
		d.wantCodes("next", codes, make([]store.Code, store.MaxBatch)...)
	}
	r := d.sendAndTake().Receipt
	messages := make([]store.Message, store.MaxBatch)
	for i := range messages {
		messages[i] = d.message(delay(hour))
	}
	d.followOne(next(r, messages...), store.CodeOK)
	d.followOne(next(d.sendAndTake().Receipt, d.message(size(store.MaxBatchBytes+1), delay(hour))), store.CodeOK)
	d.wantEqual("scheduled", d.stats().Scheduled, int64(3*store.MaxBatch+1))
}

func testNextWakes(d *desk) {
	w := d.watch()
	a, b := d.sendAndTake().Receipt, d.sendAndTake().Receipt
	d.send(delay(hour))
	w.since()
	d.followOne(next(a, d.message(delay(2*hour))), store.CodeOK)
	w.want("a later message")
	d.followOne(next(b, d.message()), store.CodeOK)
	w.want("an earlier message", wake)
}

func testNextBad(d *desk) {
	r := store.Receipt{ID: d.message().ID, Attempt: 1}
	same, elsewhere := d.message(key("k"), named("a")), d.message()
	elsewhere.ID = route.NewID(7)
	own := d.message()
	own.ID = r.ID
	for _, c := range []struct {
		name, field string
		messages    []store.Message
	}{
		{"none", "messages", nil},
		{"too many", "messages", make([]store.Message, store.MaxBatch+1)},
		{"no id", "id", []store.Message{{MaxAttempts: 1}}},
		{"another partition", "id", []store.Message{elsewhere}},
		{"that of the delivery", "id", []store.Message{own}},
		{"twice", "id", []store.Message{same, same}},
		{"a key twice", "key", []store.Message{same, d.message(key("k"))}},
		{"a dedup id twice", "dedup id", []store.Message{same, d.message(named("a"))}},
		{"no attempts", "max attempts", []store.Message{d.message(attempts(0))}},
	} {
		_, err := d.s.Settle(context.WithoutCancel(d.t.Context()), d.p, store.SettleRequest{Verdict: store.Next, Items: []store.Settlement{next(r, c.messages...)}})
		d.wantInvalid(c.name, err, store.ErrInvalid, c.field)
	}
	large := []store.Settlement{next(r, d.message(size(store.MaxBatchBytes))), next(r, d.message(size(1)))}
	_, err := d.s.Settle(d.t.Context(), d.p, store.SettleRequest{Verdict: store.Next, Items: large})
	d.wantInvalid("too large together", err, store.ErrTooLarge, "messages")
	_, err = d.s.Settle(d.t.Context(), d.p, store.SettleRequest{Verdict: store.Ack, Items: []store.Settlement{next(r, same)}})
	d.wantInvalid("with another verdict", err, store.ErrInvalid, "messages")
	d.wantNoQueues()
}

func testNextReopen(d *desk) {
	r := d.sendAndTake(key("k")).Receipt
	m := d.message(key("k"), named("a"), remember(hour), ttl(2*hour), delay(hour))
	item := next(r, m, d.message())
	d.followOne(item, store.CodeOK)
	before := d.get(byID(m.ID))
	d.s = d.h.Reopen(d.t)
	d.wantEqual("record", d.get(byID(m.ID)), before)
	d.still("a repetition", func() { d.followOne(item, store.CodeGone) })
	d.wantRefused("k", m.ID)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
}

// Where there is space for nothing new, a delivery is not acked whose messages cannot be
// stored; one whose messages are there already is.
func testNextFullStore(d *desk) {
	fresh, done := d.sendAndTake().Receipt, d.sendAndTake().Receipt
	old := d.sendAndTake().Receipt
	known := d.message(delay(hour), remember(hour))
	d.push(known)
	d.wantSettled(store.Ack, old, store.CodeOK)
	undo := d.h.FillUp(d.t)
	defer undo()
	m := d.message(key("k"), replacing)
	d.follow(
		[]store.Settlement{next(fresh, m), next(done, known), next(old, known), next(fresh, known, d.message())},
		store.CodeFull, store.CodeOK, store.CodeGone, store.CodeFull,
	)
	d.wantState(fresh.ID, store.Leased)
	d.wantGone(byID(m.ID), byID(done.ID))
	d.wantSettled(store.Nack, fresh, store.CodeOK)
	d.wantState(fresh.ID, store.Ready)
}
