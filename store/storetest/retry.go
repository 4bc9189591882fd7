package storetest

import (
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// idempotentPush tests that a repeated push stores nothing twice.
func idempotentPush() []testCase {
	return []testCase{
		{"RepeatStoresNothingTwice", "", testPushRepeated},
		{"RepeatAfterTheMessagesAreGone", "", testPushRepeatedAfterAck},
		{"RepeatGivesTheSameRefusals", "", testPushRepeatedRefusals},
		{"DelayedDuplicateIsStale", "", testPushStale},
		{"SameIDUnderANewNumber", "", testPushSameID},
		{"ProducersAreApart", "", testProducersApart},
		{"MessagesOfABatchAreStoredInOrder", "", testPushSequential},
		{"RepeatAfterReopen", reopening, testPushRepeatedAfterReopen},
	}
}

func testPushRepeated(g *rig) {
	r := g.pushRequest(g.message(), g.message(key("k"), delay(hour)), g.message(ttl(hour)))
	for range 3 {
		g.wantPushed(g.pushAs(r), store.CodeOK, store.CodeOK, store.CodeOK)
	}
	g.wantCounters(store.Counters{Sent: 3})
	g.wantEqual("ready", len(g.list(store.Ready, 10)), 2)
	g.wantEqual("scheduled", len(g.list(store.Scheduled, 10)), 1)
}

func testPushRepeatedAfterAck(g *rig) {
	r := g.pushRequest(g.message(), g.message(key("k")))
	g.pushAs(r)
	for _, v := range g.drain("c", 10) {
		g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	g.wantPushed(g.pushAs(r), store.CodeOK, store.CodeOK)
	g.takeNothing("c")
	g.wantCounters(store.Counters{Sent: 2, Delivered: 2, Acked: 2})
}

func testPushRepeatedRefusals(g *rig) {
	holder := g.send(key("k"))
	r := g.pushRequest(g.message(key("k")), g.message(), g.message(due(g.farFuture())))
	want := []store.PushResult{{Code: store.CodeDuplicate, Holder: holder}, {}, {Code: store.CodeTooFar}}
	g.wantEqual("results", g.pushAs(r), want)
	g.cancel(byID(holder))
	g.wantEqual("remembered results", g.pushAs(r), want)
	g.wantCounters(store.Counters{Sent: 3, Cancelled: 2, Duplicates: 1})
}

// farFuture returns an instant that is too far ahead for any clock of a store.
func (g *rig) farFuture() int64 {
	id := g.send()
	now := g.get(byID(id)).At
	g.wantCodes("cancel", g.cancel(byID(id)), store.CodeOK)
	return now + store.MaxDelay + hour
}

func testPushStale(g *rig) {
	old := g.pushRequest(g.message(), g.message(key("k")))
	g.pushAs(old)
	for _, v := range g.drain("c", 10) {
		g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	g.send()
	g.wantPushed(g.pushAs(old), store.CodeStale, store.CodeStale)
	never := store.PushRequest{Producer: old.Producer, Number: 1, Messages: []store.Message{g.message()}}
	g.wantPushed(g.pushAs(never), store.CodeStale)
	g.wantGone(byID(never.Messages[0].ID))
	g.wantCounters(store.Counters{Sent: 3, Delivered: 2, Acked: 2})
}

func testPushSameID(g *rig) {
	m := g.message(key("k"), delay(hour))
	m.Headers = map[string]string{"a": "1", "b": "2"}
	g.wantPushed(g.push(m), store.CodeOK)
	m.New = false
	again := m
	again.Delay, again.TTL = 0, hour
	g.wantPushed(g.push(m, again), store.CodeOK, store.CodeOK)
	g.wantState(m.ID, store.Scheduled)
	g.wantEqual("expiry", g.get(byID(m.ID)).Expiry, int64(0))
	for name, edit := range map[string]func(*store.Message){
		"body": size(3), "key": key("other"), "no key": key(""), "attempts": attempts(3),
		"headers": func(m *store.Message) { m.Headers = map[string]string{"a": "1"} },
	} {
		other := m
		edit(&other)
		g.wantEqual(name, g.push(other), []store.PushResult{{Code: store.CodeConflict}})
	}
	g.wantCounters(store.Counters{Sent: 1})
	// The same holds in every other state.
	g.reschedule(store.Move{Ref: byID(m.ID)})
	r := g.take("c").Receipt
	g.wantPushed(g.push(m), store.CodeOK)
	g.wantState(m.ID, store.Leased)
	g.wantSettled(store.Reject, r, store.CodeOK)
	g.wantPushed(g.push(m), store.CodeOK)
	g.wantState(m.ID, store.Dead)
	g.wantEqual("sent", g.stats().Counters.Sent, int64(1))
}

func testProducersApart(g *rig) {
	a := store.PushRequest{Producer: "a", Number: 7, Messages: []store.Message{g.message()}}
	b := store.PushRequest{Producer: "b", Number: 3, Messages: []store.Message{g.message()}}
	big := store.PushRequest{Producer: "c", Number: 1<<63 + 12345, Messages: []store.Message{g.message()}}
	for range 2 {
		g.wantPushed(g.pushAs(a), store.CodeOK)
		g.wantPushed(g.pushAs(b), store.CodeOK)
		g.wantPushed(g.pushAs(big), store.CodeOK)
	}
	big.Number--
	big.Messages[0] = g.message()
	g.wantPushed(g.pushAs(big), store.CodeStale)
	g.wantCounters(store.Counters{Sent: 3})
}

func testPushSequential(g *rig) {
	first, second, third := g.message(key("k")), g.message(key("k")), g.message(key("k"), replacing)
	same := first
	conflict := first
	conflict.Body = []byte("other")
	got := g.push(first, second, same, conflict, third)
	g.wantEqual("results", got, []store.PushResult{
		{}, {Code: store.CodeDuplicate, Holder: first.ID}, {}, {Code: store.CodeConflict}, {},
	})
	g.wantGone(byID(first.ID), byID(second.ID))
	g.wantEqual("holder", g.get(byKey("k")).ID, third.ID)
	g.wantCounters(store.Counters{Sent: 2, Duplicates: 1, Replaced: 1})
}

func testPushRepeatedAfterReopen(g *rig) {
	r := g.pushRequest(g.message())
	g.pushAs(r)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.s = g.h.Reopen(g.t)
	g.wantPushed(g.pushAs(r), store.CodeOK)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, Acked: 1})
}

// idempotentClaim tests that a repeated claim returns the same deliveries.
func idempotentClaim() []testCase {
	return []testCase{
		{"RepeatReturnsTheSameDeliveries", "", testClaimRepeated},
		{"RepeatLeavesOutWhatIsSettled", "", testClaimRepeatedAfterSettle},
		{"RepeatLeavesOutLostLeases", "", testClaimRepeatedAfterLoss},
		{"RepeatOfAnEmptyClaimStaysEmpty", "", testClaimRepeatedEmpty},
		{"DelayedDuplicateIsStale", "", testClaimStale},
		{"ConsumersAreApart", "", testConsumersApart},
		{"LateClaimOfAConsumerThatLeft", "", testClaimAfterLeaving},
		{"LeavingConsumersAreApart", "", testLeaveApart},
		{"AtMostOnce", "", testAckOnClaim},
		{"RepeatAfterReopen", reopening, testClaimRepeatedAfterReopen},
	}
}

// A claim can reach the store long after its consumer has left. It may return the deliveries of
// its first answer, but must not hand out others.
func testClaimAfterLeaving(g *rig) {
	g.sendMany(20)
	old, last := g.claimRequest("c", 3), g.claimRequest("c", 10)
	g.claimAs(old)
	first := g.claimAs(last).Deliveries
	g.leave("c", "c", "nobody")
	again := g.claimAs(last).Deliveries
	if len(again) > 0 {
		g.wantEqual("the last claim, late", again, first)
	}
	g.wantEqual("an older claim, late", g.claimAs(old).Stale, true)
	for _, delivery := range first {
		g.wantSettled(store.Ack, delivery.Receipt, store.CodeOK)
	}
	g.leave("c")
	g.wantEqual("the last claim, after all are settled", len(g.claimAs(last).Deliveries), 0)
	g.wantCounters(store.Counters{Sent: 20, Delivered: 13, Acked: 10})
	g.wantEqual("the rest", len(g.claim("c", 10).Deliveries), 7)
}

func testLeaveApart(g *rig) {
	g.sendMany(20)
	r := g.claimRequest("c", 10)
	first := g.claimAs(r).Deliveries
	push := g.pushRequest(g.message())
	g.wantPushed(g.pushAs(push), store.CodeOK)
	g.leave("d", "producer")
	g.at(g.p.Queue, 1).leave("c")
	g.wantEqual("repeated", g.claimAs(r).Deliveries, first)
	g.wantPushed(g.pushAs(push), store.CodeOK)
	g.wantCounters(store.Counters{Sent: 21, Delivered: 10})
}

func (g *rig) leave(consumers ...string) {
	g.t.Helper()
	g.noError("leave", g.s.Leave(g.t.Context(), g.p, store.LeaveRequest{Consumers: consumers}))
}

func testClaimRepeated(g *rig) {
	g.send(key("k"), ttl(hour))
	g.sendMany(4)
	r := g.claimRequest("c", 3)
	first := g.claimAs(r)
	g.wantEqual("claimed", len(first.Deliveries), 3)
	for range 3 {
		g.wantEqual("repeated", g.claimAs(r).Deliveries, first.Deliveries)
	}
	rest := g.claim("c", 10)
	g.wantEqual("the rest", len(rest.Deliveries), 2)
	g.wantCounters(store.Counters{Sent: 5, Delivered: 5})
}

func testClaimRepeatedAfterSettle(g *rig) {
	g.sendMany(5)
	r := g.claimRequest("c", 5)
	first := g.claimAs(r).Deliveries
	g.wantSettled(store.Ack, first[0].Receipt, store.CodeOK)
	g.wantSettled(store.Release, first[2].Receipt, store.CodeOK)
	g.wantSettled(store.Reject, first[4].Receipt, store.CodeOK)
	g.wantEqual("repeated", g.claimAs(r).Deliveries, []store.Delivery{first[1], first[3]})
	g.wantEqual("delivered", g.stats().Counters.Delivered, int64(5))
}

func testClaimRepeatedAfterLoss(g *rig) {
	g.send()
	r := g.claimRequest("c", 5)
	r.Lease = shortLease
	g.wantEqual("claimed", len(g.claimAs(r).Deliveries), 1)
	g.runOut()
	again := g.take("other")
	g.wantEqual("repeated", g.claimAs(r).Deliveries, []store.Delivery(nil))
	g.wantEqual("attempt", again.Receipt.Attempt, 2)
	g.wantSettled(store.Ack, again.Receipt, store.CodeOK)
}

func testClaimRepeatedEmpty(g *rig) {
	g.send(delay(hour))
	r := g.claimRequest("c", 5)
	g.wantEqual("claimed", len(g.claimAs(r).Deliveries), 0)
	id := g.send()
	res := g.claimAs(r)
	g.wantEqual("repeated", res.Deliveries, []store.Delivery(nil))
	g.wantEqual("wait, computed anew", res.Wait, time.Duration(0))
	g.wantEqual("next claim", g.take("c").Receipt.ID, id)
}

func testClaimStale(g *rig) {
	g.sendMany(2)
	old := g.claimRequest("c", 1)
	g.claimAs(old)
	g.takeNothingBut("c", 1)
	g.sendMany(2)
	res := g.claimAs(old)
	if !res.Stale || len(res.Deliveries) != 0 {
		g.t.Fatalf("delayed duplicate: stale %v, %d deliveries", res.Stale, len(res.Deliveries))
	}
	g.wantEqual("ready", len(g.list(store.Ready, 10)), 2)
}

func (g *rig) takeNothingBut(consumer string, n int) {
	g.t.Helper()
	g.wantEqual("deliveries", len(g.claim(consumer, store.MaxBatch).Deliveries), n)
}

func testConsumersApart(g *rig) {
	g.sendMany(20)
	var rs []store.ClaimRequest
	var got [][]store.Delivery
	for i := range 10 {
		r := store.ClaimRequest{Consumer: fmt.Sprintf("c%d", i), Number: uint64(1000 - i), Max: 2, Lease: longLease}
		rs, got = append(rs, r), append(got, g.claimAs(r).Deliveries)
	}
	for i, r := range rs {
		g.wantEqual("repeated", g.claimAs(r).Deliveries, got[i])
	}
	g.wantEqual("delivered", g.stats().Counters.Delivered, int64(20))
}

func testAckOnClaim(g *rig) {
	id := g.send(key("k"))
	g.sendMany(2)
	r := g.claimRequest("c", 2)
	r.AckOnClaim = true
	first := g.claimAs(r).Deliveries
	g.wantEqual("claimed", len(first), 2)
	g.wantEqual("body", string(first[0].Body), "body")
	g.wantGone(byID(id), byKey("k"))
	g.wantEqual("repeated", g.claimAs(r).Deliveries, []store.Delivery(nil))
	g.wantSettled(store.Ack, first[0].Receipt, store.CodeGone)
	g.wantCounters(store.Counters{Sent: 3, Delivered: 2, Acked: 2})
	g.send(key("k"))
}

func testClaimRepeatedAfterReopen(g *rig) {
	g.sendMany(2)
	r := g.claimRequest("c", 2)
	first := g.claimAs(r)
	g.s = g.h.Reopen(g.t)
	g.wantEqual("repeated", g.claimAs(r).Deliveries, first.Deliveries)
	g.wantCounters(store.Counters{Sent: 2, Delivered: 2})
}

// idempotentSettle tests that a repeated settle changes nothing.
func idempotentSettle() []testCase {
	cases := []testCase{
		{"TwiceInOneBatch", "", testSettleTwiceInBatch},
		{"OtherVerdictAfterwards", "", testOtherVerdict},
		{"RepeatWhileTheNextHolderHasIt", "", testSettleRepeatedNextHolder},
		{"NackThatKills", "", testNackThatKills},
	}
	for _, v := range verdicts {
		cases = append(cases, testCase{"Repeated/" + string(v), "", func(g *rig) { testSettleRepeated(g, v) }})
	}
	return cases
}

func testSettleRepeated(g *rig, v store.Verdict) {
	id := g.send(key("k"))
	r := g.take("c").Receipt
	g.wantSettled(v, r, store.CodeOK)
	before := g.stats()
	want := store.CodeOK
	if v == store.Ack {
		want = store.CodeGone
	}
	for range 3 {
		g.wantSettled(v, r, want)
	}
	after := g.stats()
	before.OldestReady, after.OldestReady = 0, 0
	g.wantEqual("stats after repeats", after, before)
	if v == store.Nack || v == store.Reject {
		g.wantEqual("failures", g.get(byID(id)).Failures, 1)
	}
}

func testSettleTwiceInBatch(g *rig) {
	g.sendMany(len(verdicts))
	for _, v := range verdicts {
		item := store.Settlement{Receipt: g.take("c").Receipt}
		if lengthens(v) {
			item.Delay = longLease
		}
		want := []store.Code{store.CodeOK, store.CodeOK}
		if v == store.Ack {
			want[1] = store.CodeGone
		}
		if v == store.Nack || v == store.Release || v == store.Snooze || v == store.Again {
			item.Delay = hour
		}
		g.wantCodes(string(v), g.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item, item}}), want...)
	}
	g.wantCounters(store.Counters{Sent: 8, Delivered: 8, Acked: 1, Nacked: 1, Released: 1, Snoozed: 1, Repeated: 1, Rejected: 1, DeadLettered: 1})
}

