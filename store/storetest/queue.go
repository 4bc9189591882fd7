package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

func settings() []testCase {
	return []testCase{
		{"Defaults", "", testDefaults},
		{"ChangeWhatIsGiven", "", testConfigure},
		{"PartitionsAreFixed", "", testPartitionsFixed},
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

func testDefaults(d *desk) {
	d.wantEqual("settings", d.configure(store.Change{Create: true}), defaults)
	d.wantEqual("settings", d.configure(store.Change{}), defaults)
	d.wantEqual("stats", d.stats(), store.Stats{Queue: d.p.Queue, Settings: defaults})
}

func testConfigure(d *desk) {
	want := store.Settings{Partitions: 4, MaxBody: 1, MaxMessages: 9, Paused: true}
	change := store.Change{
		Create: true, Partitions: pointer(4), MaxBody: pointer(1), MaxMessages: pointer(int64(9)), Paused: pointer(true),
	}
	for range 2 {
		d.wantEqual("settings", d.configure(change), want)
	}
	want.Paused = false
	d.wantEqual("settings", d.configure(store.Change{Paused: pointer(false)}), want)
	want.MaxMessages = 0
	d.wantEqual("settings", d.configure(store.Change{MaxMessages: pointer(int64(0))}), want)
	want.MaxBody = store.MaxBody
	d.wantEqual("settings", d.configure(store.Change{MaxBody: pointer(store.MaxBody)}), want)
	d.wantEqual("settings", d.configure(store.Change{}), want)
	d.wantEqual("settings", d.stats().Settings, want)
}

func testPartitionsFixed(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(3)})
	d.configure(store.Change{Create: true, Partitions: pointer(3)})
	_, err := d.s.Configure(d.t.Context(), d.p.Queue, store.Change{Partitions: pointer(5), Paused: pointer(true)})
	d.wantInvalid("another number", err, store.ErrInvalid, "partitions", "3", "5")
	d.wantEqual("settings", d.configure(store.Change{}), store.Settings{Partitions: 3, MaxBody: store.DefaultMaxBody})
}

func testPushMakesQueue(d *desk) {
	d.send()
	d.wantEqual("settings", d.configure(store.Change{}), defaults)
	_, err := d.s.Configure(d.t.Context(), d.p.Queue, store.Change{Create: true, Partitions: pointer(2)})
	d.wantInvalid("another number", err, store.ErrInvalid, "partitions", "1", "2")
	d.wantEqual("ready", d.stats().Ready, int64(1))
}

func testPause(d *desk) {
	id := d.send()
	d.configure(store.Change{Paused: pointer(true)})
	other := d.send()
	res := d.takeNothing("c")
	if !res.Paused {
		d.t.Fatal("claim of a paused queue does not say so")
	}
	d.wantEqual("wait", res.Wait, store.MaxWait)
	d.wantCodes("cancel", d.cancel(byID(other)), store.CodeOK)
	d.configure(store.Change{Paused: pointer(false)})
	if res := d.claim("c", 5); res.Paused || len(res.Deliveries) != 1 || res.Deliveries[0].Receipt.ID != id {
		d.t.Fatalf("claim after the resume: %+v", res)
	}
}

func testPausedEmpty(d *desk) {
	d.configure(store.Change{Create: true, Paused: pointer(true)})
	if !d.takeNothing("c").Paused {
		d.t.Fatal("claim of a paused queue that never had a message does not say so")
	}
	d.send()
	if !d.takeNothing("c").Paused {
		d.t.Fatal("claim of a queue that was paused before its first message does not say so")
	}
}

func testPausePartitions(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(2)})
	desks := []*desk{d, d.at(d.p.Queue, 1), d.at("refunds", 0)}
	for _, k := range desks {
		k.send()
	}
	d.configure(store.Change{Paused: pointer(true)})
	for i, k := range desks {
		d.wantEqual(fmt.Sprintf("paused %d", i), k.claim("c", 1).Paused, i < 2)
	}
	d.configure(store.Change{Paused: pointer(false)})
	for _, k := range desks[:2] {
		k.take("c")
	}
}

// A request that was routed by another number of partitions than the queue has is refused
// and changes nothing.
func testRepartitioned(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(2)})
	routed := func(of int) store.Message {
		m := d.message()
		m.Of = of
		return m
	}
	refused := func(what string, err error) {
		d.t.Helper()
		if !errors.Is(err, store.ErrRepartitioned) {
			d.t.Fatalf("%s: %v, want ErrRepartitioned", what, err)
		}
	}
	d.wantPushed(d.push(routed(2), routed(0)), store.CodeOK, store.CodeOK)
	ctx := d.t.Context()
	_, err := d.s.Push(ctx, d.p, store.PushRequest{Producer: "other", Number: 1, Messages: []store.Message{routed(2), routed(3)}})
	refused("push", err)
	claim := store.ClaimRequest{Consumer: "other", Number: 1, Max: 1, Lease: longLease, Of: 1}
	_, err = d.s.Claim(ctx, d.p, claim)
	refused("claim", err)
	claim.Of = 2
	result, err := d.s.Claim(ctx, d.p, claim)
	d.noError("claim", err)
	d.wantEqual("deliveries", len(result.Deliveries), 1)
	d.wantEqual("sent", d.stats().Counters.Sent, int64(2))
}

