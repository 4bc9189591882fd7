package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// nothingLost tests that a stored message is delivered, complete, until it is acked, is cancelled,
// expires or dies.
func nothingLost() []testCase {
	return []testCase{
		{"DeliveredUntilAcked", "", testDeliveredUntilAcked},
		{"EveryMessageOnceInOrder", "", testEveryMessageOnceInOrder},
		{"EqualDueTimesFirstInFirstOut", "", testEqualDueTimes},
		{"MessageArrivesWhole", "", testMessageArrivesWhole},
		{"LargeBodiesComeInSeveralReplies", "", testLargeBodies},
		{"OneMessageLargerThanABatch", "", testOneLargeMessage},
		{"PartitionsAndQueuesDoNotMix", "", testPartitionsDoNotMix},
		{"SurvivesReopen", reopening, testSurvivesReopen},
	}
}

func testDeliveredUntilAcked(g *rig) {
	id := g.send()
	endings := []struct {
		name string
		end  func(r store.Receipt)
	}{
		{"nack", func(r store.Receipt) { g.wantSettled(store.Nack, r, store.CodeOK) }},
		{"release", func(r store.Receipt) { g.wantSettled(store.Release, r, store.CodeOK) }},
		{"lease lost", func(store.Receipt) { g.runOut() }},
		{"reject and redrive", func(r store.Receipt) {
			g.wantSettled(store.Reject, r, store.CodeOK)
			g.wantPushed(g.redrive(id), store.CodeOK)
		}},
	}
	for i, e := range endings {
		got := g.takeFor("c", shortLease).Receipt
		g.wantEqual("receipt before "+e.name, got, store.Receipt{ID: id, Attempt: i + 1})
		e.end(got)
	}
	last := g.take("c").Receipt
	g.wantEqual("attempt", last.Attempt, len(endings)+1)
	g.wantSettled(store.Ack, last, store.CodeOK)
	g.wantGone(byID(id))
	g.takeNothing("c")
}

func testEveryMessageOnceInOrder(g *rig) {
	var ms []store.Message
	for i := range 60 {
		ms = append(ms, g.message(due(int64(1+(i*37)%60)))) // all in the past, so they are due now
	}
	g.push(ms...)
	sent := make([]store.ID, len(ms))
	for i, m := range ms {
		sent[i] = m.ID
	}
	more := g.sendMany(1200)
	got := g.drain("c", 70)
	g.wantEqual("order", deliveredIDs(got), slices.Concat(sent, more))
	for chunk := range slices.Chunk(got, store.MaxBatch) {
		r := store.SettleRequest{Verdict: store.Ack}
		for _, v := range chunk {
			r.Items = append(r.Items, store.Settlement{Receipt: v.Receipt})
		}
		g.settleAs(r)
	}
	g.wantCounters(store.Counters{Sent: 1260, Delivered: 1260, Acked: 1260})
	g.takeNothing("c")
}

// Ids are pushed in descending order, so that they are not in the order of arrival.
func testEqualDueTimes(g *rig) {
	ms := make([]store.Message, 50)
	for i := range ms {
		ms[len(ms)-1-i] = g.message()
	}
	g.push(ms...)
	got := g.drain("c", 7)
	for i, v := range got {
		if want := ms[len(ms)-1-i].ID; v.Receipt.ID != want {
			g.t.Fatalf("delivery %d is %v, want %v", i, v.Receipt.ID, want)
		}
	}
	g.wantEqual("deliveries", len(got), len(ms))
}

