package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// growing tests what a store does while a queue grows: see store.Settings.From.
func growing() []testCase {
	return []testCase{
		{"SettingsSayFromWhichNumber", "", testGrow},
		{"OnlyOneGrowthAtATime", "", testGrowOnce},
		{"MessagesRoutedBeforeAreRefused", "", testGrowRefusesOldRoutes},
		{"OnlyHeldStoresNothingWithoutAHolder", "", testOnlyHeldMoved},
		{"OnlyHeldTakesThePlaceOfTheHolder", "", testOnlyHeldReplaces},
		{"OnlyHeldKnowsDedupIDs", "", testOnlyHeldKnown},
		{"OnlyHeldOfAFullPartition", "", testOnlyHeldFull},
		{"OnlyHeldRepeated", "", testOnlyHeldRepeated},
		{"RedriveOfKeyedMessages", "", testGrowRedrive},
		{"NextOfMessagesRoutedBefore", "", testGrowNext},
		{"NamesAreListed", "", testNames},
		{"NamesOfManyMessages", "", testNamesMany},
		{"Reopened", reopening, testGrowReopen},
	}
}

// grown makes a queue of one partition grow to four.
func (g *rig) grown() {
	g.t.Helper()
	g.configure(store.Change{Create: true})
	g.configure(store.Change{Partitions: pointer(4)})
}

func onlyHeld(m *store.Message) { m.OnlyHeld = true }

func repeats(m *store.Message) { m.Repeat = "every 1h" }

func testGrow(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2)})
	grow := store.Change{Partitions: pointer(8)}
	want := store.Settings{Partitions: 8, From: 2, MaxBody: store.DefaultMaxBody}
	for range 2 { // the second one repeats the first
		g.wantEqual("settings", g.configure(grow), want)
	}
	g.wantEqual("stats", g.stats().Settings, want)
	want.Drained = 1234
	g.wantEqual("drained", g.configure(store.Change{Drained: pointer(int64(1234))}), want)
	want.From, want.Drained = 0, 0
	g.wantEqual("ended", g.configure(store.Change{From: pointer(0), Drained: pointer(int64(0))}), want)
	want.From, want.Partitions = 8, 9
	g.wantEqual("once more", g.configure(store.Change{Partitions: pointer(9)}), want)
	_, err := g.s.Configure(g.t.Context(), g.p.Queue, store.Change{From: pointer(3)})
	g.wantInvalid("from", err, store.ErrInvalid, "from", "3")
}

func testGrowOnce(g *rig) {
	g.grown()
	_, err := g.s.Configure(g.t.Context(), g.p.Queue, store.Change{Partitions: pointer(5)})
	if !errors.Is(err, store.ErrConflict) {
		g.t.Fatalf("grow while growing: %v, want ErrConflict", err)
	}
	g.wantEqual("settings", g.configure(store.Change{}), store.Settings{Partitions: 4, From: 1, MaxBody: store.DefaultMaxBody})
}

func testGrowRefusesOldRoutes(g *rig) {
	g.configure(store.Change{Create: true})
	m := g.message(key("k"))
	m.Of = 1
	r := g.pushRequest(m)
	g.wantPushed(g.pushAs(r), store.CodeOK)
	g.configure(store.Change{Partitions: pointer(4)})
	later := g.message(key("l"))
	later.Of = 1
	_, err := g.s.Push(g.t.Context(), g.p, g.pushRequest(later))
	if !errors.Is(err, store.ErrRepartitioned) {
		g.t.Fatalf("push: %v, want ErrRepartitioned", err)
	}
	claim := g.claimRequest("c", 1)
	claim.Of = 1
	_, err = g.s.Claim(g.t.Context(), g.p, claim)
	if !errors.Is(err, store.ErrRepartitioned) {
		g.t.Fatalf("claim: %v, want ErrRepartitioned", err)
	}
	g.wantEqual("sent", g.stats().Counters.Sent, int64(1))
}

