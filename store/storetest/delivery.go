package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// nothingLost holds promise 1: what was stored is delivered until it is acked,
// cancelled, expired or dead, and whole.
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

func testDeliveredUntilAcked(d *desk) {
	id := d.send()
	endings := []struct {
		name string
		end  func(r store.Receipt)
	}{
		{"nack", func(r store.Receipt) { d.wantSettled(store.Nack, r, store.CodeOK) }},
		{"release", func(r store.Receipt) { d.wantSettled(store.Release, r, store.CodeOK) }},
		{"lease lost", func(store.Receipt) { d.runOut() }},
		{"reject and redrive", func(r store.Receipt) {
			d.wantSettled(store.Reject, r, store.CodeOK)
			d.wantPushed(d.redrive(id), store.CodeOK)
		}},
	}
	for i, e := range endings {
		got := d.takeFor("c", shortLease).Receipt
		d.wantEqual("receipt before "+e.name, got, store.Receipt{ID: id, Attempt: i + 1})
		e.end(got)
	}
	last := d.take("c").Receipt
	d.wantEqual("attempt", last.Attempt, len(endings)+1)
	d.wantSettled(store.Ack, last, store.CodeOK)
	d.wantGone(byID(id))
	d.takeNothing("c")
}

func testEveryMessageOnceInOrder(d *desk) {
	var ms []store.Message
	for i := range 60 {
		ms = append(ms, d.message(due(int64(1+(i*37)%60)))) // all long past, so: now
	}
	d.push(ms...)
	sent := make([]store.ID, len(ms))
	for i, m := range ms {
		sent[i] = m.ID
	}
	more := d.sendMany(1200)
	got := d.drain("c", 70)
	d.wantEqual("order", deliveredIDs(got), slices.Concat(sent, more))
	for chunk := range slices.Chunk(got, store.MaxBatch) {
		r := store.SettleRequest{Verdict: store.Ack}
		for _, v := range chunk {
			r.Items = append(r.Items, store.Settlement{Receipt: v.Receipt})
		}
		d.settleAs(r)
	}
	d.wantCounters(store.Counters{Sent: 1260, Delivered: 1260, Acked: 1260})
	d.takeNothing("c")
}

// Ids pushed backwards, so that the order of arrival does not help.
func testEqualDueTimes(d *desk) {
	ms := make([]store.Message, 50)
	for i := range ms {
		ms[len(ms)-1-i] = d.message()
	}
	d.push(ms...)
	got := d.drain("c", 7)
	for i, v := range got {
		if want := ms[len(ms)-1-i].ID; v.Receipt.ID != want {
			d.t.Fatalf("delivery %d is %v, want %v", i, v.Receipt.ID, want)
		}
	}
	d.wantEqual("deliveries", len(got), len(ms))
}

func testMessageArrivesWhole(d *desk) {
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
		base := d.message()
		m.ID, m.MaxAttempts = base.ID, max(m.MaxAttempts, 1)
		d.wantPushed(d.push(m), store.CodeOK)
		rec := d.get(byID(m.ID))
		name := fmt.Sprintf("message %d: ", i)
		d.wantEqual(name+"body", rec.Body, m.Body)
		d.wantEqual(name+"record", strip(rec), store.Record{
			ID: m.ID, Key: m.Key, Headers: m.Headers, BodySize: len(m.Body), State: store.Ready, MaxAttempts: m.MaxAttempts,
		})
		if (rec.Expiry != 0) != (m.TTL != 0) {
			d.t.Fatalf("%sexpiry %d, ttl %d", name, rec.Expiry, m.TTL)
		}
		v := d.take("c")
		d.wantEqual(name+"body delivered", v.Body, m.Body)
		v.Body = nil
		d.wantEqual(name+"delivery", v, store.Delivery{
			Receipt: store.Receipt{ID: m.ID, Attempt: 1, Keyed: m.Key != ""}, Key: m.Key, Headers: m.Headers,
			Due: rec.At, MaxAttempts: m.MaxAttempts, Expiry: rec.Expiry,
		})
		d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
}

// strip removes what depends on the clock, and the body.
func strip(r store.Record) store.Record {
	r.Body, r.At, r.Expiry = nil, 0, 0
	return r
}

func testLargeBodies(d *desk) {
	const n, bytes = 10, 250 << 10
	var ids []store.ID
	for range n {
		ids = append(ids, d.send(size(bytes)))
	}
	var got []store.ID
	for len(got) < n {
		res := d.claim("c", store.MaxBatch)
		if len(res.Deliveries) == 0 {
			d.t.Fatalf("nothing delivered, %d of %d so far", len(got), n)
		}
		if total := len(res.Deliveries) * bytes; total > store.MaxBatchBytes+bytes {
			d.t.Fatalf("one reply has %d bytes, the bound is about %d", total, store.MaxBatchBytes)
		}
		if more := len(got)+len(res.Deliveries) < n; more && res.Wait != 0 {
			d.t.Fatalf("wait %v, but more is due", res.Wait)
		}
		got = append(got, deliveredIDs(res.Deliveries)...)
	}
	d.wantEqual("delivered", got, ids)
}

