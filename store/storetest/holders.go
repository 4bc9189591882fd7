package storetest

import (
	"fmt"

	"github.com/dueq-dev/dueq/store"
)

// holders are the tests of Record.Holder: a leased message shows its holder, or none, never another
// consumer.
func holders() []testCase {
	return []testCase{
		{"OnlyLeasedMessagesHaveOne", "", testHolderOfStates},
		{"ExtendAndStartKeepIt", "", testHolderExtended},
		{"TakenOverLeaseShowsTheNewOne", expiring, testHolderTakenOver},
		{"RepeatedClaimKeepsIt", "", testHolderRepeatedClaim},
		{"DeclarationKeepsIt", "", testHolderDeclared},
		{"AckOnClaimOfARecurringMessage", "", testHolderAckOnClaim},
		{"ManyConsumers", "", testHolderMany},
		{"ConsumerThatLeftIsStillShown", "", testHolderLeft},
		{"PagesShowEachMessageOnce", "", testHolderPages},
	}
}

// wantHolder fails unless both Get and List show a message with the holder; "" is none.
func (g *rig) wantHolder(id store.ID, want string) {
	g.t.Helper()
	rec := g.get(byID(id))
	g.wantEqual("holder", rec.Holder, want)
	for _, listed := range g.list(rec.State, 10) {
		if listed.ID == id {
			g.wantEqual("listed holder", listed.Holder, want)
		}
	}
}

func testHolderOfStates(g *rig) {
	id := g.send()
	g.wantHolder(id, "")
	for _, step := range []struct {
		verdict store.Verdict
		by      string
	}{{store.Release, "a"}, {store.Nack, "b"}, {store.Snooze, "a"}, {store.Again, "c"}, {store.Reject, "b"}} {
		receipt := g.take(step.by).Receipt
		g.wantHolder(id, step.by)
		g.wantSettled(step.verdict, receipt, store.CodeOK)
		g.wantHolder(id, "")
	}
	g.wantPushed(g.redrive(id), store.CodeOK)
	g.wantHolder(id, "")
	g.take("c")
	g.wantHolder(id, "c")
}

func testHolderExtended(g *rig) {
	first, second := g.send(), g.send()
	held := g.takeFor("a", shortLease).Receipt
	other := g.takeFor("b", shortLease).Receipt
	for _, v := range []store.Verdict{Extend, Start, Extend} {
		items := []store.Settlement{{Receipt: held, Delay: longLease}, {Receipt: other, Delay: longLease}}
		g.wantCodes(string(v), g.settleAs(store.SettleRequest{Verdict: v, Items: items}), store.CodeOK, store.CodeOK)
		g.wantHolder(first, "a")
		g.wantHolder(second, "b")
	}
	g.wantCodes("cancel", g.cancel(byID(first)), store.CodeRunning)
	g.wantSettled(Extend, held, store.CodeCancelled)
	g.wantHolder(first, "a")
}

func testHolderTakenOver(g *rig) {
	id := g.send()
	old := g.takeFor("a", shortLease).Receipt
	g.runOut()
	g.wantHolder(id, "a") // no claim has put it back yet
	g.take("b")
	g.wantHolder(id, "b")
	g.wantSettled(Extend, old, store.CodeLeaseLost)
	g.wantHolder(id, "b")
}

func testHolderRepeatedClaim(g *rig) {
	ids := g.sendMany(3)
	r := g.claimRequest("a", 2)
	g.claimAs(r)
	g.claim("b", 1)
	g.claimAs(r)
	for i, want := range []string{"a", "a", "b"} {
		g.wantHolder(ids[i], want)
	}
}

func testHolderDeclared(g *rig) {
	id := g.recur()
	g.take("a")
	g.declare(g.message(key("k"), repeat(hourly), size(9)), id)
	g.wantHolder(id, "a")
}

func testHolderAckOnClaim(g *rig) {
	id := g.recur()
	r := g.claimRequest("a", 1)
	r.AckOnClaim = true
	g.claimAs(r)
	g.wantHolder(id, "a")
}

func testHolderMany(g *rig) {
	const n = 40
	ids := g.sendMany(2 * n)
	for i := range ids {
		g.take(fmt.Sprintf("consumer-%d", i%n))
	}
	for i, id := range ids {
		if got, want := g.get(byID(id)).Holder, fmt.Sprintf("consumer-%d", i%n); got != want {
			g.t.Fatalf("the holder of message %d is %q, want %q", i, got, want)
		}
	}
}

func testHolderLeft(g *rig) {
	ids := g.sendMany(5)
	g.claim("a", 5)
	g.leave("a")
	for _, id := range ids {
		g.wantHolder(id, "a")
	}
}

// Leases that end at the same instant have several holders, and a page can end between two of
// them.
func testHolderPages(g *rig) {
	ids := g.sendMany(12)
	want := map[store.ID]string{}
	for i := range ids {
		by := fmt.Sprintf("consumer-%d", (i*5)%4)
		want[g.take(by).Receipt.ID] = by
	}
	for page := 1; page <= 5; page++ {
		seen := map[store.ID]string{}
		last := int64(0)
		for _, rec := range g.list(store.Leased, page) {
			if _, twice := seen[rec.ID]; twice || rec.At < last {
				g.t.Fatalf("pages of %d: %v comes twice or too late", page, rec.ID)
			}
			seen[rec.ID], last = rec.Holder, rec.At
		}
		g.wantEqual(fmt.Sprintf("holders in pages of %d", page), seen, want)
	}
}
