package storetest

import (
	"fmt"

	"github.com/dueq-dev/dueq/store"
)

// holders holds what a store says of who has a leased message: its holder or nothing, never
// another consumer.
func holders() []testCase {
	return []testCase{
		{"OnlyLeasedMessagesHaveOne", "", testHolderOfStates},
		{"ExtendAndStartKeepIt", "", testHolderExtended},
		{"TakenOverLeaseShowsTheNewOne", expiring, testHolderTakenOver},
		{"RepeatedClaimKeepsIt", "", testHolderRepeatedClaim},
		{"DeclarationKeepsIt", "", testHolderDeclared},
		{"AckOnClaimOfARecurringMessage", "", testHolderAckOnClaim},
		{"ManyConsumers", "", testHolderMany},
		{"AConsumerThatLeftIsStillShown", "", testHolderLeft},
		{"PagesShowEachMessageOnce", "", testHolderPages},
	}
}

// wantHolder fails unless a message is shown with a holder, "" for none, alone and in a list.
func (d *desk) wantHolder(id store.ID, want string) {
	d.t.Helper()
	rec := d.get(byID(id))
	d.wantEqual("holder", rec.Holder, want)
	for _, listed := range d.list(rec.State, 10) {
		if listed.ID == id {
			d.wantEqual("listed holder", listed.Holder, want)
		}
	}
}

func testHolderOfStates(d *desk) {
	id := d.send()
	d.wantHolder(id, "")
	for _, step := range []struct {
		verdict store.Verdict
		by      string
	}{{store.Release, "a"}, {store.Nack, "b"}, {store.Snooze, "a"}, {store.Again, "c"}, {store.Reject, "b"}} {
		receipt := d.take(step.by).Receipt
		d.wantHolder(id, step.by)
		d.wantSettled(step.verdict, receipt, store.CodeOK)
		d.wantHolder(id, "")
	}
	d.wantPushed(d.redrive(id), store.CodeOK)
	d.wantHolder(id, "")
	d.take("c")
	d.wantHolder(id, "c")
}

func testHolderExtended(d *desk) {
	first, second := d.send(), d.send()
	held := d.takeFor("a", shortLease).Receipt
	other := d.takeFor("b", shortLease).Receipt
	for _, v := range []store.Verdict{Extend, Start, Extend} {
		items := []store.Settlement{{Receipt: held, Delay: longLease}, {Receipt: other, Delay: longLease}}
		d.wantCodes(string(v), d.settleAs(store.SettleRequest{Verdict: v, Items: items}), store.CodeOK, store.CodeOK)
		d.wantHolder(first, "a")
		d.wantHolder(second, "b")
	}
	d.wantCodes("cancel", d.cancel(byID(first)), store.CodeRunning)
	d.wantSettled(Extend, held, store.CodeCancelled)
	d.wantHolder(first, "a")
}

func testHolderTakenOver(d *desk) {
	id := d.send()
	old := d.takeFor("a", shortLease).Receipt
	d.runOut()
	d.wantHolder(id, "a") // until a claim has put it back
	d.take("b")
	d.wantHolder(id, "b")
	d.wantSettled(Extend, old, store.CodeLeaseLost)
	d.wantHolder(id, "b")
}

func testHolderRepeatedClaim(d *desk) {
	ids := d.sendMany(3)
	r := d.claimRequest("a", 2)
	d.claimAs(r)
	d.claim("b", 1)
	d.claimAs(r)
	for i, want := range []string{"a", "a", "b"} {
		d.wantHolder(ids[i], want)
	}
}

func testHolderDeclared(d *desk) {
	id := d.recur()
	d.take("a")
	d.declare(d.message(key("k"), repeat(hourly), size(9)), id)
	d.wantHolder(id, "a")
}

func testHolderAckOnClaim(d *desk) {
	id := d.recur()
	r := d.claimRequest("a", 1)
	r.AckOnClaim = true
	d.claimAs(r)
	d.wantHolder(id, "a")
}

func testHolderMany(d *desk) {
	const n = 40
	ids := d.sendMany(2 * n)
	for i := range ids {
		d.take(fmt.Sprintf("consumer-%d", i%n))
	}
	for i, id := range ids {
		if got, want := d.get(byID(id)).Holder, fmt.Sprintf("consumer-%d", i%n); got != want {
			d.t.Fatalf("the holder of message %d is %q, want %q", i, got, want)
		}
	}
}

func testHolderLeft(d *desk) {
	ids := d.sendMany(5)
	d.claim("a", 5)
	d.leave("a")
	for _, id := range ids {
		d.wantHolder(id, "a")
	}
}

// Messages whose leases end at the same instant have several holders, and pages end between
// them.
func testHolderPages(d *desk) {
	ids := d.sendMany(12)
	want := map[store.ID]string{}
	for i := range ids {
		by := fmt.Sprintf("consumer-%d", (i*5)%4)
		want[d.take(by).Receipt.ID] = by
	}
	for page := 1; page <= 5; page++ {
		seen := map[store.ID]string{}
		last := int64(0)
		for _, rec := range d.list(store.Leased, page) {
			if _, twice := seen[rec.ID]; twice || rec.At < last {
				d.t.Fatalf("pages of %d: %v comes twice or too late", page, rec.ID)
			}
			seen[rec.ID], last = rec.Holder, rec.At
		}
		d.wantEqual(fmt.Sprintf("holders in pages of %d", page), seen, want)
	}
}
