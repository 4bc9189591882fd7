package storetest

import (
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// oneLiveMessagePerKey holds promise 5.
func oneLiveMessagePerKey() []testCase {
	cases := []testCase{
		{"RefusedWhileScheduledReadyOrLeased", "", testKeyRefused},
		{"RefusedAfterNackReleaseAndLeaseLost", "", testKeyRefusedAfterReturn},
		{"ReplaceScheduledAndReady", "", testKeyReplace},
		{"ReplaceNeverTakesALeasedOne", "", testKeyReplaceLeased},
		{"ExpiredHolderGivesWay", "", testKeyExpiredHolder},
		{"RedriveWithTheKeyTaken", "", testKeyRedriveTaken},
		{"RedriveTakesTheKeyAgain", "", testKeyRedriveTakes},
		{"DeadOnesAreFound", "", testKeyOfTheDead},
		{"DeadOnesAreFoundAfterReopening", reopening, testKeyOfTheDeadReopened},
		{"DeadOnesOfOneKeyInABatch", "", testKeyOfManyDead},
		{"FullIsToldBeforeDuplicate", "", testKeyFull},
		{"ReplaceInAFullPartition", "", testReplaceFull},
	}
	for _, c := range keyEndings() {
		cases = append(cases, testCase{"FreedBy/" + c.name, "", func(d *desk) {
			id := d.send(key("k"), attempts(1), ttl(hour))
			c.end(d, id)
			if rec, err := d.s.Get(d.t.Context(), d.p, byKey("k")); err == nil && rec.State != store.Dead {
				d.t.Fatalf("the key is still held")
			}
			next := d.send(key("k"))
			d.wantEqual("holder", d.get(byKey("k")).ID, next)
		}})
	}
	return cases
}

type keyEnding struct {
	name string
	end  func(d *desk, id store.ID)
}

// keyEndings are the ways a message can end and free its key.
func keyEndings() []keyEnding {
	settle := func(v store.Verdict, want store.Code) func(d *desk, _ store.ID) {
		return func(d *desk, _ store.ID) { d.wantSettled(v, d.take("c").Receipt, want) }
	}
	return []keyEnding{
		{"Ack", settle(store.Ack, store.CodeOK)},
		{"AckOnClaim", func(d *desk, _ store.ID) {
			r := d.claimRequest("c", 1)
			r.AckOnClaim = true
			d.wantEqual("claimed", len(d.claimAs(r).Deliveries), 1)
		}},
		{"Death", settle(store.Nack, store.CodeDead)},
		{"Reject", settle(store.Reject, store.CodeOK)},
		{"LastLeaseLost", func(d *desk, id store.ID) {
			d.start(shortLease, d.takeFor("c", shortLease).Receipt)
			d.runOut()
			d.takeNothing("c")
			d.wantState(id, store.Dead)
		}},
		{"Cancel", func(d *desk, id store.ID) { d.wantCodes("cancel", d.cancel(byID(id)), store.CodeOK) }},
		{"CancelByKey", func(d *desk, _ store.ID) { d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeOK) }},
		{"CancelWhileRunning", func(d *desk, id store.ID) {
			r := d.take("c").Receipt
			d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
			d.wantSettled(store.Nack, r, store.CodeCancelled)
		}},
		{"CancelWhileRunningAndCrash", func(d *desk, id store.ID) {
			d.takeFor("c", shortLease)
			d.wantCodes("cancel", d.cancel(byID(id)), store.CodeRunning)
			d.runOut()
			d.takeNothing("c")
		}},
		{"Purge", func(d *desk, _ store.ID) { d.wantEqual("purged", d.purge(store.Ready, 10), 1) }},
		{"Expiry", func(d *desk, id store.ID) {
			d.cancel(byID(id))
			d.expire(d.send(key("k"), ttl(shortTTL)))
			d.takeNothing("c")
		}},
	}
}

