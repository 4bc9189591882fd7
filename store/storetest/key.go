package storetest

import (
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// oneLiveMessagePerKey tests that at most one live message has a key.
func oneLiveMessagePerKey() []testCase {
	cases := []testCase{
		{"RefusedWhileScheduledReadyOrLeased", "", testKeyRefused},
		{"RefusedAfterNackReleaseAndLeaseLost", "", testKeyRefusedAfterReturn},
		{"ReplaceScheduledAndReady", "", testKeyReplace},
		{"ReplaceLeavesALeasedMessage", "", testKeyReplaceLeased},
		{"ExpiredHolderIsReplaced", "", testKeyExpiredHolder},
		{"RedriveWithTheKeyTaken", "", testKeyRedriveTaken},
		{"RedriveTakesTheKeyAgain", "", testKeyRedriveTakes},
		{"DeadMessagesAreFound", "", testKeyOfTheDead},
		{"DeadMessagesAreFoundAfterReopening", reopening, testKeyOfTheDeadReopened},
		{"DeadMessagesOfOneKeyInACall", "", testKeyOfManyDead},
		{"FullComesBeforeDuplicate", "", testKeyFull},
		{"ReplaceInAFullPartition", "", testReplaceFull},
	}
	for _, c := range keyEndings() {
		cases = append(cases, testCase{"FreedBy/" + c.name, "", func(g *rig) {
			id := g.send(key("k"), attempts(1), ttl(hour))
			c.end(g, id)
			if rec, err := g.s.Get(g.t.Context(), g.p, byKey("k")); err == nil && rec.State != store.Dead {
				g.t.Fatalf("the key is still held")
			}
			next := g.send(key("k"))
			g.wantEqual("holder", g.get(byKey("k")).ID, next)
		}})
	}
	return cases
}

type keyEnding struct {
	name string
	end  func(g *rig, id store.ID)
}

// keyEndings are the ways in which a message can end, which frees its key.
func keyEndings() []keyEnding {
	settle := func(v store.Verdict, want store.Code) func(g *rig, _ store.ID) {
		return func(g *rig, _ store.ID) { g.wantSettled(v, g.take("c").Receipt, want) }
	}
	return []keyEnding{
		{"Ack", settle(store.Ack, store.CodeOK)},
		{"AckOnClaim", func(g *rig, _ store.ID) {
			r := g.claimRequest("c", 1)
			r.AckOnClaim = true
			g.wantEqual("claimed", len(g.claimAs(r).Deliveries), 1)
		}},
		{"Death", settle(store.Nack, store.CodeDead)},
		{"Reject", settle(store.Reject, store.CodeOK)},
		{"LastLeaseLost", func(g *rig, id store.ID) {
			g.start(shortLease, g.takeFor("c", shortLease).Receipt)
			g.runOut()
			g.takeNothing("c")
			g.wantState(id, store.Dead)
		}},
		{"Cancel", func(g *rig, id store.ID) { g.wantCodes("cancel", g.cancel(byID(id)), store.CodeOK) }},
		{"CancelByKey", func(g *rig, _ store.ID) { g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeOK) }},
		{"CancelWhileRunning", func(g *rig, id store.ID) {
			r := g.take("c").Receipt
			g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
			g.wantSettled(store.Nack, r, store.CodeCancelled)
		}},
		{"CancelWhileRunningAndCrash", func(g *rig, id store.ID) {
			g.takeFor("c", shortLease)
			g.wantCodes("cancel", g.cancel(byID(id)), store.CodeRunning)
			g.runOut()
			g.takeNothing("c")
		}},
		{"Purge", func(g *rig, _ store.ID) { g.wantEqual("purged", g.purge(store.Ready, 10), 1) }},
		{"Expiry", func(g *rig, id store.ID) {
			g.cancel(byID(id))
			g.expire(g.send(key("k"), ttl(shortTTL)))
			g.takeNothing("c")
		}},
	}
}

