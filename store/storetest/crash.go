package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// shortTTL is the TTL in ms of messages that are to expire within a test. Those that must be
// claimed before that are sent with takeExpiring.
const shortTTL = 50

// takeExpiring sends a message that is going to expire, and claims it. Where the clock is
// real, it can expire before the claim, which then removes it: so another one is sent, with
// twice the TTL. It returns the TTL, and how many have expired.
func (d *desk) takeExpiring(edits ...func(*store.Message)) (r store.Receipt, span, expired int64) {
	d.t.Helper()
	for span = shortTTL; span < hour; span *= 2 {
		id := d.send(append(slices.Clone(edits), ttl(span))...)
		if got := d.claim("c", 1).Deliveries; len(got) == 1 {
			d.wantEqual("claimed", got[0].Receipt.ID, id)
			return got[0].Receipt, span, expired
		}
		if rec, err := d.s.Get(d.t.Context(), d.p, byID(id)); err == nil {
			d.wantEqual("state", rec.State, store.Done) // expired
		}
		expired++
	}
	d.t.Fatal("an hour is over between two calls")
	return r, 0, 0
}

// outlive lets a TTL pass. Whether it has passed is read off the store's clock by a message in
// another queue that is due later.
func (d *desk) outlive(ttl int64) {
	d.t.Helper()
	d.pass(time.Duration(ttl+1) * time.Millisecond)
}

// expire lets the shortTTL of a message pass without claiming it.
func (d *desk) expire(id store.ID) {
	d.t.Helper()
	if d.get(byID(id)).Expiry == 0 {
		d.t.Fatalf("message %v never expires", id)
	}
	d.outlive(shortTTL)
}

// dead sends a message and has it rejected.
func (d *desk) dead(edits ...func(*store.Message)) store.ID {
	d.t.Helper()
	id := d.send(edits...)
	r := d.take("killer").Receipt
	d.wantEqual("claimed", r.ID, id)
	item := store.Settlement{Receipt: r, Failure: "rejected"}
	d.wantCodes("reject", d.settleAs(store.SettleRequest{Verdict: store.Reject, Items: []store.Settlement{item}}), store.CodeOK)
	return id
}

// boundedWork holds promise 7 as far as a store's answers show it: no call does
// more than its limit whatever the backlog. How long Redis is blocked is measured
// by the adapter's own tests.
func boundedWork() []testCase {
	return []testCase{
		{"BacklogDueInOneMillisecond", "", testBacklog},
		{"SweepIsBounded", "", testSweepBounded},
		{"LiveMessageBehindExpiredOnes", "", testBehindExpired},
		{"PurgeIsBounded", "", testPurgeBounded},
		{"CheckIsBounded", "", testCheckBounded},
	}
}

func testBacklog(d *desk) {
	const n = 3000
	at := d.get(byID(d.send(delay(hour)))).At
	first := d.sendMany(n, due(at-hour+20))
	got := make(map[store.ID]bool, n)
	for claims := 0; len(got) < n; claims++ {
		res := d.claim("c", store.MaxBatch)
		if claims > maxClaims {
			d.t.Fatalf("%d of %d delivered after %d claims", len(got), n, claims)
		}
		for _, v := range res.Deliveries {
			if got[v.Receipt.ID] {
				d.t.Fatalf("%v is delivered twice", v.Receipt)
			}
			got[v.Receipt.ID] = true
		}
		if more := len(got) < n; more && res.Wait > time.Minute {
			d.t.Fatalf("wait %v with %d of %d delivered", res.Wait, len(got), n)
		}
		if len(got) < n {
			d.sit(res.Wait)
		}
	}
	for _, id := range first {
		if !got[id] {
			d.t.Fatalf("%v was never delivered", id)
		}
	}
	d.wantEqual("leased", d.stats().Leased, int64(n))
}