func testOnlyHeldMoved(g *rig) {
	g.grown()
	dead := g.dead(key("dead"))
	moved := []store.PushResult{{Code: store.CodeMoved}}
	for i, m := range []store.Message{
		g.message(onlyHeld, key("k")), g.message(onlyHeld, key("k"), replacing), g.message(onlyHeld, key("r"), repeats),
		g.message(onlyHeld), g.message(onlyHeld, named("a")), g.message(onlyHeld, key("dead")),
	} {
		g.wantEqual(fmt.Sprintf("message %d", i), g.push(m), moved)
		g.wantGone(byID(m.ID))
	}
	g.wantPushed(g.push(g.message(key("k")), g.message(key("dead"))), store.CodeOK, store.CodeOK)
	g.wantEqual("sent", g.stats().Counters.Sent, int64(3))
	g.wantEqual("dead", g.get(byID(dead)).State, store.Dead)
}

func testOnlyHeldReplaces(g *rig) {
	g.grown()
	id := g.send(key("k"), delay(hour))
	g.wantEqual("held", g.push(g.message(onlyHeld, key("k"))), []store.PushResult{{Code: store.CodeDuplicate, Holder: id}})
	m := g.message(onlyHeld, key("k"), replacing, delay(hour))
	g.wantEqual("replaced", g.push(m), []store.PushResult{{}})
	g.wantGone(byID(id))
	g.wantEqual("by key", g.get(byKey("k")).ID, m.ID)
	series := g.send(key("r"), repeats, delay(hour))
	g.wantEqual("declared", g.push(g.message(onlyHeld, key("r"), func(m *store.Message) { m.Repeat = "every 2h" }, delay(hour))),
		[]store.PushResult{{Holder: series}})
	g.wantEqual("repeat", g.get(byKey("r")).Repeat, "every 2h")
	leased := g.send(key("l"))
	g.take("c")
	g.wantEqual("leased", g.push(g.message(onlyHeld, key("l"), replacing)), []store.PushResult{{Code: store.CodeDuplicate, Holder: leased}})
}

func testOnlyHeldKnown(g *rig) {
	g.grown()
	live := g.send(named("live"), delay(hour))
	g.wantEqual("live", g.push(g.message(onlyHeld, named("live"))), []store.PushResult{{Code: store.CodeKnown, Holder: live}})
	gone := g.send(named("gone"), remember(hour))
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantEqual("gone", g.push(g.message(onlyHeld, named("gone"))), []store.PushResult{{Code: store.CodeKnown, Holder: gone}})
	g.wantEqual("id", g.push(g.message(onlyHeld, again(gone))), []store.PushResult{{}})
}

func testOnlyHeldFull(g *rig) {
	g.grown()
	g.configure(store.Change{MaxMessages: pointer(int64(1))})
	g.send(key("k"), delay(hour))
	g.wantPushed(g.push(g.message(onlyHeld, key("other")), g.message(onlyHeld), g.message(onlyHeld, key("k"), replacing)),
		store.CodeMoved, store.CodeMoved, store.CodeOK)
}

func testOnlyHeldRepeated(g *rig) {
	g.grown()
	id := g.send(key("k"))
	r := g.pushRequest(g.message(onlyHeld, key("k")), g.message(onlyHeld, key("l")))
	want := []store.PushResult{{Code: store.CodeDuplicate, Holder: id}, {Code: store.CodeMoved}}
	g.wantEqual("first", g.pushAs(r), want)
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.wantEqual("repeated", g.pushAs(r), want)
}

func testGrowRedrive(g *rig) {
	g.configure(store.Change{Create: true})
	keyed, plain := g.dead(key("k")), g.dead()
	g.configure(store.Change{Partitions: pointer(4)})
	redrive := func(of int, ids ...store.ID) []store.PushResult {
		r := store.RedriveRequest{Caller: "manager", Number: g.number("manager"), Of: of}
		for _, id := range ids {
			r.Items = append(r.Items, store.Redrive{ID: id})
		}
		results, err := g.s.Redrive(g.t.Context(), g.p, r)
		g.noError("redrive", err)
		return results
	}
	g.wantEqual("unchecked", redrive(0, keyed, plain), []store.PushResult{{Code: store.CodeMoved}, {}})
	g.wantEqual("checked before", redrive(1, keyed), []store.PushResult{{Code: store.CodeMoved}})
	g.wantEqual("state", g.get(byID(keyed)).State, store.Dead)
	g.wantEqual("checked", redrive(4, keyed), []store.PushResult{{}})
	g.wantEqual("state", g.get(byKey("k")).State, store.Ready)
}