func testMessageArrivesWhole(g *rig) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, m := range []store.Message{
		{},
		{Body: []byte{}, MaxAttempts: 1},
		{Body: []byte{0}, MaxAttempts: store.MaxAttempts, Key: "k"},
		{Body: all, Headers: map[string]string{"a": "", "content-type": "text/plain; ü", "z": "1"}, Key: "Größe:42 日本", TTL: hour},
		{Body: []byte("12345"), Headers: map[string]string{}, Key: string(bytes.Repeat([]byte("k"), store.MaxKey))},
		{Body: bytes.Repeat([]byte{0xff}, store.DefaultMaxBody), Headers: map[string]string{"h": string(bytes.Repeat([]byte("v"), store.MaxHeaderSize-1))}},
	} {
		base := g.message()
		m.ID, m.MaxAttempts = base.ID, max(m.MaxAttempts, 1)
		g.wantPushed(g.push(m), store.CodeOK)
		rec := g.get(byID(m.ID))
		name := fmt.Sprintf("message %d: ", i)
		g.wantEqual(name+"body", rec.Body, m.Body)
		g.wantEqual(name+"record", strip(rec), store.Record{
			ID: m.ID, Key: m.Key, Headers: m.Headers, BodySize: len(m.Body), State: store.Ready, MaxAttempts: m.MaxAttempts,
		})
		if (rec.Expiry != 0) != (m.TTL != 0) {
			g.t.Fatalf("%sexpiry %d, ttl %d", name, rec.Expiry, m.TTL)
		}
		v := g.take("c")
		g.wantEqual(name+"body delivered", v.Body, m.Body)
		v.Body = nil
		g.wantEqual(name+"delivery", v, store.Delivery{
			Receipt: store.Receipt{ID: m.ID, Attempt: 1, Keyed: m.Key != ""}, Key: m.Key, Headers: m.Headers,
			Due: rec.At, MaxAttempts: m.MaxAttempts, Expiry: rec.Expiry,
		})
		g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
}

// strip removes the body and the fields that depend on the clock.
func strip(r store.Record) store.Record {
	r.Body, r.At, r.Expiry = nil, 0, 0
	r.RecentFailures = slices.Clone(r.RecentFailures)
	for i := range r.RecentFailures {
		r.RecentFailures[i].At = 0
	}
	return r
}

func testLargeBodies(g *rig) {
	const n, bytes = 10, 250 << 10
	var ids []store.ID
	for range n {
		ids = append(ids, g.send(size(bytes)))
	}
	var got []store.ID
	for len(got) < n {
		res := g.claim("c", store.MaxBatch)
		if len(res.Deliveries) == 0 {
			g.t.Fatalf("nothing delivered, %d of %d so far", len(got), n)
		}
		if total := len(res.Deliveries) * bytes; total > store.MaxBatchBytes+bytes {
			g.t.Fatalf("one reply has %d bytes, the bound is about %d", total, store.MaxBatchBytes)
		}
		if more := len(got)+len(res.Deliveries) < n; more && res.Wait != 0 {
			g.t.Fatalf("wait %v, but more is due", res.Wait)
		}
		got = append(got, deliveredIDs(res.Deliveries)...)
	}
	g.wantEqual("delivered", got, ids)
}

func testOneLargeMessage(g *rig) {
	g.configure(store.Change{Create: true, MaxBody: pointer(store.MaxBody)})
	small := g.send()
	id := g.send(size(store.MaxBody))
	g.wantEqual("first", g.take("c").Receipt.ID, small)
	v := g.take("c")
	g.wantEqual("second", v.Receipt.ID, id)
	g.wantEqual("body size", len(v.Body), store.MaxBody)
	g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
}

func testPartitionsDoNotMix(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(3)})
	g.at("refunds", 0).configure(store.Change{Create: true, Partitions: pointer(2)})
	desks := []*rig{g, g.at(g.p.Queue, 1), g.at(g.p.Queue, 2), g.at("refunds", 0), g.at("refunds", 1)}
	ids := make([]store.ID, len(desks))
	for i, k := range desks {
		ids[i] = k.send(key("same"))
	}
	for i, k := range desks {
		g.wantEqual("holder", k.get(byKey("same")).ID, ids[i])
		for j, other := range ids {
			if j != i {
				k.wantGone(byID(other))
			}
		}
		v := k.take("c")
		g.wantEqual("delivered", v.Receipt.ID, ids[i])
		k.takeNothing("c")
		g.wantEqual("a receipt elsewhere", desks[(i+1)%len(desks)].settle(store.Ack, v.Receipt), store.CodeGone)
		k.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	g.wantEqual("acked", g.stats().Counters, store.Counters{Sent: 3, Delivered: 3, Acked: 3})
	g.wantEqual("acked", desks[3].stats().Counters, store.Counters{Sent: 2, Delivered: 2, Acked: 2})
}

