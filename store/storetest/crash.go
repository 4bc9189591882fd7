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

// takeExpiring sends a message with a TTL and claims it. With a real clock it can expire before
// the claim; then another one is sent, with twice the TTL. It returns the TTL, and how many
// messages have expired.
func (g *rig) takeExpiring(edits ...func(*store.Message)) (r store.Receipt, span, expired int64) {
	g.t.Helper()
	for span = shortTTL; span < hour; span *= 2 {
		id := g.send(append(slices.Clone(edits), ttl(span))...)
		if got := g.claim("c", 1).Deliveries; len(got) == 1 {
			g.wantEqual("claimed", got[0].Receipt.ID, id)
			return got[0].Receipt, span, expired
		}
		if rec, err := g.s.Get(g.t.Context(), g.p, byID(id)); err == nil {
			g.wantEqual("state", rec.State, store.Done) // expired
		}
		expired++
	}
	g.t.Fatal("an hour has passed between two calls")
	return r, 0, 0
}

// outlive lets a TTL pass by the store's clock: a message in another queue is due when it is over.
func (g *rig) outlive(ttl int64) {
	g.t.Helper()
	g.pass(time.Duration(ttl+1) * time.Millisecond)
}

// expire lets the shortTTL of a message pass, and does not claim it.
func (g *rig) expire(id store.ID) {
	g.t.Helper()
	if g.get(byID(id)).Expiry == 0 {
		g.t.Fatalf("message %v never expires", id)
	}
	g.outlive(shortTTL)
}

// dead sends a message and rejects it.
func (g *rig) dead(edits ...func(*store.Message)) store.ID {
	g.t.Helper()
	id := g.send(edits...)
	r := g.take("killer").Receipt
	g.wantEqual("claimed", r.ID, id)
	item := store.Settlement{Receipt: r, Failure: "rejected"}
	g.wantCodes("reject", g.settleAs(store.SettleRequest{Verdict: store.Reject, Items: []store.Settlement{item}}), store.CodeOK)
	return id
}

// boundedWork tests by a store's answers that no call does more than its limit, whatever the
// backlog. How long a call blocks Redis is measured by the adapter's own tests.
func boundedWork() []testCase {
	return []testCase{
		{"BacklogDueInOneMillisecond", "", testBacklog},
		{"SweepIsBounded", "", testSweepBounded},
		{"LiveMessageBehindExpiredOnes", "", testBehindExpired},
		{"PurgeIsBounded", "", testPurgeBounded},
		{"CheckIsBounded", "", testCheckBounded},
	}
}

func testBacklog(g *rig) {
	const n = 3000
	at := g.get(byID(g.send(delay(hour)))).At
	first := g.sendMany(n, due(at-hour+20))
	got := make(map[store.ID]bool, n)
	for claims := 0; len(got) < n; claims++ {
		res := g.claim("c", store.MaxBatch)
		if claims > maxClaims {
			g.t.Fatalf("%d of %d delivered after %d claims", len(got), n, claims)
		}
		for _, v := range res.Deliveries {
			if got[v.Receipt.ID] {
				g.t.Fatalf("%v was delivered twice", v.Receipt)
			}
			got[v.Receipt.ID] = true
		}
		if more := len(got) < n; more && res.Wait > time.Minute {
			g.t.Fatalf("wait %v with %d of %d delivered", res.Wait, len(got), n)
		}
		if len(got) < n {
			g.sit(res.Wait)
		}
	}
	for _, id := range first {
		if !got[id] {
			g.t.Fatalf("%v was never delivered", id)
		}
	}
	g.wantEqual("leased", g.stats().Leased, int64(n))
}

func testSweepBounded(g *rig) {
	const n, bound = 250, 100
	g.sendMany(n)
	r := g.claimRequest("c", store.MaxBatch)
	r.Lease = shortLease
	g.wantEqual("claimed", len(g.claimAs(r).Deliveries), n)
	g.runOut()
	for i, want := range []int{bound, bound, n - 2*bound} {
		res := g.claim("d", store.MaxBatch)
		g.wantEqual(fmt.Sprintf("deliveries of claim %d", i), len(res.Deliveries), want)
		if more := i < 2; more && res.Wait != 0 {
			g.t.Fatalf("wait %v, but more leases have run out", res.Wait)
		}
	}
	g.takeNothing("d")
	g.wantCounters(store.Counters{Sent: n, Delivered: 2 * n, LeaseLost: n})
}