func (d *desk) wantRefused(k string, holder store.ID, edits ...func(*store.Message)) {
	d.t.Helper()
	m := d.message(append(edits, key(k))...)
	d.wantEqual("push", d.push(m), []store.PushResult{{Code: store.CodeDuplicate, Holder: holder}})
	d.wantGone(byID(m.ID))
}

func testKeyRefused(d *desk) {
	id := d.send(key("k"), delay(hour))
	d.wantRefused("k", id)
	d.reschedule(store.Move{Ref: byKey("k")})
	d.wantRefused("k", id)
	d.take("c")
	d.wantRefused("k", id)
	d.send(key("K"))
	d.send()
	d.wantCounters(store.Counters{Sent: 3, Delivered: 1, Duplicates: 3})
}

func testKeyRefusedAfterReturn(d *desk) {
	id := d.send(key("k"))
	d.wantSettled(store.Nack, d.take("c").Receipt, store.CodeOK)
	d.wantRefused("k", id)
	d.wantSettled(store.Release, d.take("c").Receipt, store.CodeOK)
	d.wantRefused("k", id)
	d.takeFor("c", shortLease)
	d.runOut()
	d.wantRefused("k", id) // nobody has put it back yet
	r := d.take("c").Receipt
	d.wantRefused("k", id)
	d.wantSettled(store.Ack, r, store.CodeOK)
	d.send(key("k"))
}

func testKeyReplace(d *desk) {
	first := d.send(key("k"), delay(hour))
	second := d.send(key("k"), replacing)
	d.wantGone(byID(first))
	third := d.send(key("k"), replacing, delay(hour))
	d.wantGone(byID(second))
	d.wantEqual("holder", d.get(byKey("k")).ID, third)
	d.takeNothing("c")
	d.send(key("other"), replacing) // nothing to replace
	d.wantCounters(store.Counters{Sent: 4, Replaced: 2})
}

func testKeyReplaceLeased(d *desk) {
	id := d.send(key("k"))
	r := d.takeFor("c", shortLease).Receipt
	d.wantRefused("k", id, replacing)
	d.runOut()
	d.wantRefused("k", id, replacing)
	d.wantSettled(store.Ack, r, store.CodeOK)
	d.send(key("k"), replacing)
}

func testKeyExpiredHolder(d *desk) {
	old := d.send(key("k"), ttl(shortTTL))
	d.expire(old)
	next := d.send(key("k"))
	d.wantGone(byID(old))
	d.wantEqual("holder", d.get(byKey("k")).ID, next)
	d.wantCounters(store.Counters{Sent: 2, Expired: 1})
}

func testKeyRedriveTaken(d *desk) {
	dead := d.dead(key("k"))
	d.wantEqual("dead", d.get(byKey("k")).ID, dead)
	holder := d.send(key("k"))
	d.wantEqual("redrive", d.redrive(dead), []store.PushResult{{Code: store.CodeDuplicate, Holder: holder}})
	d.wantState(dead, store.Dead)
	d.wantEqual("holder", d.get(byKey("k")).ID, holder)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantPushed(d.redrive(dead), store.CodeOK)
	d.wantEqual("holder", d.get(byKey("k")).ID, dead)
	d.wantCounters(store.Counters{Sent: 2, Delivered: 2, Acked: 1, Rejected: 1, DeadLettered: 1, Redriven: 1})
}

func testKeyRedriveTakes(d *desk) {
	first := d.dead(key("k"))
	second := d.dead(key("k"))
	d.wantEqual("redrive of both", d.redrive(first, second), []store.PushResult{{}, {Code: store.CodeDuplicate, Holder: first}})
	d.wantRefused("k", first)
	r := d.take("c").Receipt
	d.wantEqual("delivered", r, store.Receipt{ID: first, Attempt: 2, Keyed: true})
	d.wantSettled(store.Ack, r, store.CodeOK)
	d.wantPushed(d.redrive(second), store.CodeOK)
}