func testSurvivesReopen(g *rig) {
	waiting, ready := g.send(delay(hour), key("k")), g.send()
	held := g.take("c").Receipt
	g.wantEqual("held", held.ID, ready)
	g.s = g.h.Reopen(g.t)
	g.wantState(waiting, store.Scheduled)
	g.wantEqual("holder", g.get(byKey("k")).ID, waiting)
	g.wantSettled(store.Ack, held, store.CodeOK)
	g.wantCounters(store.Counters{Sent: 2, Delivered: 1, Acked: 1})
	Audit(g.t, g.s, g.p.Queue)
}

// neverEarly tests that no message is delivered before it is due.
func neverEarly() []testCase {
	return []testCase{
		{"DelayIsRoundedUp", manualClock, testDelayRoundedUp},
		{"NotAMicrosecondEarly", manualClock, testNotAMicrosecondEarly},
		{"WaitIsExact", manualClock, testWaitIsExact},
		{"ClockStepsBack", manualClock, testClockStepsBack},
		{"DelayedPush", "", func(g *rig) {
			begin := time.Now()
			g.send(delay(30))
			g.wantNotBefore(begin, 30)
		}},
		{"DelayedNack", "", func(g *rig) { testDelayedSettle(g, store.Nack) }},
		{"DelayedAgain", "", func(g *rig) { testDelayedSettle(g, store.Again) }},
		{"DelayedSnooze", "", func(g *rig) { testDelayedSettle(g, store.Snooze) }},
		{"DelayedRelease", "", func(g *rig) { testDelayedSettle(g, store.Release) }},
		{"DueBefore1970IsNow", "", func(g *rig) {
			id, later := g.send(due(-5)), g.send(delay(hour))
			g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(later), Due: -1}), store.CodeOK)
			for _, id := range []store.ID{id, later} {
				if rec := g.wantState(id, store.Ready); rec.At < 1 {
					g.t.Fatalf("due at %d, want an instant of the store's clock", rec.At)
				}
			}
		}},
		{"RescheduledEarlier", "", func(g *rig) {
			id := g.send(delay(hour))
			begin := time.Now()
			g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id), Delay: 30}), store.CodeOK)
			g.wantNotBefore(begin, 30)
		}},
		{"RescheduledLater", "", func(g *rig) {
			id := g.send()
			g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id), Delay: hour}), store.CodeOK)
			g.takeNothing("c")
		}},
		{"DueInThePastIsNow", "", testDueInThePast},
		{"LongestDelay", "", testLongestDelay},
	}
}

// The longest valid delay is accepted, at whatever fraction of a millisecond it begins.
func testLongestDelay(g *rig) {
	for range 20 {
		id := g.send(delay(store.MaxDelay))
		g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id), Delay: store.MaxDelay}), store.CodeOK)
		if g.h.Advance != nil {
			g.h.Advance(51 * time.Microsecond)
		}
	}
	g.wantPushed(g.push(g.message(due(g.farFuture()))), store.CodeTooFar)
}

func testDueInThePast(g *rig) {
	before := g.get(byID(g.send(delay(hour)))).At - hour
	past := g.send(due(1))
	const slow = 60_000 // ms that a push takes at most
	if at := g.get(byID(past)).At; at < before-1 || at > before+slow {
		g.t.Fatalf("due in the past became %d, want %d at once", at, before)
	}
	g.wantEqual("delivered", g.take("c").Receipt.ID, past)
}

// wantNotBefore claims the only message and fails if it was delivered less than ms after begin.
// With a real clock, the client's clock measures the span; it is never compared with the store's.
func (g *rig) wantNotBefore(begin time.Time, ms int64) {
	g.t.Helper()
	before := g.now()
	v := g.await("c")
	if g.h.Advance != nil {
		if passed := g.now().Sub(before); passed < time.Duration(ms)*time.Millisecond {
			g.t.Fatalf("delivered after %v, due after %d ms", passed, ms)
		}
	} else if passed := time.Since(begin); passed < time.Duration(ms)*time.Millisecond {
		g.t.Fatalf("delivered after %v, due after %d ms", passed, ms)
	}
	g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
}

// now returns the time of the store's clock if the harness can read it, else the zero time.
func (g *rig) now() time.Time {
	if g.h.Now == nil {
		return time.Time{}
	}
	return g.h.Now()
}

