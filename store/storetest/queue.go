package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/store"
)

func settings() []testCase {
	return []testCase{
		{"Defaults", "", testDefaults},
		{"ChangeWhatIsGiven", "", testConfigure},
		{"PartitionsAreNeverFewer", "", testPartitionsNeverFewer},
		{"PushMakesTheQueue", "", testPushMakesQueue},
		{"PauseAndResume", "", testPause},
		{"PausedBeforeTheFirstMessage", "", testPausedEmpty},
		{"MaxMessages", "", testMaxMessages},
		{"MaxMessagesOfPartitions", "", testMaxMessagesShares},
		{"PauseHoldsForEveryPartition", "", testPausePartitions},
		{"OtherNumberOfPartitions", "", testRepartitioned},
	}
}

var defaults = store.Settings{Partitions: store.DefaultPartitions, MaxBody: store.DefaultMaxBody}

func testDefaults(g *rig) {
	g.wantEqual("settings", g.configure(store.Change{Create: true}), defaults)
	g.wantEqual("settings", g.configure(store.Change{}), defaults)
	g.wantEqual("stats", g.stats(), store.Stats{Queue: g.p.Queue, Settings: defaults})
}

func testConfigure(g *rig) {
	want := store.Settings{Partitions: 4, MaxBody: 1, MaxMessages: 9, Paused: true}
	change := store.Change{
		Create: true, Partitions: pointer(4), MaxBody: pointer(1), MaxMessages: pointer(int64(9)), Paused: pointer(true),
	}
	for range 2 {
		g.wantEqual("settings", g.configure(change), want)
	}
	want.Paused = false
	g.wantEqual("settings", g.configure(store.Change{Paused: pointer(false)}), want)
	want.MaxMessages = 0
	g.wantEqual("settings", g.configure(store.Change{MaxMessages: pointer(int64(0))}), want)
	want.MaxBody = store.MaxBody
	g.wantEqual("settings", g.configure(store.Change{MaxBody: pointer(store.MaxBody)}), want)
	g.wantEqual("settings", g.configure(store.Change{}), want)
	g.wantEqual("settings", g.stats().Settings, want)
}

func testPartitionsNeverFewer(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(3)})
	g.configure(store.Change{Create: true, Partitions: pointer(3)})
	_, err := g.s.Configure(g.t.Context(), g.p.Queue, store.Change{Partitions: pointer(2), Paused: pointer(true)})
	g.wantInvalid("fewer", err, store.ErrInvalid, "partitions", "3", "2")
	g.wantEqual("settings", g.configure(store.Change{}), store.Settings{Partitions: 3, MaxBody: store.DefaultMaxBody})
}

func testPushMakesQueue(g *rig) {
	g.send()
	g.wantEqual("settings", g.configure(store.Change{}), defaults)
	_, err := g.s.Configure(g.t.Context(), g.p.Queue, store.Change{If: store.IfMissing, Token: "t", Create: true, Partitions: pointer(2)})
	if !errors.Is(err, store.ErrConflict) {
		g.t.Fatalf("made again with another number: %v, want ErrConflict", err)
	}
	g.wantEqual("ready", g.stats().Ready, int64(1))
}

func testPause(g *rig) {
	id := g.send()
	g.configure(store.Change{Paused: pointer(true)})
	other := g.send()
	res := g.takeNothing("c")
	if !res.Paused {
		g.t.Fatal("a claim of a paused queue returns Paused false")
	}
	g.wantEqual("wait", res.Wait, store.MaxWait)
	g.wantCodes("cancel", g.cancel(byID(other)), store.CodeOK)
	g.configure(store.Change{Paused: pointer(false)})
	if res := g.claim("c", 5); res.Paused || len(res.Deliveries) != 1 || res.Deliveries[0].Receipt.ID != id {
		g.t.Fatalf("claim after the resume: %+v", res)
	}
}

func testPausedEmpty(g *rig) {
	g.configure(store.Change{Create: true, Paused: pointer(true)})
	if !g.takeNothing("c").Paused {
		g.t.Fatal("a claim of a paused queue that never had a message returns Paused false")
	}
	g.send()
	if !g.takeNothing("c").Paused {
		g.t.Fatal("a claim of a queue that was paused before its first message returns Paused false")
	}
}

func testPausePartitions(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2)})
	desks := []*rig{g, g.at(g.p.Queue, 1), g.at("refunds", 0)}
	for _, k := range desks {
		k.send()
	}
	g.configure(store.Change{Paused: pointer(true)})
	for i, k := range desks {
		g.wantEqual(fmt.Sprintf("paused %d", i), k.claim("c", 1).Paused, i < 2)
	}
	g.configure(store.Change{Paused: pointer(false)})
	for _, k := range desks[:2] {
		k.take("c")
	}
}

// A request that was routed with a wrong number of partitions is refused and changes nothing.
func testRepartitioned(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2)})
	routed := func(of int) store.Message {
		m := g.message()
		m.Of = of
		return m
	}
	refused := func(what string, err error) {
		g.t.Helper()
		if !errors.Is(err, store.ErrRepartitioned) {
			g.t.Fatalf("%s: %v, want ErrRepartitioned", what, err)
		}
	}
	g.wantPushed(g.push(routed(2), routed(0)), store.CodeOK, store.CodeOK)
	ctx := g.t.Context()
	_, err := g.s.Push(ctx, g.p, store.PushRequest{Producer: "other", Number: 1, Messages: []store.Message{routed(2), routed(3)}})
	refused("push", err)
	claim := store.ClaimRequest{Consumer: "other", Number: 1, Max: 1, Lease: longLease, Of: 1}
	_, err = g.s.Claim(ctx, g.p, claim)
	refused("claim", err)
	claim.Of = 2
	result, err := g.s.Claim(ctx, g.p, claim)
	g.noError("claim", err)
	g.wantEqual("deliveries", len(result.Deliveries), 1)
	g.wantEqual("sent", g.stats().Counters.Sent, int64(2))
}