func testOneLargeMessage(d *desk) {
	d.configure(store.Change{Create: true, MaxBody: pointer(store.MaxBody)})
	small := d.send()
	id := d.send(size(store.MaxBody))
	d.wantEqual("first", d.take("c").Receipt.ID, small)
	v := d.take("c")
	d.wantEqual("second", v.Receipt.ID, id)
	d.wantEqual("body size", len(v.Body), store.MaxBody)
	d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
}

func testPartitionsDoNotMix(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(3)})
	d.at("refunds", 0).configure(store.Change{Create: true, Partitions: pointer(2)})
	desks := []*desk{d, d.at(d.p.Queue, 1), d.at(d.p.Queue, 2), d.at("refunds", 0), d.at("refunds", 1)}
	ids := make([]store.ID, len(desks))
	for i, k := range desks {
		ids[i] = k.send(key("same"))
	}
	for i, k := range desks {
		d.wantEqual("holder", k.get(byKey("same")).ID, ids[i])
		for j, other := range ids {
			if j != i {
				k.wantGone(byID(other))
			}
		}
		v := k.take("c")
		d.wantEqual("delivered", v.Receipt.ID, ids[i])
		k.takeNothing("c")
		d.wantEqual("a receipt elsewhere", desks[(i+1)%len(desks)].settle(store.Ack, v.Receipt), store.CodeGone)
		k.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	d.wantEqual("acked", d.stats().Counters, store.Counters{Sent: 3, Delivered: 3, Acked: 3})
	d.wantEqual("acked", desks[3].stats().Counters, store.Counters{Sent: 2, Delivered: 2, Acked: 2})
}

func testSurvivesReopen(d *desk) {
	waiting, ready := d.send(delay(hour), key("k")), d.send()
	held := d.take("c").Receipt
	d.wantEqual("held", held.ID, ready)
	d.s = d.h.Reopen(d.t)
	d.wantState(waiting, store.Scheduled)
	d.wantEqual("holder", d.get(byKey("k")).ID, waiting)
	d.wantSettled(store.Ack, held, store.CodeOK)
	d.wantCounters(store.Counters{Sent: 2, Delivered: 1, Acked: 1})
	Audit(d.t, d.s, d.p.Queue)
}

// neverEarly holds promise 2.
func neverEarly() []testCase {
	return []testCase{
		{"DelayIsRoundedUp", manualClock, testDelayRoundedUp},
		{"NotAMicrosecondEarly", manualClock, testNotAMicrosecondEarly},
		{"WaitIsExact", manualClock, testWaitIsExact},
		{"ClockStepsBack", manualClock, testClockStepsBack},
		{"DelayedPush", "", func(d *desk) {
			begin := time.Now()
			d.send(delay(30))
			d.wantNotBefore(begin, 30)
		}},
		{"DelayedNack", "", func(d *desk) { testDelayedSettle(d, store.Nack) }},
		{"DelayedAgain", "", func(d *desk) { testDelayedSettle(d, store.Again) }},
		{"DelayedSnooze", "", func(d *desk) { testDelayedSettle(d, store.Snooze) }},
		{"DelayedRelease", "", func(d *desk) { testDelayedSettle(d, store.Release) }},
		{"DueBefore1970IsNow", "", func(d *desk) {
			id, later := d.send(due(-5)), d.send(delay(hour))
			d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(later), Due: -1}), store.CodeOK)
			for _, id := range []store.ID{id, later} {
				if rec := d.wantState(id, store.Ready); rec.At < 1 {
					d.t.Fatalf("due at %d, want an instant of the store's clock", rec.At)
				}
			}
		}},
		{"RescheduledEarlier", "", func(d *desk) {
			id := d.send(delay(hour))
			begin := time.Now()
			d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id), Delay: 30}), store.CodeOK)
			d.wantNotBefore(begin, 30)
		}},
		{"RescheduledLater", "", func(d *desk) {
			id := d.send()
			d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id), Delay: hour}), store.CodeOK)
			d.takeNothing("c")
		}},
		{"DueInThePastIsNow", "", testDueInThePast},
		{"LongestDelay", "", testLongestDelay},
	}
}

// A delay that the rules allow is never too far, whatever the fraction of the
// millisecond in which it begins.
func testLongestDelay(d *desk) {
	for range 20 {
		id := d.send(delay(store.MaxDelay))
		d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id), Delay: store.MaxDelay}), store.CodeOK)
		if d.h.Advance != nil {
			d.h.Advance(51 * time.Microsecond)
		}
	}
	d.wantPushed(d.push(d.message(due(d.farFuture()))), store.CodeTooFar)
}

func testDueInThePast(d *desk) {
	before := d.get(byID(d.send(delay(hour)))).At - hour
	past := d.send(due(1))
	const slow = 60_000 // ms that a push may take, at the very most
	if at := d.get(byID(past)).At; at < before-1 || at > before+slow {
		d.t.Fatalf("due in the past became %d, want %d at once", at, before)
	}
	d.wantEqual("delivered", d.take("c").Receipt.ID, past)
}

