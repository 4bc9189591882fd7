package storetest

import (
	"context"
	"fmt"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// following are the tests of the verdict Next.
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
		{"KeyOfAnExpiredMessageIsFree", "", testNextExpired},
		{"KnownMessagesCountAsStored", "", testNextKnown},
		{"DedupIDOfTheDelivery", "", testNextDedupID},
		{"RecurringMessageIsDeclared", "", testNextDeclares},
		{"RecurringMessageIsDeclaredAndAckedInACall", "", testNextDeclaresAcked},
		{"CancelledIsDone", "", testNextCancelled},
		{"DeliveryBecomesDone", "", testNextHistory},
		{"LargestCall", "", testNextLargest},
		{"Wakes", "", testNextWakes},
		{"BadMessages", "", testNextBad},
		{"SurvivesReopen", reopening, testNextReopen},
		{"FullStoreRefusesNewMessages", fillingUp, testNextFullStore},
	}
}

// next returns the settlement that acks a delivery and stores messages.
func next(r store.Receipt, messages ...store.Message) store.Settlement {
	return store.Settlement{Receipt: r, Messages: messages}
}

// follow settles deliveries with Next, in one call, and fails unless the codes are want.
func (g *rig) follow(items []store.Settlement, want ...store.Code) {
	g.t.Helper()
	g.wantCodes("next", g.settleAs(store.SettleRequest{Verdict: store.Next, Items: items}), want...)
}

func (g *rig) followOne(item store.Settlement, want store.Code) {
	g.t.Helper()
	g.follow([]store.Settlement{item}, want)
}

// still fails if a call changes anything that the port shows.
func (g *rig) still(what string, call func()) {
	g.t.Helper()
	seen := func() []any {
		s := g.stats()
		s.OldestReady = 0
		all := []any{s}
		for _, state := range []store.State{store.Scheduled, store.Ready, store.Leased, store.Dead} {
			all = append(all, g.list(state, 100))
		}
		return all
	}
	before := seen()
	call()
	g.wantEqual("what there is after "+what, seen(), before)
}