func (g *rig) wantRefused(k string, holder store.ID, edits ...func(*store.Message)) {
	g.t.Helper()
	m := g.message(append(edits, key(k))...)
	g.wantEqual("push", g.push(m), []store.PushResult{{Code: store.CodeDuplicate, Holder: holder}})
	g.wantGone(byID(m.ID))
}

func testKeyRefused(g *rig) {
	id := g.send(key("k"), delay(hour))
	g.wantRefused("k", id)
	g.reschedule(store.Move{Ref: byKey("k")})
	g.wantRefused("k", id)
	g.take("c")
	g.wantRefused("k", id)
	g.send(key("K"))
	g.send()
	g.wantCounters(store.Counters{Sent: 3, Delivered: 1, Duplicates: 3})
}

func testKeyRefusedAfterReturn(g *rig) {
	id := g.send(key("k"))
	g.wantSettled(store.Nack, g.take("c").Receipt, store.CodeOK)
	g.wantRefused("k", id)
	g.wantSettled(store.Release, g.take("c").Receipt, store.CodeOK)
	g.wantRefused("k", id)
	g.takeFor("c", shortLease)
	g.runOut()
	g.wantRefused("k", id) // no claim has put it back yet
	r := g.take("c").Receipt
	g.wantRefused("k", id)
	g.wantSettled(store.Ack, r, store.CodeOK)
	g.send(key("k"))
}

func testKeyReplace(g *rig) {
	first := g.send(key("k"), delay(hour))
	second := g.send(key("k"), replacing)
	g.wantGone(byID(first))
	third := g.send(key("k"), replacing, delay(hour))
	g.wantGone(byID(second))
	g.wantEqual("holder", g.get(byKey("k")).ID, third)
	g.takeNothing("c")
	g.send(key("other"), replacing) // there is no message to replace
	g.wantCounters(store.Counters{Sent: 4, Replaced: 2})
}

func testKeyReplaceLeased(g *rig) {
	id := g.send(key("k"))
	r := g.takeFor("c", shortLease).Receipt
	g.wantRefused("k", id, replacing)
	g.runOut()
	g.wantRefused("k", id, replacing)
	g.wantSettled(store.Ack, r, store.CodeOK)
	g.send(key("k"), replacing)
}

func testKeyExpiredHolder(g *rig) {
	old := g.send(key("k"), ttl(shortTTL))
	g.expire(old)
	next := g.send(key("k"))
	g.wantGone(byID(old))
	g.wantEqual("holder", g.get(byKey("k")).ID, next)
	g.wantCounters(store.Counters{Sent: 2, Expired: 1})
}

func testKeyRedriveTaken(g *rig) {
	dead := g.dead(key("k"))
	g.wantEqual("dead", g.get(byKey("k")).ID, dead)
	holder := g.send(key("k"))
	g.wantEqual("redrive", g.redrive(dead), []store.PushResult{{Code: store.CodeDuplicate, Holder: holder}})
	g.wantState(dead, store.Dead)
	g.wantEqual("holder", g.get(byKey("k")).ID, holder)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantPushed(g.redrive(dead), store.CodeOK)
	g.wantEqual("holder", g.get(byKey("k")).ID, dead)
	g.wantCounters(store.Counters{Sent: 2, Delivered: 2, Acked: 1, Rejected: 1, DeadLettered: 1, Redriven: 1})
}

func testKeyRedriveTakes(g *rig) {
	first := g.dead(key("k"))
	second := g.dead(key("k"))
	g.wantEqual("redrive of both", g.redrive(first, second), []store.PushResult{{}, {Code: store.CodeDuplicate, Holder: first}})
	g.wantRefused("k", first)
	r := g.take("c").Receipt
	g.wantEqual("delivered", r, store.Receipt{ID: first, Attempt: 2, Keyed: true})
	g.wantSettled(store.Ack, r, store.CodeOK)
	g.wantPushed(g.redrive(second), store.CodeOK)
}