// Another verdict with a spent receipt is not a repetition.
func testOtherVerdict(g *rig) {
	for _, first := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again, store.Reject} {
		g.send()
		r := g.take("c").Receipt
		item := store.Settlement{Receipt: r, Delay: hour}
		g.settleAs(store.SettleRequest{Verdict: first, Items: []store.Settlement{item}})
		for _, v := range verdicts {
			if v != first {
				g.wantSettled(v, r, store.CodeLeaseLost)
			}
		}
	}
	g.wantCounters(store.Counters{Sent: 5, Delivered: 5, Nacked: 1, Released: 1, Snoozed: 1, Repeated: 1, Rejected: 1, DeadLettered: 1})
}

func testSettleRepeatedNextHolder(g *rig) {
	id := g.send()
	first := g.take("a").Receipt
	g.wantSettled(store.Nack, first, store.CodeOK)
	second := g.take("b").Receipt
	g.wantSettled(store.Nack, first, store.CodeOK)
	g.wantSettled(store.Release, first, store.CodeLeaseLost)
	g.wantEqual("attempt", g.wantState(id, store.Leased).Attempt, 2)
	g.wantSettled(store.Release, second, store.CodeOK)
	g.wantSettled(store.Nack, first, store.CodeLeaseLost)
	g.wantSettled(store.Release, second, store.CodeOK)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 2, Nacked: 1, Released: 1})
}

func testNackThatKills(g *rig) {
	id := g.send(attempts(2))
	g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
	r := g.take("c").Receipt
	for range 3 {
		g.wantSettled(store.Nack, r, store.CodeDead)
	}
	g.wantSettled(store.Reject, r, store.CodeLeaseLost)
	g.wantEqual("failures", g.wantState(id, store.Dead).Failures, 2)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 2, Nacked: 2, DeadLettered: 1})
}