func testSweepBounded(d *desk) {
	const n, bound = 250, 100
	d.sendMany(n)
	r := d.claimRequest("c", store.MaxBatch)
	r.Lease = shortLease
	d.wantEqual("claimed", len(d.claimAs(r).Deliveries), n)
	d.runOut()
	for i, want := range []int{bound, bound, n - 2*bound} {
		res := d.claim("d", store.MaxBatch)
		d.wantEqual(fmt.Sprintf("deliveries of claim %d", i), len(res.Deliveries), want)
		if more := i < 2; more && res.Wait != 0 {
			d.t.Fatalf("wait %v, but more leases have run out", res.Wait)
		}
	}
	d.takeNothing("d")
	d.wantCounters(store.Counters{Sent: n, Delivered: 2 * n, LeaseLost: n})
}

// A claim removes many expired messages, but not all: however few messages it asks for, a
// live one behind them arrives after few claims.
func testBehindExpired(d *desk) {
	const n = 10 * store.MaxExpired
	d.configure(store.Change{Create: true, Paused: pointer(true)})
	ids := d.sendMany(n, ttl(shortTTL))
	id := d.send()
	d.expire(ids[n-1])
	d.configure(store.Change{Paused: pointer(false)})
	for claims := 1; ; claims++ {
		before := d.stats().Counters.Expired
		res := d.claim("c", 1)
		removed := d.stats().Counters.Expired - before
		if removed > store.MaxExpired {
			d.t.Fatalf("a claim removed %d expired messages, want at most %d", removed, store.MaxExpired)
		}
		if len(res.Deliveries) == 1 {
			d.wantEqual("delivered", res.Deliveries[0].Receipt.ID, id)
			break
		}
		d.wantEqual("wait with more due", res.Wait, time.Duration(0))
		if claims == 2*n/store.MaxExpired {
			d.t.Fatalf("not delivered after %d claims; %d of %d messages before it are gone", claims, before+removed, n)
		}
	}
	d.wantCounters(store.Counters{Sent: n + 1, Delivered: 1, Expired: n})
}

func testPurgeBounded(d *desk) {
	d.sendMany(25, delay(hour))
	for _, want := range []int{10, 10, 5, 0} {
		d.wantEqual("purged", d.purge(store.Scheduled, 10), want)
	}
	d.wantCounters(store.Counters{Sent: 25, Purged: 25})
}

func testCheckBounded(d *desk) {
	d.sendMany(200, delay(hour))
	d.sendMany(50)
	d.claim("c", 20)
	const limit = 10
	r := store.CheckRequest{Limit: limit}
	steps := 0
	for {
		res, err := d.s.Check(d.t.Context(), d.p, r)
		d.noError("check", err)
		d.wantEqual("problems", res.Problems, []store.Problem(nil))
		if res.Next == "" {
			break
		}
		steps, r.Cursor = steps+1, res.Next
	}
	// "About" the limit: some stores scan in buckets, none may look at everything at once.
	if steps < 2 {
		d.t.Fatalf("an audit of 250 messages in steps of %d took %d steps", limit, steps+1)
	}
}

// releaseBurnsNothing holds promise 8.
func releaseBurnsNothing() []testCase {
	return []testCase{
		{"ManyReleasesOneAttempt", "", func(d *desk) {
			id := d.send(attempts(1))
			for i := range 10 {
				v := d.take("c")
				d.wantEqual("attempt", v.Receipt.Attempt, i+1)
				d.wantEqual("failures", v.Failures, 0)
				d.wantSettled(store.Release, v.Receipt, store.CodeOK)
			}
			d.wantSettled(store.Nack, d.takeOf(id), store.CodeDead)
			d.wantCounters(store.Counters{Sent: 1, Delivered: 11, Released: 10, Nacked: 1, DeadLettered: 1})
		}},
		{"BackAtOnce", "", func(d *desk) {
			ids := d.sendMany(3)
			items := []store.Settlement{}
			for _, v := range d.claim("leaving", 3).Deliveries {
				items = append(items, store.Settlement{Receipt: v.Receipt})
			}
			d.wantCodes("release", d.settleAs(store.SettleRequest{Verdict: store.Release, Items: items}), store.CodeOK, store.CodeOK, store.CodeOK)
			d.wantEqual("delivered", deliveredIDs(d.claim("staying", 3).Deliveries), ids)
		}},
		{"FailuresBeforeAReleaseStay", "", func(d *desk) {
			d.send()
			d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
			d.wantSettled(store.Release, d.take("c").Receipt, store.CodeOK)
			v := d.take("c")
			d.wantEqual("failures", v.Failures, 1)
			d.wantEqual("attempt", v.Receipt.Attempt, 3)
		}},
	}
}

