package storetest

import (
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// idempotentPush holds promise 4 for sends.
func idempotentPush() []testCase {
	return []testCase{
		{"RepeatStoresNothingTwice", "", testPushRepeated},
		{"RepeatAfterTheMessagesAreGone", "", testPushRepeatedAfterAck},
		{"RepeatGivesTheSameRefusals", "", testPushRepeatedRefusals},
		{"DelayedDuplicateIsStale", "", testPushStale},
		{"SameIDUnderANewNumber", "", testPushSameID},
		{"ProducersAreApart", "", testProducersApart},
		{"SequentialInsideABatch", "", testPushSequential},
		{"RepeatAfterReopen", reopening, testPushRepeatedAfterReopen},
	}
}

func testPushRepeated(d *desk) {
	r := d.pushRequest(d.message(), d.message(key("k"), delay(hour)), d.message(ttl(hour)))
	for range 3 {
		d.wantPushed(d.pushAs(r), store.CodeOK, store.CodeOK, store.CodeOK)
	}
	d.wantCounters(store.Counters{Sent: 3})
	d.wantEqual("ready", len(d.list(store.Ready, 10)), 2)
	d.wantEqual("scheduled", len(d.list(store.Scheduled, 10)), 1)
}

func testPushRepeatedAfterAck(d *desk) {
	r := d.pushRequest(d.message(), d.message(key("k")))
	d.pushAs(r)
	for _, v := range d.drain("c", 10) {
		d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	d.wantPushed(d.pushAs(r), store.CodeOK, store.CodeOK)
	d.takeNothing("c")
	d.wantCounters(store.Counters{Sent: 2, Delivered: 2, Acked: 2})
}

func testPushRepeatedRefusals(d *desk) {
	holder := d.send(key("k"))
	r := d.pushRequest(d.message(key("k")), d.message(), d.message(due(d.farFuture())))
	want := []store.PushResult{{Code: store.CodeDuplicate, Holder: holder}, {}, {Code: store.CodeTooFar}}
	d.wantEqual("results", d.pushAs(r), want)
	d.cancel(byID(holder))
	d.wantEqual("remembered results", d.pushAs(r), want)
	d.wantCounters(store.Counters{Sent: 3, Cancelled: 2, Duplicates: 1})
}

// farFuture is an instant that is too far ahead whatever the store's clock says.
func (d *desk) farFuture() int64 {
	id := d.send()
	now := d.get(byID(id)).At
	d.wantCodes("cancel", d.cancel(byID(id)), store.CodeOK)
	return now + store.MaxDelay + hour
}

func testPushStale(d *desk) {
	old := d.pushRequest(d.message(), d.message(key("k")))
	d.pushAs(old)
	for _, v := range d.drain("c", 10) {
		d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	d.send()
	d.wantPushed(d.pushAs(old), store.CodeStale, store.CodeStale)
	never := store.PushRequest{Producer: old.Producer, Number: 1, Messages: []store.Message{d.message()}}
	d.wantPushed(d.pushAs(never), store.CodeStale)
	d.wantGone(byID(never.Messages[0].ID))
	d.wantCounters(store.Counters{Sent: 3, Delivered: 2, Acked: 2})
}

func testPushSameID(d *desk) {
	m := d.message(key("k"), delay(hour))
	m.Headers = map[string]string{"a": "1", "b": "2"}
	d.wantPushed(d.push(m), store.CodeOK)
	m.New = false
	again := m
	again.Delay, again.TTL = 0, hour
	d.wantPushed(d.push(m, again), store.CodeOK, store.CodeOK)
	d.wantState(m.ID, store.Scheduled)
	d.wantEqual("expiry", d.get(byID(m.ID)).Expiry, int64(0))
	for name, edit := range map[string]func(*store.Message){
		"body": size(3), "key": key("other"), "no key": key(""), "attempts": attempts(3),
		"headers": func(m *store.Message) { m.Headers = map[string]string{"a": "1"} },
	} {
		other := m
		edit(&other)
		d.wantEqual(name, d.push(other), []store.PushResult{{Code: store.CodeConflict}})
	}
	d.wantCounters(store.Counters{Sent: 1})
	// The same holds in every other state.
	d.reschedule(store.Move{Ref: byID(m.ID)})
	r := d.take("c").Receipt
	d.wantPushed(d.push(m), store.CodeOK)
	d.wantState(m.ID, store.Leased)
	d.wantSettled(store.Reject, r, store.CodeOK)
	d.wantPushed(d.push(m), store.CodeOK)
	d.wantState(m.ID, store.Dead)
	d.wantEqual("sent", d.stats().Counters.Sent, int64(1))
}

func testProducersApart(d *desk) {
	a := store.PushRequest{Producer: "a", Number: 7, Messages: []store.Message{d.message()}}
	b := store.PushRequest{Producer: "b", Number: 3, Messages: []store.Message{d.message()}}
	big := store.PushRequest{Producer: "c", Number: 1<<63 + 12345, Messages: []store.Message{d.message()}}
	for range 2 {
		d.wantPushed(d.pushAs(a), store.CodeOK)
		d.wantPushed(d.pushAs(b), store.CodeOK)
		d.wantPushed(d.pushAs(big), store.CodeOK)
	}
	big.Number--
	big.Messages[0] = d.message()
	d.wantPushed(d.pushAs(big), store.CodeStale)
	d.wantCounters(store.Counters{Sent: 3})
}

func testPushSequential(d *desk) {
	first, second, third := d.message(key("k")), d.message(key("k")), d.message(key("k"), replacing)
	same := first
	conflict := first
	conflict.Body = []byte("other")
	got := d.push(first, second, same, conflict, third)
	d.wantEqual("results", got, []store.PushResult{
		{}, {Code: store.CodeDuplicate, Holder: first.ID}, {}, {Code: store.CodeConflict}, {},
	})
	d.wantGone(byID(first.ID), byID(second.ID))
	d.wantEqual("holder", d.get(byKey("k")).ID, third.ID)
	d.wantCounters(store.Counters{Sent: 2, Duplicates: 1, Replaced: 1})
}

func testPushRepeatedAfterReopen(d *desk) {
	r := d.pushRequest(d.message())
	d.pushAs(r)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.s = d.h.Reopen(d.t)
	d.wantPushed(d.pushAs(r), store.CodeOK)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, Acked: 1})
}

// idempotentClaim holds promise 4 for claims.
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

// A claim can arrive when its consumer has long left. It may return what it was answered
// with before, but must not hand out anything else.
func testClaimAfterLeaving(d *desk) {
	d.sendMany(20)
	old, last := d.claimRequest("c", 3), d.claimRequest("c", 10)
	d.claimAs(old)
	first := d.claimAs(last).Deliveries
	d.leave("c", "c", "nobody")
	again := d.claimAs(last).Deliveries
	if len(again) > 0 {
		d.wantEqual("the last claim, late", again, first)
	}
	d.wantEqual("an older claim, late", d.claimAs(old).Stale, true)
	for _, delivery := range first {
		d.wantSettled(store.Ack, delivery.Receipt, store.CodeOK)
	}
	d.leave("c")
	d.wantEqual("the last claim, after all are settled", len(d.claimAs(last).Deliveries), 0)
	d.wantCounters(store.Counters{Sent: 20, Delivered: 13, Acked: 10})
	d.wantEqual("the rest", len(d.claim("c", 10).Deliveries), 7)
}

func testLeaveApart(d *desk) {
	d.sendMany(20)
	r := d.claimRequest("c", 10)
	first := d.claimAs(r).Deliveries
	push := d.pushRequest(d.message())
	d.wantPushed(d.pushAs(push), store.CodeOK)
	d.leave("d", "producer")
	d.at(d.p.Queue, 1).leave("c")
	d.wantEqual("repeated", d.claimAs(r).Deliveries, first)
	d.wantPushed(d.pushAs(push), store.CodeOK)
	d.wantCounters(store.Counters{Sent: 21, Delivered: 10})
}

func (d *desk) leave(consumers ...string) {
	d.t.Helper()
	d.noError("leave", d.s.Leave(d.t.Context(), d.p, store.LeaveRequest{Consumers: consumers}))
}

func testClaimRepeated(d *desk) {
	d.send(key("k"), ttl(hour))
	d.sendMany(4)
	r := d.claimRequest("c", 3)
	first := d.claimAs(r)
	d.wantEqual("claimed", len(first.Deliveries), 3)
	for range 3 {
		d.wantEqual("repeated", d.claimAs(r).Deliveries, first.Deliveries)
	}
	rest := d.claim("c", 10)
	d.wantEqual("the rest", len(rest.Deliveries), 2)
	d.wantCounters(store.Counters{Sent: 5, Delivered: 5})
}

func testClaimRepeatedAfterSettle(d *desk) {
	d.sendMany(5)
	r := d.claimRequest("c", 5)
	first := d.claimAs(r).Deliveries
	d.wantSettled(store.Ack, first[0].Receipt, store.CodeOK)
	d.wantSettled(store.Release, first[2].Receipt, store.CodeOK)
	d.wantSettled(store.Reject, first[4].Receipt, store.CodeOK)
	d.wantEqual("repeated", d.claimAs(r).Deliveries, []store.Delivery{first[1], first[3]})
	d.wantEqual("delivered", d.stats().Counters.Delivered, int64(5))
}

func testClaimRepeatedAfterLoss(d *desk) {
	d.send()
	r := d.claimRequest("c", 5)
	r.Lease = shortLease
	d.wantEqual("claimed", len(d.claimAs(r).Deliveries), 1)
	d.runOut()
	again := d.take("other")
	d.wantEqual("repeated", d.claimAs(r).Deliveries, []store.Delivery(nil))
	d.wantEqual("attempt", again.Receipt.Attempt, 2)
	d.wantSettled(store.Ack, again.Receipt, store.CodeOK)
}

func testClaimRepeatedEmpty(d *desk) {
	d.send(delay(hour))
	r := d.claimRequest("c", 5)
	d.wantEqual("claimed", len(d.claimAs(r).Deliveries), 0)
	id := d.send()
	res := d.claimAs(r)
	d.wantEqual("repeated", res.Deliveries, []store.Delivery(nil))
	d.wantEqual("wait, computed anew", res.Wait, time.Duration(0))
	d.wantEqual("next claim", d.take("c").Receipt.ID, id)
}

func testClaimStale(d *desk) {
	d.sendMany(2)
	old := d.claimRequest("c", 1)
	d.claimAs(old)
	d.takeNothingBut("c", 1)
	d.sendMany(2)
	res := d.claimAs(old)
	if !res.Stale || len(res.Deliveries) != 0 {
		d.t.Fatalf("delayed duplicate: stale %v, %d deliveries", res.Stale, len(res.Deliveries))
	}
	d.wantEqual("ready", len(d.list(store.Ready, 10)), 2)
}

func (d *desk) takeNothingBut(consumer string, n int) {
	d.t.Helper()
	d.wantEqual("deliveries", len(d.claim(consumer, store.MaxBatch).Deliveries), n)
}

func testConsumersApart(d *desk) {
	d.sendMany(20)
	var rs []store.ClaimRequest
	var got [][]store.Delivery
	for i := range 10 {
		r := store.ClaimRequest{Consumer: fmt.Sprintf("c%d", i), Number: uint64(1000 - i), Max: 2, Lease: longLease}
		rs, got = append(rs, r), append(got, d.claimAs(r).Deliveries)
	}
	for i, r := range rs {
		d.wantEqual("repeated", d.claimAs(r).Deliveries, got[i])
	}
	d.wantEqual("delivered", d.stats().Counters.Delivered, int64(20))
}

func testAckOnClaim(d *desk) {
	id := d.send(key("k"))
	d.sendMany(2)
	r := d.claimRequest("c", 2)
	r.AckOnClaim = true
	first := d.claimAs(r).Deliveries
	d.wantEqual("claimed", len(first), 2)
	d.wantEqual("body", string(first[0].Body), "body")
	d.wantGone(byID(id), byKey("k"))
	d.wantEqual("repeated", d.claimAs(r).Deliveries, []store.Delivery(nil))
	d.wantSettled(store.Ack, first[0].Receipt, store.CodeGone)
	d.wantCounters(store.Counters{Sent: 3, Delivered: 2, Acked: 2})
	d.send(key("k"))
}

func testClaimRepeatedAfterReopen(d *desk) {
	d.sendMany(2)
	r := d.claimRequest("c", 2)
	first := d.claimAs(r)
	d.s = d.h.Reopen(d.t)
	d.wantEqual("repeated", d.claimAs(r).Deliveries, first.Deliveries)
	d.wantCounters(store.Counters{Sent: 2, Delivered: 2})
}

// idempotentSettle holds promise 4 for verdicts.
func idempotentSettle() []testCase {
	cases := []testCase{
		{"TwiceInOneBatch", "", testSettleTwiceInBatch},
		{"OtherVerdictAfterwards", "", testOtherVerdict},
		{"RepeatWhileTheNextHolderHasIt", "", testSettleRepeatedNextHolder},
		{"NackThatKills", "", testNackThatKills},
	}
	for _, v := range verdicts {
		cases = append(cases, testCase{"Repeated/" + string(v), "", func(d *desk) { testSettleRepeated(d, v) }})
	}
	return cases
}

func testSettleRepeated(d *desk, v store.Verdict) {
	id := d.send(key("k"))
	r := d.take("c").Receipt
	d.wantSettled(v, r, store.CodeOK)
	before := d.stats()
	want := store.CodeOK
	if v == store.Ack {
		want = store.CodeGone
	}
	for range 3 {
		d.wantSettled(v, r, want)
	}
	after := d.stats()
	before.OldestReady, after.OldestReady = 0, 0
	d.wantEqual("stats after repeats", after, before)
	if v == store.Nack || v == store.Reject {
		d.wantEqual("failures", d.get(byID(id)).Failures, 1)
	}
}

func testSettleTwiceInBatch(d *desk) {
	d.sendMany(len(verdicts))
	for _, v := range verdicts {
		item := store.Settlement{Receipt: d.take("c").Receipt}
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
		d.wantCodes(string(v), d.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item, item}}), want...)
	}
	d.wantCounters(store.Counters{Sent: 8, Delivered: 8, Acked: 1, Nacked: 1, Released: 1, Snoozed: 1, Repeated: 1, Rejected: 1, DeadLettered: 1})
}

