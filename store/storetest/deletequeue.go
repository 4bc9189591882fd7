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
		{"AnotherQueueComesAfterIt", "", testDeleteRemade},
		{"OldReceiptsDoNothing", "", testDeleteOldReceipts},
		{"ConsumersLearnOfIt", "", testDeleteConsumers},
		{"StaysGone", reopening, testDeleteStaysGone},
		{"UnknownQueue", "", testDeleteUnknown},
		{"RacingPushesAreNotLost", "", testDeleteRacingPushes},
	}
}

func (d *desk) deleteQueue(force bool) error {
	return d.s.DeleteQueue(d.t.Context(), d.p.Queue, store.DeleteRequest{Force: force})
}

// wantNoQueue fails unless nothing is known of the desk's queue.
func (d *desk) wantNoQueue() {
	d.t.Helper()
	ctx := d.t.Context()
	_, err := d.s.Configure(ctx, d.p.Queue, store.Change{})
	d.wantError("settings", err, store.ErrNotFound)
	_, err = d.s.Configure(ctx, d.p.Queue, store.Change{Paused: pointer(true)})
	d.wantError("pause", err, store.ErrNotFound)
	_, err = d.s.Stats(ctx, d.p.Queue)
	d.wantError("stats", err, store.ErrNotFound)
	all, err := d.s.Stats(ctx, "")
	d.noError("stats", err)
	for _, st := range all {
		if st.Queue == d.p.Queue {
			d.t.Fatalf("the queue is listed: %+v", st)
		}
	}
	if s, ok := d.s.Known(d.p.Queue); ok {
		d.t.Fatalf("the settings are known: %+v", s)
	}
	names, err := d.s.Consumers(ctx, d.p.Queue)
	d.noError("consumers", err)
	d.wantEqual("consumers", names, []string(nil))
}

func testDeleteEmpty(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(3), MaxMessages: pointer(int64(9)), Paused: pointer(true)})
	other := d.at("refunds", 0)
	kept := other.send()
	d.configure(store.Change{Paused: pointer(false)})
	k := d.at(d.p.Queue, 2)
	k.send()
	k.wantSettled(store.Ack, k.take("c").Receipt, store.CodeOK)
	d.heartbeat("c", hour)
	d.noError("delete", d.deleteQueue(false))
	d.wantNoQueue()
	d.wantError("deleted again", d.deleteQueue(false), store.ErrNotFound)
	other.wantState(kept, store.Ready)
}

// makers make a message each, in every state that there is. Those that claim come first.
func makers() []struct {
	state store.State
	make  func(d *desk)
} {
	return []struct {
		state store.State
		make  func(d *desk)
	}{
		{store.Dead, func(d *desk) { d.dead() }},
		{store.Leased, func(d *desk) {
			d.send()
			d.take("c")
		}},
		{store.Ready, func(d *desk) { d.send() }},
		{store.Scheduled, func(d *desk) { d.send(delay(hour)) }},
	}
}

func testDeleteRefused(d *desk) {
	for _, m := range makers() {
		k := d.at("with-"+string(m.state), 1)
		k.configure(store.Change{Create: true, Partitions: pointer(2)})
		m.make(k)
		k.wantError(string(m.state), k.deleteQueue(false), store.ErrNotEmpty)
		k.wantEqual(string(m.state), len(k.list(m.state, 10)), 1)
	}
}

func testDeleteRefusedChangesNothing(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(2), MaxBody: pointer(99), Paused: pointer(true)})
	request := d.pushRequest(d.message(), d.message(key("k")))
	d.wantPushed(d.pushAs(request), store.CodeOK, store.CodeOK)
	d.configure(store.Change{Paused: pointer(false)})
	held := d.take("c")
	before := d.stats()
	for range 2 {
		d.wantError("delete", d.deleteQueue(false), store.ErrNotEmpty)
	}
	after := d.stats()
	before.OldestReady, after.OldestReady = 0, 0
	d.wantEqual("stats", after, before)
	d.wantPushed(d.pushAs(request), store.CodeOK, store.CodeOK)
	d.wantEqual("sent", d.stats().Counters.Sent, int64(2))
	d.wantSettled(store.Ack, held.Receipt, store.CodeOK)
	d.send()
	d.at(d.p.Queue, 1).send()
	d.take("c")
}

func testDeleteForced(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(2)})
	other := d.at(d.p.Queue, 1)
	for _, m := range makers() {
		m.make(d)
		m.make(other)
	}
	d.sendMany(2000, delay(hour))
	id := d.send(key("k"))
	d.noError("delete", d.deleteQueue(true))
	d.wantNoQueue()
	d.wantGone(byID(id), byKey("k"))
	d.wantCodes("cancel", d.cancel(byID(id), byKey("k")), store.CodeNotFound, store.CodeNotFound)
	d.wantEqual("scheduled", d.list(store.Scheduled, 10), []store.Record(nil))
	d.takeNothing("c")
}