func testMaxMessages(g *rig) {
	g.configure(store.Change{Create: true, MaxMessages: pointer(int64(3))})
	for range 4 {
		g.dead() // they do not count
	}
	g.wantPushed(g.push(g.message(), g.message()), store.CodeOK, store.CodeOK)
	g.take("c")
	g.wantPushed(g.push(g.message(), g.message()), store.CodeOK, store.CodeFull)
	g.configure(store.Change{MaxMessages: pointer(int64(1))})
	g.wantPushed(g.push(g.message()), store.CodeFull)
	g.configure(store.Change{MaxMessages: pointer(int64(0))})
	g.wantPushed(g.push(g.message()), store.CodeOK)
	g.wantEqual("sent", g.stats().Counters.Sent, int64(8))
}

// The limit is that of the queue: its partitions have equal shares, each at least one.
func testMaxMessagesShares(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(3), MaxMessages: pointer(int64(7))})
	for _, k := range []*rig{g, g.at(g.p.Queue, 1), g.at(g.p.Queue, 2)} {
		k.wantPushed(k.push(k.message(), k.message(), k.message()), store.CodeOK, store.CodeOK, store.CodeFull)
	}
	g.configure(store.Change{MaxMessages: pointer(int64(1))})
	g.take("c")
	g.wantPushed(g.push(g.message()), store.CodeFull)
	g.wantEqual("purged", g.purge(store.Ready, 10), 1)
	g.wantPushed(g.push(g.message()), store.CodeFull)
	g.configure(store.Change{MaxMessages: pointer(int64(6))})
	g.wantPushed(g.push(g.message(), g.message()), store.CodeOK, store.CodeFull)
}

func statistics() []testCase {
	return []testCase{
		{"SizesAndCounters", "", testStats},
		{"AllQueuesInOrder", "", testStatsAll},
		{"Forecast", "", testForecast},
		{"ForecastOfManyMessages", "", testForecastMany},
		{"OldestReady", manualClock, func(g *rig) {
			g.send(delay(100))
			g.send()
			g.h.Advance(90 * time.Millisecond)
			g.wantEqual("oldest ready", g.stats().OldestReady, int64(90))
			g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
			g.wantEqual("oldest ready", g.stats().OldestReady, int64(0))
		}},
	}
}

func testStats(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2)})
	other := g.at(g.p.Queue, 1)
	for _, k := range []*rig{g, other} {
		k.dead()
		k.sendMany(4)
		k.sendMany(2, delay(hour))
		k.wantSettled(store.Ack, k.take("c").Receipt, store.CodeOK)
		k.wantSettled(store.Nack, k.take("c").Receipt, store.CodeOK)
		k.wantSettled(store.Release, k.take("c").Receipt, store.CodeOK)
		k.take("c")
	}
	got := g.stats()
	got.OldestReady = 0
	g.wantEqual("stats", got, store.Stats{
		Queue: g.p.Queue, Settings: store.Settings{Partitions: 2, MaxBody: store.DefaultMaxBody},
		Scheduled: 4, Ready: 4, Leased: 2, Dead: 2,
		Counters: store.Counters{Sent: 14, Delivered: 10, Acked: 2, Nacked: 2, Released: 2, Rejected: 2, DeadLettered: 2},
	})
}

// forecast returns the forecast of the next hours.
func (g *rig) forecast(hours int) store.Forecast {
	g.t.Helper()
	f, err := g.s.Forecast(g.t.Context(), g.p, store.ForecastRequest{Step: hour, Spans: hours})
	g.noError("forecast", err)
	return f
}

func testForecast(g *rig) {
	g.wantEqual("forecast of a partition that does not exist", g.forecast(2), store.Forecast{Counts: []int64{0, 0}})
	g.dead()
	g.sendMany(3)
	g.take("c")
	const minute = hour / 60
	for _, ms := range []int64{minute, hour - minute, hour + minute, 2*hour - minute, 2*hour - minute, 3*hour + minute, 9 * hour} {
		g.send(delay(ms))
	}
	g.wantEqual("forecast", g.forecast(4), store.Forecast{Ready: 2, Counts: []int64{2, 3, 0, 1}, Later: 1})
	g.wantEqual("forecast of one hour", g.forecast(1), store.Forecast{Ready: 2, Counts: []int64{2}, Later: 5})
}

// testForecastMany has more messages than a store may count at a time.
func testForecastMany(g *rig) {
	g.sendMany(10_500, delay(hour/2))
	g.sendMany(1000, delay(3*hour/2))
	g.sendMany(500)
	g.wantEqual("forecast", g.forecast(2), store.Forecast{Ready: 500, Counts: []int64{10_500, 1000}})
}

func testStatsAll(g *rig) {
	want := []string{"B", "a", "a.b", "a1", "orders"}
	for _, q := range []string{"orders", "a1", "B", "a.b", "a"} {
		g.at(q, 0).configure(store.Change{Create: true})
	}
	all, err := g.s.Stats(g.t.Context(), "")
	g.noError("stats", err)
	var got []string
	for _, st := range all {
		got = append(got, st.Queue)
	}
	g.wantEqual("queues", got, want)
	names, err := g.s.Queues(g.t.Context())
	g.noError("queues", err)
	g.wantEqual("names", names, want)
}