// wantFound fails the test unless the key names the message.
func (d *desk) wantFound(k string, id store.ID, state store.State) {
	d.t.Helper()
	rec := d.get(byKey(k))
	d.wantEqual("message of the key "+k, rec.ID, id)
	d.wantEqual("its state", rec.State, state)
}

// A key names the live message, or else the one that died last with it and is still dead.
func testKeyOfTheDead(d *desk) {
	first, second, third := d.dead(key("k")), d.dead(key("k")), d.dead(key("k"))
	other := d.dead(key("other"))
	d.dead()
	d.wantFound("k", third, store.Dead)
	live := d.send(key("k"), delay(hour))
	d.wantFound("k", live, store.Scheduled)
	d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeOK)
	d.wantFound("k", third, store.Dead)
	d.wantCodes("cancel", d.cancel(byKey("k"), byKey("other"), byKey("none")), store.CodeDead, store.CodeDead, store.CodeNotFound)
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byKey("k")}), store.CodeDead)

	d.wantEqual("purged", d.purge(store.Dead, 10, second), 1)
	d.wantFound("k", third, store.Dead)
	d.wantPushed(d.redrive(third), store.CodeOK)
	d.wantFound("k", third, store.Ready)
	d.wantSettled(store.Ack, d.takeOf(third), store.CodeOK)
	d.wantFound("k", first, store.Dead)
	r := store.CancelRequest{Caller: "m", Number: 1, Refs: []store.Ref{byKey("k"), byKey("other")}, Dead: true}
	d.wantCodes("delete", d.cancelAs(r), store.CodeOK, store.CodeOK)
	d.wantGone(byKey("k"), byKey("other"), byID(first), byID(other))
}

func testKeyOfTheDeadReopened(d *desk) {
	d.dead(key("k"))
	last := d.dead(key("k"))
	d.s = d.h.Reopen(d.t)
	d.wantFound("k", last, store.Dead)
	d.wantEqual("purged", d.purge(store.Dead, 1), 1)
	d.wantFound("k", last, store.Dead)
}

// A batch can remove several dead messages of one key, and of others.
func testKeyOfManyDead(d *desk) {
	var of [3][]store.ID
	for range 5 {
		for k := range of {
			of[k] = append(of[k], d.dead(key(string(rune('a'+k)))))
		}
	}
	d.wantEqual("purged", d.purge(store.Dead, 500, append(slices.Clone(of[0][1:]), of[1]...)...), 9)
	d.wantFound("a", of[0][0], store.Dead)
	d.wantGone(byKey("b"))
	d.wantPushed(d.redrive(of[2][4], of[0][0]), store.CodeOK, store.CodeOK)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
	d.wantGone(byKey("a"))
	d.wantFound("c", of[2][3], store.Dead)
	d.wantEqual("purged", d.purge(store.Dead, 500), 4)
	d.wantGone(byKey("c"))
}

func testKeyFull(d *desk) {
	d.configure(store.Change{Create: true, MaxMessages: pointer(int64(1))})
	id := d.send(key("k"))
	d.wantPushed(d.push(d.message(key("k"))), store.CodeFull)
	d.wantPushed(d.push(d.message()), store.CodeFull)
	d.wantState(id, store.Ready)
}

// A message that replaces another is accepted by a full partition.
func testReplaceFull(d *desk) {
	d.configure(store.Change{Create: true, MaxMessages: pointer(int64(2))})
	old, other := d.send(key("k")), d.send(key("other"))
	d.configure(store.Change{MaxMessages: pointer(int64(1))})
	m := d.message(key("k"), replacing)
	d.wantPushed(d.push(m, d.message(key("new"), replacing)), store.CodeOK, store.CodeFull)
	d.wantGone(byID(old))
	d.wantState(m.ID, store.Ready)
	d.takeOf(other)
	d.wantPushed(d.push(d.message(key("other"), replacing)), store.CodeFull)
	d.wantCounters(store.Counters{Sent: 3, Delivered: 1, Replaced: 1})
}
