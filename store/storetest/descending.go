package storetest

import (
	"fmt"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// This file has the tests of lists in descending order, and of their cursors.

// all returns all messages of a list, read page by page.
func (g *rig) all(r store.ListRequest) []store.Record {
	g.t.Helper()
	var all []store.Record
	for {
		page, err := g.s.List(g.t.Context(), g.p, r)
		g.noError("list", err)
		if len(page.Records) > r.Limit {
			g.t.Fatalf("list: %d records in a page of %d", len(page.Records), r.Limit)
		}
		all = append(all, page.Records...)
		if len(all) > store.MaxListLimit {
			g.t.Fatalf("list of %s messages: its pages have more messages than there are", r.State)
		}
		if r.Cursor = page.Next; r.Cursor == "" {
			return all
		}
	}
}

// everyState makes messages in every state, several of each with the same instant.
func (g *rig) everyState() {
	at := g.get(byID(g.send(delay(hour)))).At
	g.keepDone(hour, 0)
	for _, v := range []store.Verdict{store.Ack, store.Reject} {
		g.sendMany(12)
		r := store.SettleRequest{Verdict: v}
		for _, d := range g.claim("c", 12).Deliveries {
			r.Items = append(r.Items, store.Settlement{Receipt: d.Receipt})
		}
		g.settleAs(r)
	}
	g.sendMany(25)
	g.claim("c", 9)
	g.claim("d", 5)
	for i := range 3 {
		g.sendMany(10, due(at+hour+int64(i)))
	}
}

// listStates are the states that can be listed, with how many messages everyState puts into each.
func listStates() map[store.State]int {
	return map[store.State]int{store.Scheduled: 31, store.Ready: 11, store.Waiting: 42, store.Leased: 14, store.Dead: 12, store.Done: 12}
}

func testDescending(g *rig) {
	g.everyState()
	for state, n := range listStates() {
		want := g.all(store.ListRequest{State: state, Limit: store.MaxListLimit})
		g.wantEqual(string(state), len(want), n)
		slices.Reverse(want)
		for _, n := range pageSizes {
			got := g.all(store.ListRequest{State: state, Limit: n, Descending: true})
			g.wantEqual(fmt.Sprintf("%s in pages of %d", state, n), got, want)
		}
	}
}

// A message that stays is listed exactly once while others leave, also that at the cursor, and while
// others come, of which only those behind the cursor are listed.
func testDescendingChanges(g *rig) {
	at := g.get(byID(g.send(delay(hour)))).At + hour
	ids := g.sendMany(40, due(at))
	seen := map[store.ID]int{}
	var before, behind []store.ID
	r := store.ListRequest{State: store.Scheduled, Limit: 7, Descending: true}
	for {
		page, err := g.s.List(g.t.Context(), g.p, r)
		g.noError("list", err)
		for _, rec := range page.Records {
			seen[rec.ID]++
		}
		if page.Next == "" {
			break
		}
		r.Cursor = page.Next
		last := page.Records[len(page.Records)-1].ID
		g.cancel(byID(last), byID(page.Records[0].ID))
		before = append(before, g.send(due(at+1)))
		if len(behind) == 0 {
			behind = append(behind, g.send(due(at-1)))
		}
	}
	for _, id := range append(ids, behind...) {
		if seen[id] != 1 {
			g.t.Fatalf("%v was seen %d times, want once", id, seen[id])
		}
	}
	for _, id := range before {
		if seen[id] != 0 {
			g.t.Fatalf("%v, which is before the cursor, was seen", id)
		}
	}
}

func testDescendingFrom(g *rig) {
	ids := []store.ID{g.send(delay(hour))}
	at := g.get(byID(ids[0])).At + hour
	for i := range 3 {
		ids = append(ids, g.sendMany(10, due(at+2*int64(i)))...)
	}
	slices.Reverse(ids)
	from := func(state store.State, from int64, size int) []store.ID {
		return recordIDs(g.all(store.ListRequest{State: state, From: from, Limit: size, Descending: true}))
	}
	for _, n := range []int{1, 10, store.MaxListLimit} {
		g.wantEqual("from behind the last", from(store.Scheduled, store.MaxInstant, n), ids)
		g.wantEqual("from the last", from(store.Scheduled, at+4, n), ids)
		g.wantEqual("from between", from(store.Scheduled, at+3, n), ids[10:])
		g.wantEqual("from the first", from(store.Waiting, at, n), ids[20:])
		g.wantEqual("from before the first", from(store.Scheduled, at-1, n), ids[30:])
	}
	dead := g.get(byID(g.dead()))
	g.wantEqual("dead", from(store.Dead, dead.At, 1), []store.ID{dead.ID})
	g.wantEqual("dead earlier", len(from(store.Dead, dead.At-1, 1)), 0)
	ready := g.send()
	g.wantEqual("ready from the future", from(store.Ready, at, 7), []store.ID{ready})
	g.wantEqual("scheduled from the past", len(from(store.Scheduled, 1, 7)), 0)
}

// Of leases with the same end the holder, too, has a part in the order.
func testLeasedFrom(g *rig) {
	g.sendMany(9)
	ends := map[int64][]store.ID{}
	for i := range 3 {
		for _, holder := range []string{"a", "b", "c"} {
			d := g.takeFor(holder, longLease+int64(i)*60_000)
			at := g.get(byID(d.Receipt.ID)).At
			ends[at] = append(ends[at], d.Receipt.ID)
		}
	}
	whole := g.all(store.ListRequest{State: store.Leased, Limit: store.MaxListLimit})
	for at := range ends {
		for _, n := range []int{1, 2, store.MaxListLimit} {
			for _, descending := range []bool{false, true} {
				for _, from := range []int64{at - 1, at, at + 1, store.MaxInstant, 1} {
					got := g.all(store.ListRequest{State: store.Leased, From: from, Limit: n, Descending: descending})
					want := slices.DeleteFunc(slices.Clone(whole), func(r store.Record) bool {
						return r.At < from && !descending || r.At > from && descending
					})
					if descending {
						slices.Reverse(want)
					}
					g.wantEqual(fmt.Sprintf("from %d, descending %t, in pages of %d", from, descending, n), recordIDs(got), recordIDs(want))
				}
			}
		}
	}
}

// A page begins behind the record whose cursor it is given.
func testCursors(g *rig) {
	g.everyState()
	for state := range listStates() {
		for _, descending := range []bool{false, true} {
			r := store.ListRequest{State: state, Limit: 5, Descending: descending, Cursors: true}
			whole := g.all(store.ListRequest{State: state, Limit: store.MaxListLimit, Descending: descending})
			page, err := g.s.List(g.t.Context(), g.p, r)
			g.noError("list", err)
			g.wantEqual("cursors", len(page.Cursors), 5)
			g.wantEqual("the last cursor", page.Cursors[4], page.Next)
			for i, cursor := range page.Cursors {
				r.Cursor = cursor
				behind, err := g.s.List(g.t.Context(), g.p, r)
				g.noError("list", err)
				g.wantEqual(fmt.Sprintf("%s, descending %t, behind message %d", state, descending, i), recordIDs(behind.Records), recordIDs(whole[i+1:i+6]))
			}
			r.Cursor, r.Cursors = "", false
			page, err = g.s.List(g.t.Context(), g.p, r)
			g.noError("list", err)
			g.wantEqual("cursors that were not asked for", len(page.Cursors), 0)
		}
	}
}

func testCursorOtherOrder(g *rig) {
	g.sendMany(3, delay(hour))
	for _, descending := range []bool{false, true} {
		page, err := g.s.List(g.t.Context(), g.p, store.ListRequest{State: store.Scheduled, Limit: 1, Descending: descending})
		g.noError("list", err)
		r := store.ListRequest{State: store.Scheduled, Limit: 1, Descending: !descending, Cursor: page.Next}
		_, err = g.s.List(g.t.Context(), g.p, r)
		g.wantInvalid("cursor of the other order", err, store.ErrInvalid, "cursor", "ascending order", "descending order")
	}
}