// crashesBreakNothing holds the part of promise 9 that a store decides.
func crashesBreakNothing() []testCase {
	return []testCase{
		{"HolderDies", "", testHolderDies},
		{"WaitTellsWhenTheLeaseEnds", "", testWaitTellsLease},
		{"SweepHappensWhilePaused", "", testSweepWhilePaused},
		{"LeaseLostText", "", testLeaseLostText},
	}
}

func testHolderDies(d *desk) {
	ids := d.sendMany(3)
	r := d.claimRequest("dying", 3)
	r.Lease = shortLease
	d.claimAs(r)
	d.runOut()
	got := d.claim("living", 10).Deliveries
	d.wantEqual("delivered", deliveredIDs(got), ids)
	for _, v := range got {
		d.wantEqual("attempt", v.Receipt.Attempt, 2)
		d.wantEqual("failures", v.Failures, 0)
		d.wantEqual("suspicion", v.Suspicion, store.Suspect)
		d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	d.wantCounters(store.Counters{Sent: 3, Delivered: 6, LeaseLost: 3, Acked: 3})
}

// The real thing, with no help from the harness: the store's word is enough to be
// back in time.
func testWaitTellsLease(d *desk) {
	d.send()
	d.takeFor("dying", shortLease)
	res := d.takeNothing("living")
	if res.Wait <= 0 || res.Wait > (shortLease+1)*time.Millisecond {
		d.t.Fatalf("wait %v, a lease of %d ms has begun", res.Wait, shortLease)
	}
	d.wantEqual("attempt", d.await("living").Receipt.Attempt, 2)
}

func testSweepWhilePaused(d *desk) {
	id := d.send()
	d.takeFor("c", shortLease)
	d.configure(store.Change{Paused: pointer(true)})
	res := d.takeNothing("c")
	if !res.Paused || res.Wait > (shortLease+1)*time.Millisecond {
		d.t.Fatalf("claim of a paused queue: paused %v, wait %v; a lease is about to end", res.Paused, res.Wait)
	}
	d.runOut()
	d.takeNothing("c")
	d.wantState(id, store.Ready)
	d.wantEqual("wait", d.takeNothing("c").Wait, store.MaxWait)
}

func testLeaseLostText(d *desk) {
	id := d.send(attempts(1))
	for _, state := range []store.State{store.Ready, store.Dead} {
		r := d.takeFor("c", shortLease).Receipt
		if state == store.Dead {
			d.start(shortLease, r)
		}
		d.putBack()
		d.wantEqual("text", d.wantState(id, state).LastFailure, "lease ran out")
	}
}

// fullStoreDrains holds promise 10.
func fullStoreDrains() []testCase {
	return []testCase{{"SendIsRefusedTheRestGoesOn", fillingUp, testFull}}
}

func testFull(d *desk) {
	dead := d.dead()
	ids := d.sendMany(20)
	undo := d.h.FillUp(d.t)
	defer undo()
	m := d.message()
	results, err := d.s.Push(d.t.Context(), d.p, d.pushRequest(m))
	if err == nil && results[0].Code != store.CodeFull {
		d.t.Fatalf("push to a full store: %v", results)
	}
	if err != nil {
		d.wantError("push to a full store", err, store.ErrQueueFull)
	}
	d.wantGone(byID(m.ID))
	got := d.claim("c", len(verdicts)).Deliveries
	d.wantEqual("delivered", deliveredIDs(got), ids[:len(verdicts)])
	for i, v := range verdicts {
		d.wantSettled(v, got[i].Receipt, store.CodeOK)
	}
	d.wantCodes("cancel", d.cancel(byID(ids[10])), store.CodeOK)
	d.wantEqual("purged", d.purge(store.Dead, 10, dead), 1)
	for _, v := range d.drain("c", 10) {
		d.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	d.wantEqual("ready", d.stats().Ready, int64(0))
}