// wantFound fails unless Get finds the message by its key.
func (g *rig) wantFound(k string, id store.ID, state store.State) {
	g.t.Helper()
	rec := g.get(byKey(k))
	g.wantEqual("message of the key "+k, rec.ID, id)
	g.wantEqual("its state", rec.State, state)
}

// A key finds the live message that has it, or else the message that died last with it.
func testKeyOfTheDead(g *rig) {
	first, second, third := g.dead(key("k")), g.dead(key("k")), g.dead(key("k"))
	other := g.dead(key("other"))
	g.dead()
	g.wantFound("k", third, store.Dead)
	live := g.send(key("k"), delay(hour))
	g.wantFound("k", live, store.Scheduled)
	g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeOK)
	g.wantFound("k", third, store.Dead)
	g.wantCodes("cancel", g.cancel(byKey("k"), byKey("other"), byKey("none")), store.CodeDead, store.CodeDead, store.CodeNotFound)
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byKey("k")}), store.CodeDead)

	g.wantEqual("purged", g.purge(store.Dead, 10, second), 1)
	g.wantFound("k", third, store.Dead)
	g.wantPushed(g.redrive(third), store.CodeOK)
	g.wantFound("k", third, store.Ready)
	g.wantSettled(store.Ack, g.takeOf(third), store.CodeOK)
	g.wantFound("k", first, store.Dead)
	r := store.CancelRequest{Caller: "m", Number: 1, Refs: []store.Ref{byKey("k"), byKey("other")}, Dead: true}
	g.wantCodes("delete", g.cancelAs(r), store.CodeOK, store.CodeOK)
	g.wantGone(byKey("k"), byKey("other"), byID(first), byID(other))
}

func testKeyOfTheDeadReopened(g *rig) {
	g.dead(key("k"))
	last := g.dead(key("k"))
	g.s = g.h.Reopen(g.t)
	g.wantFound("k", last, store.Dead)
	g.wantEqual("purged", g.purge(store.Dead, 1), 1)
	g.wantFound("k", last, store.Dead)
}

// One call can remove several dead messages of one key, and of other keys.
func testKeyOfManyDead(g *rig) {
	var of [3][]store.ID
	for range 5 {
		for k := range of {
			of[k] = append(of[k], g.dead(key(string(rune('a'+k)))))
		}
	}
	g.wantEqual("purged", g.purge(store.Dead, 500, append(slices.Clone(of[0][1:]), of[1]...)...), 9)
	g.wantFound("a", of[0][0], store.Dead)
	g.wantGone(byKey("b"))
	g.wantPushed(g.redrive(of[2][4], of[0][0]), store.CodeOK, store.CodeOK)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantGone(byKey("a"))
	g.wantFound("c", of[2][3], store.Dead)
	g.wantEqual("purged", g.purge(store.Dead, 500), 4)
	g.wantGone(byKey("c"))
}

func testKeyFull(g *rig) {
	g.configure(store.Change{Create: true, MaxMessages: pointer(int64(1))})
	id := g.send(key("k"))
	g.wantPushed(g.push(g.message(key("k"))), store.CodeFull)
	g.wantPushed(g.push(g.message()), store.CodeFull)
	g.wantState(id, store.Ready)
}

// A message that replaces another is accepted by a full partition.
func testReplaceFull(g *rig) {
	g.configure(store.Change{Create: true, MaxMessages: pointer(int64(2))})
	old, other := g.send(key("k")), g.send(key("other"))
	g.configure(store.Change{MaxMessages: pointer(int64(1))})
	m := g.message(key("k"), replacing)
	g.wantPushed(g.push(m, g.message(key("new"), replacing)), store.CodeOK, store.CodeFull)
	g.wantGone(byID(old))
	g.wantState(m.ID, store.Ready)
	g.takeOf(other)
	g.wantPushed(g.push(g.message(key("other"), replacing)), store.CodeFull)
	g.wantCounters(store.Counters{Sent: 3, Delivered: 1, Replaced: 1})
}