func testMaxMessages(d *desk) {
	d.configure(store.Change{Create: true, MaxMessages: pointer(int64(3))})
	for range 4 {
		d.dead() // do not count
	}
	d.wantPushed(d.push(d.message(), d.message()), store.CodeOK, store.CodeOK)
	d.take("c")
	d.wantPushed(d.push(d.message(), d.message()), store.CodeOK, store.CodeFull)
	d.configure(store.Change{MaxMessages: pointer(int64(1))})
	d.wantPushed(d.push(d.message()), store.CodeFull)
	d.configure(store.Change{MaxMessages: pointer(int64(0))})
	d.wantPushed(d.push(d.message()), store.CodeOK)
	d.wantEqual("sent", d.stats().Counters.Sent, int64(8))
}

// The limit is that of the queue: its partitions have equal shares, of one at least.
func testMaxMessagesShares(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(3), MaxMessages: pointer(int64(7))})
	for _, k := range []*desk{d, d.at(d.p.Queue, 1), d.at(d.p.Queue, 2)} {
		k.wantPushed(k.push(k.message(), k.message(), k.message()), store.CodeOK, store.CodeOK, store.CodeFull)
	}
	d.configure(store.Change{MaxMessages: pointer(int64(1))})
	d.take("c")
	d.wantPushed(d.push(d.message()), store.CodeFull)
	d.wantEqual("purged", d.purge(store.Ready, 10), 1)
	d.wantPushed(d.push(d.message()), store.CodeFull)
	d.configure(store.Change{MaxMessages: pointer(int64(6))})
	d.wantPushed(d.push(d.message(), d.message()), store.CodeOK, store.CodeFull)
}

func statistics() []testCase {
	return []testCase{
		{"SizesAndCounters", "", testStats},
		{"AllQueuesInOrder", "", testStatsAll},
		{"OldestReady", manualClock, func(d *desk) {
			d.send(delay(100))
			d.send()
			d.h.Advance(90 * time.Millisecond)
			d.wantEqual("oldest ready", d.stats().OldestReady, int64(90))
			d.wantSettled(store.Ack, d.take("c").Receipt, store.CodeOK)
			d.wantEqual("oldest ready", d.stats().OldestReady, int64(0))
		}},
	}
}

func testStats(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(2)})
	other := d.at(d.p.Queue, 1)
	for _, k := range []*desk{d, other} {
		k.dead()
		k.sendMany(4)
		k.sendMany(2, delay(hour))
		k.wantSettled(store.Ack, k.take("c").Receipt, store.CodeOK)
		k.wantSettled(store.Nack, k.take("c").Receipt, store.CodeOK)
		k.wantSettled(store.Release, k.take("c").Receipt, store.CodeOK)
		k.take("c")
	}
	got := d.stats()
	got.OldestReady = 0
	d.wantEqual("stats", got, store.Stats{
		Queue: d.p.Queue, Settings: store.Settings{Partitions: 2, MaxBody: store.DefaultMaxBody},
		Scheduled: 4, Ready: 4, Leased: 2, Dead: 2,
		Counters: store.Counters{Sent: 14, Delivered: 10, Acked: 2, Nacked: 2, Released: 2, Rejected: 2, DeadLettered: 2},
	})
}

func testStatsAll(d *desk) {
	want := []string{"B", "a", "a.b", "a1", "orders"}
	for _, q := range []string{"orders", "a1", "B", "a.b", "a"} {
		d.at(q, 0).configure(store.Change{Create: true})
	}
	all, err := d.s.Stats(d.t.Context(), "")
	d.noError("stats", err)
	var got []string
	for _, st := range all {
		got = append(got, st.Queue)
	}
	d.wantEqual("queues", got, want)
	names, err := d.s.Queues(d.t.Context())
	d.noError("queues", err)
	d.wantEqual("names", names, want)
}

func consumers() []testCase {
	return []testCase{
		{"ComeAndGo", "", testHeartbeat},
		{"TimeOut", "", testHeartbeatTimeout},
	}
}

func (d *desk) heartbeat(consumer string, ttl int64) []string {
	d.t.Helper()
	d.noError("heartbeat", d.s.Heartbeat(d.t.Context(), d.p.Queue, store.HeartbeatRequest{Consumer: consumer, TTL: ttl}))
	names, err := d.s.Consumers(d.t.Context(), d.p.Queue)
	d.noError("consumers", err)
	return names
}

func testHeartbeat(d *desk) {
	d.configure(store.Change{Create: true})
	d.wantEqual("consumers", d.heartbeat("b", hour), []string{"b"})
	d.wantEqual("consumers", d.heartbeat("a", hour), []string{"a", "b"})
	d.wantEqual("consumers", d.heartbeat("C", hour), []string{"C", "a", "b"})
	d.wantEqual("repeated", d.heartbeat("a", hour), []string{"C", "a", "b"})
	d.wantEqual("count", d.stats().Consumers, 3)
	refunds := d.at("refunds", 0)
	refunds.configure(store.Change{Create: true})
	d.wantEqual("of another queue", refunds.heartbeat("z", hour), []string{"z"})
	d.wantEqual("after leaving", d.heartbeat("b", 0), []string{"C", "a"})
	d.wantEqual("leaving repeated", d.heartbeat("b", 0), []string{"C", "a"})
	d.wantEqual("count", d.stats().Consumers, 2)
}

func testHeartbeatTimeout(d *desk) {
	d.configure(store.Change{Create: true})
	d.heartbeat("dying", 40)
	d.heartbeat("living", hour)
	d.pass(41 * time.Millisecond)
	names := d.heartbeat("c", hour)
	if slices.Contains(names, "dying") {
		d.t.Fatalf("consumers %v: one of them is silent for longer than it said", names)
	}
	d.wantEqual("consumers", names, []string{"c", "living"})
	d.wantEqual("count", d.stats().Consumers, 2)
}
