package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

func deletion() []testCase {
	return []testCase{
		{"EmptyQueueIsGone", "", testDeleteEmpty},
		{"RefusedWithMessages", "", testDeleteRefused},
		{"RefusedChangesNothing", "", testDeleteRefusedChangesNothing},
		{"ForceRemovesMessages", "", testDeleteForced},
		{"QueueIsMadeAgain", "", testDeleteRemade},
		{"OldReceiptsDoNothing", "", testDeleteOldReceipts},
		{"ClaimReturnsNotFound", "", testDeleteConsumers},
		{"StaysGone", reopening, testDeleteStaysGone},
		{"UnknownQueue", "", testDeleteUnknown},
		{"RacingPushesAreNotLost", "", testDeleteRacingPushes},
	}
}

func (g *rig) deleteQueue(force bool) error {
	return g.s.DeleteQueue(g.t.Context(), g.p.Queue, store.DeleteRequest{Force: force})
}

// wantNoQueue fails if the store knows anything of the rig's queue.
func (g *rig) wantNoQueue() {
	g.t.Helper()
	ctx := g.t.Context()
	_, err := g.s.Configure(ctx, g.p.Queue, store.Change{})
	g.wantError("settings", err, store.ErrNotFound)
	_, err = g.s.Configure(ctx, g.p.Queue, store.Change{Paused: pointer(true)})
	g.wantError("pause", err, store.ErrNotFound)
	_, err = g.s.Stats(ctx, g.p.Queue)
	g.wantError("stats", err, store.ErrNotFound)
	all, err := g.s.Stats(ctx, "")
	g.noError("stats", err)
	for _, st := range all {
		if st.Queue == g.p.Queue {
			g.t.Fatalf("the queue is listed: %+v", st)
		}
	}
	if s, ok := g.s.Known(g.p.Queue); ok {
		g.t.Fatalf("the settings are known: %+v", s)
	}
}

func testDeleteEmpty(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(3), MaxMessages: pointer(int64(9)), Paused: pointer(true)})
	other := g.at("refunds", 0)
	kept := other.send()
	g.configure(store.Change{Paused: pointer(false)})
	k := g.at(g.p.Queue, 2)
	k.send()
	k.wantSettled(store.Ack, k.take("c").Receipt, store.CodeOK)
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "c")})
	g.noError("delete", g.deleteQueue(false))
	g.wantNoQueue()
	g.wantError("deleted again", g.deleteQueue(false), store.ErrNotFound)
	other.wantState(kept, store.Ready)
}

// makers make one message in each state. Those that claim are first.
func makers() []struct {
	state store.State
	make  func(g *rig)
} {
	return []struct {
		state store.State
		make  func(g *rig)
	}{
		{store.Dead, func(g *rig) { g.dead() }},
		{store.Leased, func(g *rig) {
			g.send()
			g.take("c")
		}},
		{store.Ready, func(g *rig) { g.send() }},
		{store.Scheduled, func(g *rig) { g.send(delay(hour)) }},
	}
}

func testDeleteRefused(g *rig) {
	for _, m := range makers() {
		k := g.at("with-"+string(m.state), 1)
		k.configure(store.Change{Create: true, Partitions: pointer(2)})
		m.make(k)
		k.wantError(string(m.state), k.deleteQueue(false), store.ErrNotEmpty)
		k.wantEqual(string(m.state), len(k.list(m.state, 10)), 1)
	}
}

func testDeleteRefusedChangesNothing(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2), MaxBody: pointer(99), Paused: pointer(true)})
	request := g.pushRequest(g.message(), g.message(key("k")))
	g.wantPushed(g.pushAs(request), store.CodeOK, store.CodeOK)
	g.configure(store.Change{Paused: pointer(false)})
	held := g.take("c")
	before := g.stats()
	for range 2 {
		g.wantError("delete", g.deleteQueue(false), store.ErrNotEmpty)
	}
	after := g.stats()
	before.OldestReady, after.OldestReady = 0, 0
	g.wantEqual("stats", after, before)
	g.wantPushed(g.pushAs(request), store.CodeOK, store.CodeOK)
	g.wantEqual("sent", g.stats().Counters.Sent, int64(2))
	g.wantSettled(store.Ack, held.Receipt, store.CodeOK)
	g.send()
	g.at(g.p.Queue, 1).send()
	g.take("c")
}

func testDeleteForced(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2)})
	other := g.at(g.p.Queue, 1)
	for _, m := range makers() {
		m.make(g)
		m.make(other)
	}
	g.sendMany(2000, delay(hour))
	id := g.send(key("k"))
	g.noError("delete", g.deleteQueue(true))
	g.wantNoQueue()
	g.wantGone(byID(id), byKey("k"))
	g.wantCodes("cancel", g.cancel(byID(id), byKey("k")), store.CodeNotFound, store.CodeNotFound)
	g.wantEqual("scheduled", g.list(store.Scheduled, 10), []store.Record(nil))
	g.takeNothing("c")
}

func testDeleteRemade(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(3), MaxBody: pointer(5), MaxMessages: pointer(int64(3))})
	g.send(size(1), key("k"))
	g.noError("delete", g.deleteQueue(true))
	id := g.send(size(100), key("k"))
	g.wantEqual("settings", g.configure(store.Change{}), defaults)
	g.wantCounters(store.Counters{Sent: 1})
	if got := g.take("c"); got.Receipt.ID != id {
		g.t.Fatalf("got %v, want %v", got.Receipt.ID, id)
	}
	g.noError("delete", g.deleteQueue(true))
	g.configure(store.Change{Create: true, Partitions: pointer(5)})
	g.wantEqual("settings", g.configure(store.Change{}).Partitions, 5)
	k := g.at(g.p.Queue, 4)
	k.numbers = g.numbers
	k.send()
	k.take("c")
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1})
}