func testNextTogether(g *rig) {
	first, second := g.send(key("k")), g.send()
	of := map[store.ID]store.Receipt{first: g.takeOf(first), second: g.takeOf(second)}
	now := g.message(key("now"), ttl(hour))
	now.Headers = map[string]string{"a": "1"}
	later, third := g.message(delay(hour), attempts(3), size(3000)), g.message()
	g.follow([]store.Settlement{next(of[first], now, later), next(of[second], third)}, store.CodeOK, store.CodeOK)
	g.wantGone(byID(first), byID(second), byKey("k"))
	rec := g.wantState(now.ID, store.Ready)
	g.wantEqual("record", []any{rec.Key, rec.Headers, string(rec.Body), rec.Expiry > rec.At}, []any{"now", now.Headers, "body", true})
	rec = g.wantState(later.ID, store.Scheduled)
	g.wantEqual("record", []int{rec.MaxAttempts, rec.BodySize}, []int{3, 3000})
	g.wantState(third.ID, store.Ready)
	g.wantCounters(store.Counters{Sent: 5, Delivered: 2, Acked: 2})
	for range 2 {
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	g.reschedule(store.Move{Ref: byID(later.ID)})
	g.wantSettled(store.Ack, g.takeOf(later.ID), store.CodeOK)
}

// When a message is refused, its delivery stays leased and no other message of the delivery is
// stored, neither those before it nor those behind it.
func testNextRefused(g *rig) {
	holder := g.send(key("taken"), delay(hour))
	g.send(key("yields"), delay(hour))
	far := g.farFuture()
	now := far - store.MaxDelay - hour
	r := g.sendAndTake(key("k"), named("a"), remember(hour)).Receipt
	for _, c := range []struct {
		message store.Message
		want    store.Code
	}{
		{g.message(key("taken")), store.CodeDuplicate},
		{g.message(due(far)), store.CodeTooFar},
		{g.message(due(now+2*hour), ttl(hour)), store.CodeExpires},
	} {
		good := []store.Message{
			g.message(), g.message(key("free"), ttl(hour)), g.message(key("yields"), replacing),
			g.message(named("b"), remember(hour)), g.message(key("r"), repeat(daily), delay(hour)), g.message(key("k")),
		}
		g.still("a refusal", func() {
			g.followOne(next(r, append(append([]store.Message{}, good...), c.message)...), c.want)
			g.followOne(next(r, append([]store.Message{c.message}, good...)...), c.want)
			g.followOne(next(r, good[0], c.message, good[1]), c.want)
		})
	}
	g.wantState(holder, store.Scheduled)
	g.wantRefused("k", r.ID)
	free := g.send(key("free"), named("b"))
	g.wantState(free, store.Ready)
	g.followOne(next(r, g.message(key("k"))), store.CodeOK)
}

// A delivery that is refused does not affect the other deliveries of its call.
func testNextRefusedAlone(g *rig) {
	g.send(key("taken"), delay(hour))
	var rs []store.Receipt
	for range 4 {
		rs = append(rs, g.sendAndTake().Receipt)
	}
	old := g.sendAndTake().Receipt
	g.wantSettled(store.Ack, old, store.CodeOK)
	a, b, c := g.message(key("x")), g.message(key("x")), g.message(key("y"))
	g.follow([]store.Settlement{
		next(rs[0], a, g.message(key("taken"))), next(rs[1], b), next(old, g.message()),
		next(rs[2], g.message(), g.message(key("x"))), next(rs[3], c),
	}, store.CodeDuplicate, store.CodeOK, store.CodeLeaseLost, store.CodeDuplicate, store.CodeOK)
	g.wantGone(byID(a.ID), byID(rs[1].ID), byID(rs[3].ID))
	g.wantFound("x", b.ID, store.Ready)
	g.wantFound("y", c.ID, store.Ready)
	g.wantState(rs[0].ID, store.Leased)
	g.wantState(rs[2].ID, store.Leased)
	g.wantCounters(store.Counters{Sent: 8, Delivered: 5, Acked: 3})
}

func testNextTwice(g *rig) {
	g.send(key("taken"), delay(hour))
	r := g.sendAndTake().Receipt
	refused, first, second := g.message(key("taken")), g.message(), g.message()
	g.follow(
		[]store.Settlement{next(r, refused), next(r, refused), next(r, first), next(r, second), next(r, first)},
		store.CodeDuplicate, store.CodeDuplicate, store.CodeOK, store.CodeLeaseLost, store.CodeGone,
	)
	g.wantState(first.ID, store.Ready)
	g.wantGone(byID(r.ID), byID(second.ID))
}

func testNextRepeated(g *rig) {
	r := g.sendAndTake(key("k")).Receipt
	item := next(r, g.message(delay(hour)), g.message(key("k"), delay(hour), named("a")))
	g.followOne(item, store.CodeOK)
	g.still("a repetition", func() {
		for range 3 {
			g.followOne(item, store.CodeGone)
		}
		g.wantSettled(store.Ack, r, store.CodeGone)
		g.followOne(next(r, item.Messages[0], g.message()), store.CodeLeaseLost)
	})
}

func testNextRepeatedLate(g *rig) {
	r := g.sendAndTake().Receipt
	item := next(r, g.message(remember(hour)), g.message(remember(hour), named("a")))
	g.followOne(item, store.CodeOK)
	g.wantSettled(store.Ack, g.takeOf(item.Messages[0].ID), store.CodeOK)
	g.followOne(item, store.CodeGone)
	g.wantSettled(store.Ack, g.takeOf(item.Messages[1].ID), store.CodeOK)
	g.still("a repetition", func() {
		g.followOne(item, store.CodeGone)
		g.followOne(next(r, g.message(named("a"))), store.CodeGone)
		g.followOne(next(r, g.message(named("b"))), store.CodeLeaseLost)
	})
	g.takeNothing("c")
}

func testNextLate(g *rig) {
	m := g.message()
	id := g.send()
	old := g.takeFor("a", shortLease).Receipt
	g.runOut()
	current := g.take("b").Receipt
	g.followOne(next(old, m), store.CodeLeaseLost)
	g.wantSettled(store.Nack, current, store.CodeOK)
	g.followOne(next(current, m), store.CodeLeaseLost)
	g.wantSettled(store.Ack, g.takeOf(id), store.CodeOK)
	g.followOne(next(current, m), store.CodeLeaseLost)

	cancelled := g.send()
	r := g.takeFor("c", shortLease).Receipt
	g.wantCodes("cancel", g.cancel(byID(cancelled)), store.CodeRunning)
	g.runOut()
	g.takeNothing("other")
	g.followOne(next(r, m), store.CodeLeaseLost)
	g.wantGone(byID(m.ID), byID(cancelled))
	g.wantEqual("sent", g.stats().Counters.Sent, int64(2))
}

func testNextUnknownQueue(g *rig) {
	g.followOne(next(store.Receipt{ID: g.message().ID, Attempt: 1}, g.message()), store.CodeLeaseLost)
	g.wantNoQueues()
}

// In a full partition, a message that is acked can be followed by one.
func testNextFullPartition(g *rig) {
	r := g.sendAndTake().Receipt
	taken := g.send(key("yields"), delay(hour))
	g.configure(store.Change{MaxMessages: pointer(int64(2))})
	g.still("a refusal", func() {
		g.followOne(next(r, g.message(), g.message()), store.CodeFull)
		g.followOne(next(r, g.message(key("k")), g.message(key("yields"))), store.CodeFull)
	})
	last := g.message(key("k"))
	g.followOne(next(r, g.message(key("yields"), replacing), last), store.CodeOK)
	g.wantGone(byID(taken), byID(r.ID))
	g.followOne(next(g.takeOf(last.ID), g.message(delay(hour))), store.CodeOK)
	g.wantPushed(g.push(g.message()), store.CodeFull)
	g.configure(store.Change{MaxMessages: pointer(int64(0))})
	var items []store.Settlement
	for range 4 {
		items = append(items, next(g.sendAndTake().Receipt, g.message(delay(hour)), g.message(delay(hour))))
	}
	g.configure(store.Change{MaxMessages: pointer(g.liveOnes() + 2)})
	g.follow(items, store.CodeOK, store.CodeOK, store.CodeFull, store.CodeFull)
}

// Items are answered in their order, also when the message of one item is the delivery of another.
func testNextInOrder(g *rig) {
	gone := g.sendAndTake().Receipt
	g.wantSettled(store.Ack, gone, store.CodeOK)
	first, second := g.sendAndTake().Receipt, g.sendAndTake().Receipt
	of := func(r store.Receipt) store.Message {
		m := g.message()
		m.ID = r.ID
		return m
	}
	g.follow([]store.Settlement{next(gone, of(first)), next(first, g.message())}, store.CodeGone, store.CodeOK)
	g.follow([]store.Settlement{next(second, g.message()), next(gone, of(second))}, store.CodeOK, store.CodeLeaseLost)
}

func testNextCancelled(g *rig) {
	r := g.sendAndTake(key("k")).Receipt
	g.wantCodes("cancel", g.cancel(byID(r.ID)), store.CodeRunning)
	m := g.message()
	g.followOne(next(r, m), store.CodeOK)
	g.wantGone(byID(r.ID), byKey("k"))
	g.wantState(m.ID, store.Ready)
	g.wantCounters(store.Counters{Sent: 2, Delivered: 1, Acked: 1})
}

func testNextHistory(g *rig) {
	g.keepDone(hour, 10)
	r := g.sendAndTake(key("k")).Receipt
	m := g.message(key("k"), delay(hour))
	g.followOne(next(r, m), store.CodeOK)
	rec := g.wantState(r.ID, store.Done)
	g.wantEqual("ending, attempt", []any{rec.Ending, rec.Attempt}, []any{store.EndingAcked, 1})
	g.wantState(m.ID, store.Scheduled)
	g.followOne(next(r, m), store.CodeGone)
	g.followOne(next(r, g.message()), store.CodeLeaseLost)
}

func testNextLargest(g *rig) {
	for _, keyed := range []bool{false, true} {
		g.sendMany(store.MaxBatch)
		var items []store.Settlement
		for i, v := range g.claim("c", store.MaxBatch).Deliveries {
			m := g.message(size(2000), delay(hour), remember(hour))
			if keyed {
				m.Key, m.DedupID = fmt.Sprint("k", i), store.NewDedupID(fmt.Sprint(i))
			}
			items = append(items, next(v.Receipt, m))
		}
		codes := g.settleAs(store.SettleRequest{Verdict: store.Next, Items: items})
		g.wantCodes("next", codes, make([]store.Code, store.MaxBatch)...)
	}
	r := g.sendAndTake().Receipt
	messages := make([]store.Message, store.MaxBatch)
	for i := range messages {
		messages[i] = g.message(delay(hour))
	}
	g.followOne(next(r, messages...), store.CodeOK)
	g.followOne(next(g.sendAndTake().Receipt, g.message(size(store.MaxBatchBytes+1), delay(hour))), store.CodeOK)
	g.wantEqual("scheduled", g.stats().Scheduled, int64(3*store.MaxBatch+1))
}

func testNextWakes(g *rig) {
	w := g.watch()
	a, b := g.sendAndTake().Receipt, g.sendAndTake().Receipt
	g.send(delay(hour))
	w.since()
	g.followOne(next(a, g.message(delay(2*hour))), store.CodeOK)
	w.want("a later message")
	g.followOne(next(b, g.message()), store.CodeOK)
	w.want("an earlier message", wake)
}

func testNextBad(g *rig) {
	r := store.Receipt{ID: g.message().ID, Attempt: 1}
	same, elsewhere := g.message(key("k"), named("a")), g.message()
	elsewhere.ID = route.NewID(7)
	own := g.message()
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
		{"a key twice", "key", []store.Message{same, g.message(key("k"))}},
		{"a dedup id twice", "dedup id", []store.Message{same, g.message(named("a"))}},
		{"no attempts", "max attempts", []store.Message{g.message(attempts(0))}},
	} {
		_, err := g.s.Settle(context.WithoutCancel(g.t.Context()), g.p, store.SettleRequest{Verdict: store.Next, Items: []store.Settlement{next(r, c.messages...)}})
		g.wantInvalid(c.name, err, store.ErrInvalid, c.field)
	}
	large := []store.Settlement{next(r, g.message(size(store.MaxBatchBytes))), next(r, g.message(size(1)))}
	_, err := g.s.Settle(g.t.Context(), g.p, store.SettleRequest{Verdict: store.Next, Items: large})
	g.wantInvalid("too large together", err, store.ErrTooLarge, "messages")
	_, err = g.s.Settle(g.t.Context(), g.p, store.SettleRequest{Verdict: store.Ack, Items: []store.Settlement{next(r, same)}})
	g.wantInvalid("with another verdict", err, store.ErrInvalid, "messages")
	g.wantNoQueues()
}