func testDeleteRemade(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(3), MaxBody: pointer(5), MaxMessages: pointer(int64(3))})
	d.send(size(1), key("k"))
	d.noError("delete", d.deleteQueue(true))
	id := d.send(size(100), key("k"))
	d.wantEqual("settings", d.configure(store.Change{}), defaults)
	d.wantCounters(store.Counters{Sent: 1})
	if got := d.take("c"); got.Receipt.ID != id {
		d.t.Fatalf("got %v, want %v", got.Receipt.ID, id)
	}
	d.noError("delete", d.deleteQueue(true))
	d.configure(store.Change{Create: true, Partitions: pointer(5)})
	d.wantEqual("settings", d.configure(store.Change{}).Partitions, 5)
	k := d.at(d.p.Queue, 4)
	k.numbers = d.numbers
	k.send()
	k.take("c")
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1})
}

func testDeleteOldReceipts(d *desk) {
	d.send()
	d.send(key("k"))
	old := []store.Delivery{d.take("c"), d.take("c")}
	d.noError("delete", d.deleteQueue(true))
	for _, remade := range []bool{false, true} {
		if remade {
			d.send(key("k"))
			d.take("d")
		}
		for _, v := range verdicts {
			for _, o := range old {
				d.wantSettled(v, o.Receipt, store.CodeGone)
			}
		}
	}
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1})
}

func testDeleteConsumers(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(2)})
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	woken, watching := make(chan int, 100), make(chan struct{}, 100)
	var watch sync.WaitGroup
	watch.Go(func() {
		_ = d.s.Watch(ctx, d.p.Queue, func(e store.Event) {
			switch e.Kind {
			case store.EventResync:
				watching <- struct{}{}
			case store.EventWake:
				woken <- e.Partition
			case store.EventStop:
			}
		})
	})
	<-watching
	claim := d.claimRequest("c", 1)
	claim.Of = 2
	d.claimAs(claim)
	d.noError("delete", d.deleteQueue(false))
	for seen := map[int]bool{}; len(seen) < 2; {
		seen[<-woken] = true
	}
	for _, index := range []int{0, 1} {
		claim.Number = d.number("c")
		_, err := d.s.Claim(ctx, store.Partition{Queue: d.p.Queue, Index: index}, claim)
		d.wantError("claim", err, store.ErrNotFound)
	}
	d.wantNoQueue()
	cancel()
	watch.Wait()
}

func testDeleteStaysGone(d *desk) {
	d.configure(store.Change{Create: true, Partitions: pointer(2), MaxBody: pointer(99)})
	d.sendMany(20)
	other := d.at("refunds", 0)
	kept := other.send()
	d.noError("delete", d.deleteQueue(true))
	d.s = d.h.Reopen(d.t)
	d.wantNoQueue()
	d.send()
	d.s = d.h.Reopen(d.t)
	d.wantEqual("settings", d.configure(store.Change{}), defaults)
	d.wantEqual("ready", d.stats().Ready, int64(1))
	other.s = d.s
	other.wantState(kept, store.Ready)
}

func testDeleteUnknown(d *desk) {
	for _, force := range []bool{false, true} {
		d.wantError("delete", d.deleteQueue(force), store.ErrNotFound)
		d.wantNoQueue()
		d.wantError("of a bad name", d.s.DeleteQueue(d.t.Context(), "a b", store.DeleteRequest{Force: force}), store.ErrInvalid)
	}
}

// Deletions that are not forced, of a queue that is sent to and consumed at the same time,
// remove no message: each that was stored is acked once.
func testDeleteRacingPushes(d *desk) {
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
				results, err := d.s.Push(d.t.Context(), d.p, r)
				if err != nil || results[0].Code != store.CodeOK {
					d.t.Errorf("push: %v, %v", results, err)
					return
				}
				stored.Add(1)
			}
		})
	}
	deleting.Go(func() {
		for {
			switch err := d.deleteQueue(false); {
			case err == nil:
				deleted.Add(1)
			case !errors.Is(err, store.ErrNotEmpty) && !errors.Is(err, store.ErrNotFound):
				d.t.Errorf("delete: %v", err)
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
			n, err := claimAndAck(d, number)
			if err != nil {
				d.t.Errorf("consume: %v", err)
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
	d.t.Logf("%d deletions", deleted.Load())
	d.wantEqual("acked", acked.Load(), stored.Load())
}

// claimAndAck handles what is due, and returns how much that was.
func claimAndAck(d *desk, number uint64) (acked int, err error) {
	ctx := d.t.Context()
	result, err := d.s.Claim(ctx, d.p, store.ClaimRequest{Consumer: "c", Number: number, Max: 3, Lease: longLease})
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
	codes, err := Settle(ctx, d.s, d.p, request)
	for _, c := range codes {
		if c == store.CodeOK {
			acked++
		}
	}
	return acked, err
}