func testGrowNext(g *rig) {
	g.configure(store.Change{Create: true})
	id := g.send()
	d := g.take("c")
	g.configure(store.Change{Partitions: pointer(4)})
	next := g.message(key("k"))
	next.Of = 1
	settle := store.SettleRequest{Verdict: store.Next, Items: []store.Settlement{{Receipt: d.Receipt, Messages: []store.Message{next}}}}
	g.wantEqual("routed before", g.settleAs(settle), []store.Code{store.CodeMoved})
	g.wantEqual("state", g.get(byID(id)).State, store.Leased)
	g.wantGone(byKey("k"))
	settle.Items[0].Messages[0].Of = 4
	g.wantEqual("routed now", g.settleAs(settle), []store.Code{store.CodeOK})
	g.wantEqual("by key", g.get(byKey("k")).ID, next.ID)
}

// names lists all names, limit elements at a time.
func (g *rig) names(limit int) (keys []string, ids []store.NamedByID) {
	g.t.Helper()
	for r := (store.NamesRequest{Limit: limit}); ; {
		names, err := g.s.Names(g.t.Context(), g.p, r)
		g.noError("names", err)
		keys, ids = append(keys, names.Keys...), append(ids, names.DedupIDs...)
		if r.Cursor = names.Next; r.Cursor == "" {
			slices.Sort(keys)
			return slices.Compact(keys), ids
		}
	}
}

func testNames(g *rig) {
	g.configure(store.Change{Create: true, History: pointer(hour)})
	keys, ids := g.names(10)
	g.wantEqual("of an empty partition", len(keys)+len(ids), 0)
	g.send(key("leased"))
	g.take("c")
	g.send(key("acked"))
	g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	g.dead(key("dead"))
	g.send(key("scheduled"), delay(hour))
	g.send()
	id := g.send(named("a"))
	keys, ids = g.names(2)
	g.wantEqual("keys", keys, []string{"dead", "leased", "scheduled"})
	g.wantEqual("dedup ids", ids, []store.NamedByID{{DedupID: store.NewDedupID("a"), ID: id}})
	_, err := g.s.Names(g.t.Context(), g.p, store.NamesRequest{Limit: 1, Cursor: "no cursor"})
	g.wantInvalid("cursor", err, store.ErrInvalid, "cursor", "no cursor")
}

// A name that is there from the first step to the last is listed, whatever else comes and goes.
func testNamesMany(g *rig) {
	const many = 3000
	g.configure(store.Change{Create: true})
	want := make([]string, many)
	for i := range want {
		want[i] = fmt.Sprintf("stays-%04d", i)
	}
	for part := range slices.Chunk(want, store.MaxBatch) {
		batch := make([]store.Message, len(part))
		for i, k := range part {
			batch[i] = g.message(key(k), delay(hour))
		}
		g.push(batch...)
	}
	var keys []string
	for r, n := (store.NamesRequest{Limit: 100}), 0; ; n++ {
		names, err := g.s.Names(g.t.Context(), g.p, r)
		g.noError("names", err)
		keys = append(keys, names.Keys...)
		if r.Cursor = names.Next; r.Cursor == "" {
			break
		}
		for i := range 50 {
			g.send(key(fmt.Sprintf("other-%d-%d", n, i)), delay(hour))
		}
	}
	slices.Sort(keys)
	keys = slices.DeleteFunc(slices.Compact(keys), func(k string) bool { return k[0] == 'o' })
	g.wantEqual("keys", keys, want)
}

func testGrowReopen(g *rig) {
	g.grown()
	g.configure(store.Change{Drained: pointer(int64(5))})
	g.s = g.h.Reopen(g.t)
	g.wantEqual("settings", g.configure(store.Change{}), store.Settings{Partitions: 4, From: 1, Drained: 5, MaxBody: store.DefaultMaxBody})
}