func testNextReopen(g *rig) {
	r := g.sendAndTake(key("k")).Receipt
	m := g.message(key("k"), named("a"), remember(hour), ttl(2*hour), delay(hour))
	item := next(r, m, g.message())
	g.followOne(item, store.CodeOK)
	before := g.get(byID(m.ID))
	g.s = g.h.Reopen(g.t)
	g.wantEqual("record", g.get(byID(m.ID)), before)
	g.still("a repetition", func() { g.followOne(item, store.CodeGone) })
	g.wantRefused("k", m.ID)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
}

// In a full store, a delivery whose messages are new is refused; one whose messages have been
// stored before is acked.
func testNextFullStore(g *rig) {
	fresh, done := g.sendAndTake().Receipt, g.sendAndTake().Receipt
	old := g.sendAndTake().Receipt
	known := g.message(delay(hour), remember(hour))
	g.push(known)
	g.wantSettled(store.Ack, old, store.CodeOK)
	undo := g.h.FillUp(g.t)
	defer undo()
	m := g.message(key("k"), replacing)
	g.follow(
		[]store.Settlement{next(fresh, m), next(done, known), next(old, known), next(fresh, known, g.message())},
		store.CodeFull, store.CodeOK, store.CodeGone, store.CodeFull,
	)
	g.wantState(fresh.ID, store.Leased)
	g.wantGone(byID(m.ID), byID(done.ID))
	g.wantSettled(store.Nack, fresh, store.CodeOK)
	g.wantState(fresh.ID, store.Ready)
}