// wantNotBefore claims the only message and fails if it came less than ms after
// begin. With a real clock the client's clock measures the span, never an instant.
func (d *desk) wantNotBefore(begin time.Time, ms int64) {
	d.t.Helper()
	before := d.now()
	v := d.await("c")
	if d.h.Advance != nil {
		if passed := d.now().Sub(before); passed < time.Duration(ms)*time.Millisecond {
			d.t.Fatalf("delivered after %v, due after %d ms", passed, ms)
		}
	} else if passed := time.Since(begin); passed < time.Duration(ms)*time.Millisecond {
		d.t.Fatalf("delivered after %v, due after %d ms", passed, ms)
	}
	d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
}

// now is the store's clock where it is known, else the zero time.
func (d *desk) now() time.Time {
	if d.h.Now == nil {
		return time.Time{}
	}
	return d.h.Now()
}

func testDelayedSettle(d *desk, v store.Verdict) {
	d.send()
	r := d.take("c").Receipt
	begin := time.Now()
	d.wantCodes("settle", d.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{{Receipt: r, Delay: 30}}}), store.CodeOK)
	d.wantNotBefore(begin, 30)
}

// offset moves a manual clock to the given microseconds after a full millisecond.
func (d *desk) offset(micros int64) {
	d.h.Advance(time.Millisecond - time.Duration(d.h.Now().UnixMicro()%1000)*time.Microsecond)
	d.h.Advance(time.Duration(micros) * time.Microsecond)
}

func testDelayRoundedUp(d *desk) {
	for _, c := range []struct{ micros, want int64 }{{0, 7}, {1, 8}, {999, 8}} {
		d.offset(c.micros)
		ms := d.h.Now().UnixMilli()
		id := d.send(delay(7))
		d.wantEqual("due after a push", d.get(byID(id)).At-ms, c.want)
		d.reschedule(store.Move{Ref: byID(id)})
		d.wantEqual("due now", d.get(byID(id)).At, ms)
		d.reschedule(store.Move{Ref: byID(id), Delay: 7})
		d.wantEqual("due after a reschedule", d.get(byID(id)).At-ms, c.want)
		d.reschedule(store.Move{Ref: byID(id)})
		for _, v := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again} {
			r := d.takeFor("c", shortLease).Receipt
			d.wantEqual("end of lease", d.get(byID(id)).At-ms, shortLease+c.want-7)
			d.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{{Receipt: r, Delay: 7}}})
			d.wantEqual("due after a "+string(v), d.get(byID(id)).At-ms, c.want)
			d.reschedule(store.Move{Ref: byID(id)})
		}
		expiring := d.send(ttl(7))
		d.wantEqual("expiry", d.get(byID(expiring)).Expiry-ms, c.want)
		d.cancel(byID(id), byID(expiring))
	}
}

func testNotAMicrosecondEarly(d *desk) {
	for _, micros := range []int64{0, 1, 500, 999} {
		d.offset(micros)
		id := d.send(delay(5))
		at := d.get(byID(id)).At
		d.h.Advance(time.UnixMilli(at).Sub(d.h.Now()) - time.Microsecond)
		d.wantState(id, store.Scheduled)
		d.wantEqual("wait", d.takeNothing("c").Wait, time.Microsecond)
		d.h.Advance(time.Microsecond)
		d.wantState(id, store.Ready)
		d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	}
}

func testWaitIsExact(d *desk) {
	d.wantEqual("wait of nothing at all", d.takeNothing("c").Wait, store.MaxWait)
	d.offset(250)
	far := d.send(delay(3 * hour))
	d.wantEqual("wait of the far future", d.takeNothing("c").Wait, store.MaxWait)
	d.send(delay(10))
	d.wantEqual("wait of the next due time", d.takeNothing("c").Wait, 10*time.Millisecond+750*time.Microsecond)
	d.send(delay(5))
	d.send()
	res := d.claim("c", 1)
	d.wantEqual("wait of the next due time", res.Wait, 5*time.Millisecond+750*time.Microsecond)
	d.h.Advance(20 * time.Millisecond)
	d.wantEqual("wait with more due", d.claim("c", 1).Wait, time.Duration(0))
	d.settle(store.Release, d.claim("c", 1).Deliveries[0].Receipt)
	d.cancel(byID(far))
	d.takeFor("c", shortLease)
	d.wantEqual("wait of the next lease", d.takeNothing("c").Wait, shortLease*time.Millisecond+750*time.Microsecond)
}

func testClockStepsBack(d *desk) {
	id := d.send(delay(100))
	d.h.Advance(time.Second)
	d.wantState(id, store.Ready)
	d.h.Advance(-time.Minute)
	d.wantState(id, store.Scheduled)
	d.takeNothing("c")
	d.h.Advance(time.Minute)
	v := d.takeFor("c", shortLease)
	d.h.Advance(-time.Hour)
	d.takeNothing("c")
	d.wantState(id, store.Leased)
	d.h.Advance(time.Hour + shortLease*time.Millisecond + time.Millisecond)
	d.wantEqual("attempt", d.take("c").Receipt.Attempt, v.Receipt.Attempt+1)
}