// A claim removes many expired messages, also when it asks for few, but not all: a live message
// behind them is delivered after a few claims.
func testBehindExpired(g *rig) {
	const n = 10 * store.MaxExpired
	g.configure(store.Change{Create: true, Paused: pointer(true)})
	ids := g.sendMany(n, ttl(shortTTL))
	id := g.send()
	g.expire(ids[n-1])
	g.configure(store.Change{Paused: pointer(false)})
	for claims := 1; ; claims++ {
		before := g.stats().Counters.Expired
		res := g.claim("c", 1)
		removed := g.stats().Counters.Expired - before
		if removed > store.MaxExpired {
			g.t.Fatalf("a claim removed %d expired messages, want at most %d", removed, store.MaxExpired)
		}
		if len(res.Deliveries) == 1 {
			g.wantEqual("delivered", res.Deliveries[0].Receipt.ID, id)
			break
		}
		g.wantEqual("wait with more due", res.Wait, time.Duration(0))
		if claims == 2*n/store.MaxExpired {
			g.t.Fatalf("not delivered after %d claims; %d of %d messages before it are gone", claims, before+removed, n)
		}
	}
	g.wantCounters(store.Counters{Sent: n + 1, Delivered: 1, Expired: n})
}

func testPurgeBounded(g *rig) {
	g.sendMany(25, delay(hour))
	for _, want := range []int{10, 10, 5, 0} {
		g.wantEqual("purged", g.purge(store.Scheduled, 10), want)
	}
	g.wantCounters(store.Counters{Sent: 25, Purged: 25})
}

func testCheckBounded(g *rig) {
	g.sendMany(200, delay(hour))
	g.sendMany(50)
	g.claim("c", 20)
	const limit = 10
	r := store.CheckRequest{Limit: limit}
	steps := 0
	for {
		res, err := g.s.Check(g.t.Context(), g.p, r)
		g.noError("check", err)
		g.wantEqual("problems", res.Problems, []store.Problem(nil))
		if res.Next == "" {
			break
		}
		steps, r.Cursor = steps+1, res.Next
	}
	// Some stores scan in buckets and exceed the limit a little; none may examine everything in one
	// step.
	if steps < 2 {
		g.t.Fatalf("an audit of 250 messages in steps of %d took %d steps", limit, steps+1)
	}
}

// releases are the tests of Release.
func releases() []testCase {
	return []testCase{
		{"ManyReleasesOneAttempt", "", func(g *rig) {
			id := g.send(attempts(1))
			for i := range 10 {
				v := g.take("c")
				g.wantEqual("attempt", v.Receipt.Attempt, i+1)
				g.wantEqual("failures", v.Failures, 0)
				g.wantSettled(store.Release, v.Receipt, store.CodeOK)
			}
			g.wantSettled(store.Nack, g.takeOf(id), store.CodeDead)
			g.wantCounters(store.Counters{Sent: 1, Delivered: 11, Released: 10, Nacked: 1, DeadLettered: 1})
		}},
		{"BackAtOnce", "", func(g *rig) {
			ids := g.sendMany(3)
			items := []store.Settlement{}
			for _, v := range g.claim("leaving", 3).Deliveries {
				items = append(items, store.Settlement{Receipt: v.Receipt})
			}
			g.wantCodes("release", g.settleAs(store.SettleRequest{Verdict: store.Release, Items: items}), store.CodeOK, store.CodeOK, store.CodeOK)
			g.wantEqual("delivered", deliveredIDs(g.claim("staying", 3).Deliveries), ids)
		}},
		{"FailuresBeforeAReleaseStay", "", func(g *rig) {
			g.send()
			g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
			g.wantSettled(store.Release, g.take("c").Receipt, store.CodeOK)
			v := g.take("c")
			g.wantEqual("failures", v.Failures, 1)
			g.wantEqual("attempt", v.Receipt.Attempt, 3)
		}},
	}
}