func testDelayedSettle(g *rig, v store.Verdict) {
	g.send()
	r := g.take("c").Receipt
	begin := time.Now()
	g.wantCodes("settle", g.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{{Receipt: r, Delay: 30}}}), store.CodeOK)
	g.wantNotBefore(begin, 30)
}

// offset advances a manual clock to the given number of microseconds after a full millisecond.
func (g *rig) offset(micros int64) {
	g.h.Advance(time.Millisecond - time.Duration(g.h.Now().UnixMicro()%1000)*time.Microsecond)
	g.h.Advance(time.Duration(micros) * time.Microsecond)
}

func testDelayRoundedUp(g *rig) {
	for _, c := range []struct{ micros, want int64 }{{0, 7}, {1, 8}, {999, 8}} {
		g.offset(c.micros)
		ms := g.h.Now().UnixMilli()
		id := g.send(delay(7))
		g.wantEqual("due after a push", g.get(byID(id)).At-ms, c.want)
		g.reschedule(store.Move{Ref: byID(id)})
		g.wantEqual("due now", g.get(byID(id)).At, ms)
		g.reschedule(store.Move{Ref: byID(id), Delay: 7})
		g.wantEqual("due after a reschedule", g.get(byID(id)).At-ms, c.want)
		g.reschedule(store.Move{Ref: byID(id)})
		for _, v := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again} {
			r := g.takeFor("c", shortLease).Receipt
			g.wantEqual("end of lease", g.get(byID(id)).At-ms, shortLease+c.want-7)
			g.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{{Receipt: r, Delay: 7}}})
			g.wantEqual("due after a "+string(v), g.get(byID(id)).At-ms, c.want)
			g.reschedule(store.Move{Ref: byID(id)})
		}
		expiring := g.send(ttl(7))
		g.wantEqual("expiry", g.get(byID(expiring)).Expiry-ms, c.want)
		g.cancel(byID(id), byID(expiring))
	}
}

func testNotAMicrosecondEarly(g *rig) {
	for _, micros := range []int64{0, 1, 500, 999} {
		g.offset(micros)
		id := g.send(delay(5))
		at := g.get(byID(id)).At
		g.h.Advance(time.UnixMilli(at).Sub(g.h.Now()) - time.Microsecond)
		g.wantState(id, store.Scheduled)
		g.wantEqual("wait", g.takeNothing("c").Wait, time.Microsecond)
		g.h.Advance(time.Microsecond)
		g.wantState(id, store.Ready)
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
}

func testWaitIsExact(g *rig) {
	g.wantEqual("wait of nothing at all", g.takeNothing("c").Wait, store.MaxWait)
	g.offset(250)
	far := g.send(delay(3 * hour))
	g.wantEqual("wait of the far future", g.takeNothing("c").Wait, store.MaxWait)
	g.send(delay(10))
	g.wantEqual("wait of the next due time", g.takeNothing("c").Wait, 10*time.Millisecond+750*time.Microsecond)
	g.send(delay(5))
	g.send()
	res := g.claim("c", 1)
	g.wantEqual("wait of the next due time", res.Wait, 5*time.Millisecond+750*time.Microsecond)
	g.h.Advance(20 * time.Millisecond)
	g.wantEqual("wait with more due", g.claim("c", 1).Wait, time.Duration(0))
	g.settle(store.Release, g.claim("c", 1).Deliveries[0].Receipt)
	g.cancel(byID(far))
	g.takeFor("c", shortLease)
	g.wantEqual("wait of the next lease", g.takeNothing("c").Wait, shortLease*time.Millisecond+750*time.Microsecond)
}

func testClockStepsBack(g *rig) {
	id := g.send(delay(100))
	g.h.Advance(time.Second)
	g.wantState(id, store.Ready)
	g.h.Advance(-time.Minute)
	g.wantState(id, store.Scheduled)
	g.takeNothing("c")
	g.h.Advance(time.Minute)
	v := g.takeFor("c", shortLease)
	g.h.Advance(-time.Hour)
	g.takeNothing("c")
	g.wantState(id, store.Leased)
	g.h.Advance(time.Hour + shortLease*time.Millisecond + time.Millisecond)
	g.wantEqual("attempt", g.take("c").Receipt.Attempt, v.Receipt.Attempt+1)
}