// A different verdict on a spent receipt is not a repeat.
func testOtherVerdict(d *desk) {
	for _, first := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again, store.Reject} {
		d.send()
		r := d.take("c").Receipt
		item := store.Settlement{Receipt: r, Delay: hour}
		d.settleAs(store.SettleRequest{Verdict: first, Items: []store.Settlement{item}})
		for _, v := range verdicts {
			if v != first {
				d.wantSettled(v, r, store.CodeLeaseLost)
			}
		}
	}
	d.wantCounters(store.Counters{Sent: 5, Delivered: 5, Nacked: 1, Released: 1, Snoozed: 1, Repeated: 1, Rejected: 1, DeadLettered: 1})
}

func testSettleRepeatedNextHolder(d *desk) {
	id := d.send()
	first := d.take("a").Receipt
	d.wantSettled(store.Nack, first, store.CodeOK)
	second := d.take("b").Receipt
	d.wantSettled(store.Nack, first, store.CodeOK)
	d.wantSettled(store.Release, first, store.CodeLeaseLost)
	d.wantEqual("attempt", d.wantState(id, store.Leased).Attempt, 2)
	d.wantSettled(store.Release, second, store.CodeOK)
	d.wantSettled(store.Nack, first, store.CodeLeaseLost)
	d.wantSettled(store.Release, second, store.CodeOK)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 2, Nacked: 1, Released: 1})
}

func testNackThatKills(d *desk) {
	id := d.send(attempts(2))
	d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
	r := d.take("c").Receipt
	for range 3 {
		d.wantSettled(store.Nack, r, store.CodeDead)
	}
	d.wantSettled(store.Reject, r, store.CodeLeaseLost)
	d.wantEqual("failures", d.wantState(id, store.Dead).Failures, 2)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 2, Nacked: 2, DeadLettered: 1})
}