// crashes tests what a store does when the holder of a message has died.
func crashes() []testCase {
	return []testCase{
		{"HolderDies", "", testHolderDies},
		{"WaitIsUntilTheLeaseEnds", "", testWaitForLease},
		{"SweepHappensWhilePaused", "", testSweepWhilePaused},
		{"LeaseLostText", "", testLeaseLostText},
	}
}

func testHolderDies(g *rig) {
	ids := g.sendMany(3)
	r := g.claimRequest("dying", 3)
	r.Lease = shortLease
	g.claimAs(r)
	g.runOut()
	got := g.claim("living", 10).Deliveries
	g.wantEqual("delivered", deliveredIDs(got), ids)
	for _, v := range got {
		g.wantEqual("attempt", v.Receipt.Attempt, 2)
		g.wantEqual("failures", v.Failures, 0)
		g.wantEqual("suspicion", v.Suspicion, store.Suspect)
		g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	g.wantCounters(store.Counters{Sent: 3, Delivered: 6, LeaseLost: 3, Acked: 3})
}

// Without help from the harness: a consumer that sleeps for Wait gets the message in time.
func testWaitForLease(g *rig) {
	g.send()
	g.takeFor("dying", shortLease)
	res := g.takeNothing("living")
	if res.Wait <= 0 || res.Wait > (shortLease+1)*time.Millisecond {
		g.t.Fatalf("wait %v, a lease of %d ms has begun", res.Wait, shortLease)
	}
	g.wantEqual("attempt", g.await("living").Receipt.Attempt, 2)
}

func testSweepWhilePaused(g *rig) {
	id := g.send()
	g.takeFor("c", shortLease)
	g.configure(store.Change{Paused: pointer(true)})
	res := g.takeNothing("c")
	if !res.Paused || res.Wait > (shortLease+1)*time.Millisecond {
		g.t.Fatalf("claim of a paused queue: paused %v, wait %v; a lease is about to end", res.Paused, res.Wait)
	}
	g.runOut()
	g.takeNothing("c")
	g.wantState(id, store.Ready)
	g.wantEqual("wait", g.takeNothing("c").Wait, store.MaxWait)
}

func testLeaseLostText(g *rig) {
	id := g.send(attempts(1))
	for _, state := range []store.State{store.Ready, store.Dead} {
		r := g.takeFor("c", shortLease).Receipt
		if state == store.Dead {
			g.start(shortLease, r)
		}
		g.putBack()
		g.wantEqual("text", g.wantState(id, state).LastFailure, "lease ran out")
	}
}

// fullStore tests that a full store refuses new messages and can be consumed to the last one.
func fullStore() []testCase {
	return []testCase{{"SendIsRefusedTheRestGoesOn", fillingUp, testFull}}
}

func testFull(g *rig) {
	dead := g.dead()
	ids := g.sendMany(20)
	undo := g.h.FillUp(g.t)
	defer undo()
	m := g.message()
	results, err := g.s.Push(g.t.Context(), g.p, g.pushRequest(m))
	if err == nil && results[0].Code != store.CodeFull {
		g.t.Fatalf("push to a full store: %v", results)
	}
	if err != nil {
		g.wantError("push to a full store", err, store.ErrQueueFull)
	}
	g.wantGone(byID(m.ID))
	got := g.claim("c", len(verdicts)).Deliveries
	g.wantEqual("delivered", deliveredIDs(got), ids[:len(verdicts)])
	for i, v := range verdicts {
		g.wantSettled(v, got[i].Receipt, store.CodeOK)
	}
	g.wantCodes("cancel", g.cancel(byID(ids[10])), store.CodeOK)
	g.wantEqual("purged", g.purge(store.Dead, 10, dead), 1)
	for _, v := range g.drain("c", 10) {
		g.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	g.wantEqual("ready", g.stats().Ready, int64(0))
}