func testDeleteOldReceipts(g *rig) {
	g.send()
	g.send(key("k"))
	old := []store.Delivery{g.take("c"), g.take("c")}
	g.noError("delete", g.deleteQueue(true))
	for _, remade := range []bool{false, true} {
		if remade {
			g.send(key("k"))
			g.take("d")
		}
		for _, v := range verdicts {
			for _, o := range old {
				g.wantSettled(v, o.Receipt, store.CodeGone)
			}
		}
	}
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1})
}

func testDeleteConsumers(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2)})
	ctx, cancel := context.WithCancel(g.t.Context())
	defer cancel()
	reset, watching := make(chan int, 100), make(chan struct{}, 100)
	var watch sync.WaitGroup
	watch.Go(func() {
		_ = g.s.Watch(ctx, g.p.Queue, func(e store.Event) {
			switch e.Kind {
			case store.EventResync:
				watching <- struct{}{}
			case store.EventReset:
				reset <- e.Partition
			default:
			}
		})
	})
	<-watching
	claim := g.claimRequest("c", 1)
	claim.Of = 2
	g.claimAs(claim)
	g.noError("delete", g.deleteQueue(false))
	for seen := map[int]bool{}; len(seen) < 2; {
		seen[<-reset] = true
	}
	for _, index := range []int{0, 1} {
		claim.Number = g.number("c")
		_, err := g.s.Claim(ctx, store.Partition{Queue: g.p.Queue, Index: index}, claim)
		g.wantError("claim", err, store.ErrNotFound)
	}
	g.wantNoQueue()
	cancel()
	watch.Wait()
}

func testDeleteStaysGone(g *rig) {
	g.configure(store.Change{Create: true, Partitions: pointer(2), MaxBody: pointer(99)})
	g.sendMany(20)
	other := g.at("refunds", 0)
	kept := other.send()
	g.noError("delete", g.deleteQueue(true))
	g.s = g.h.Reopen(g.t)
	g.wantNoQueue()
	g.send()
	g.s = g.h.Reopen(g.t)
	g.wantEqual("settings", g.configure(store.Change{}), defaults)
	g.wantEqual("ready", g.stats().Ready, int64(1))
	other.s = g.s
	other.wantState(kept, store.Ready)
}

func testDeleteUnknown(g *rig) {
	for _, force := range []bool{false, true} {
		g.wantError("delete", g.deleteQueue(force), store.ErrNotFound)
		g.wantNoQueue()
		g.wantError("of a bad name", g.s.DeleteQueue(g.t.Context(), "a b", store.DeleteRequest{Force: force}), store.ErrInvalid)
	}
}

// Deletions that are not forced, of a queue that is sent to and consumed at the same time,
// remove no message: each that was stored is acked once.
func testDeleteRacingPushes(g *rig) {
	const pushers, each, deletions = 4, 50, 3
	var stored, acked, deleted atomic.Int64
	ended, inFlight := make(chan struct{}), make(chan struct{}, 3) // few messages at a time, so that the queue is often empty
	var pushing, deleting, consuming sync.WaitGroup
	for who := range pushers {
		pushing.Go(func() {
			for n := 0; n < each || deleted.Load() < deletions; n++ {
				r := store.PushRequest{
					Producer: fmt.Sprintf("p%d", who), Number: uint64(n + 1),
					Messages: []store.Message{{ID: route.NewID(0), Body: []byte("body"), MaxAttempts: 5, New: true}},
				}
				inFlight <- struct{}{}
				results, err := g.s.Push(g.t.Context(), g.p, r)
				if err != nil || results[0].Code != store.CodeOK {
					g.t.Errorf("push: %v, %v", results, err)
					return
				}
				stored.Add(1)
			}
		})
	}
	deleting.Go(func() {
		for {
			switch err := g.deleteQueue(false); {
			case err == nil:
				deleted.Add(1)
			case !errors.Is(err, store.ErrNotEmpty) && !errors.Is(err, store.ErrNotFound):
				g.t.Errorf("delete: %v", err)
				return
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	consuming.Go(func() {
		for number, last := uint64(1), false; ; number++ {
			select {
			case <-ended:
				last = true
			default:
			}
			n, err := claimAndAck(g, number)
			if err != nil {
				g.t.Errorf("consume: %v", err)
				return
			}
			for range n {
				<-inFlight
			}
			if acked.Add(int64(n)); last && n == 0 {
				return
			}
		}
	})
	pushing.Wait()
	close(ended)
	deleting.Wait()
	consuming.Wait()
	g.t.Logf("%d deletions", deleted.Load())
	g.wantEqual("acked", acked.Load(), stored.Load())
}

// claimAndAck claims and acks all messages that are due, and returns their number.
func claimAndAck(g *rig, number uint64) (acked int, err error) {
	ctx := g.t.Context()
	result, err := g.s.Claim(ctx, g.p, store.ClaimRequest{Consumer: "c", Number: number, Max: 3, Lease: longLease})
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil || len(result.Deliveries) == 0 {
		return 0, err
	}
	request := store.SettleRequest{Verdict: store.Ack}
	for i := range result.Deliveries {
		request.Items = append(request.Items, store.Settlement{Receipt: result.Deliveries[i].Receipt})
	}
	codes, err := Settle(ctx, g.s, g.p, request)
	for _, c := range codes {
		if c == store.CodeOK {
			acked++
		}
	}
	return acked, err
}
