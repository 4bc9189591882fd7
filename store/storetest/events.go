package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// eventTimeout is how long a test waits for an event that must come.
const eventTimeout = time.Minute // only a store that hangs takes longer

// watcher collects the events of a queue.
type watcher struct {
	g    *rig
	ch   chan store.Event
	mark *rig  // on partition 1: its wakes show that earlier events have arrived
	next int64 // due time of the next marker
}

// watch starts watching a queue of two partitions; tests use the first.
func (g *rig) watch() *watcher {
	g.t.Helper()
	g.configure(store.Change{Create: true, Partitions: pointer(2)})
	w := &watcher{g: g, ch: make(chan store.Event, 1000), mark: g.at(g.p.Queue, 1)}
	ctx, stop := context.WithCancel(context.WithoutCancel(g.t.Context()))
	done := make(chan error, 1)
	go func() { done <- g.s.Watch(ctx, g.p.Queue, func(e store.Event) { w.ch <- e }) }()
	g.t.Cleanup(func() {
		stop()
		endOfWatch(g.t, done)
	})
	if first := w.event(); first.Kind != store.EventResync {
		g.t.Fatalf("the first event is %+v, want a resync", first)
	}
	w.next = w.mark.get(byID(w.mark.send(delay(24 * hour)))).At
	w.event()
	return w
}

func endOfWatch(t testing.TB, done <-chan error) {
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Watch returned %v, want nil", err)
		}
	case <-time.After(eventTimeout):
		t.Errorf("Watch has not returned %v after its context ended", eventTimeout)
	}
}

func (w *watcher) event() store.Event {
	w.g.t.Helper()
	select {
	case e := <-w.ch:
		return e
	case <-time.After(eventTimeout):
		w.g.t.Fatalf("no event within %v", eventTimeout)
		return store.Event{}
	}
}

// since returns the events of the first partition since the last call.
func (w *watcher) since() []store.Event {
	w.g.t.Helper()
	w.next--
	w.mark.send(due(w.next))
	var got []store.Event
	for {
		e := w.event()
		if e.Kind == store.EventWake && e.Partition == 1 {
			return got
		}
		if e.Kind != store.EventResync {
			got = append(got, e)
		}
	}
}

func (w *watcher) want(what string, want ...store.Event) {
	w.g.t.Helper()
	w.g.wantEqual("events after "+what, w.since(), want)
}

func events() []testCase {
	return []testCase{
		{"WakeWhenTheHeadMoves", "", testWakePush},
		{"WakeWhenMessagesComeBack", "", testWakeReturn},
		{"WakeOnResume", "", testWakeResume},
		{"StopOnCancelOfALeasedMessage", "", testStop},
		{"OtherQueuesAreQuiet", "", testEventsApart},
	}
}

var wake = store.Event{Kind: store.EventWake}

func testWakePush(g *rig) {
	w := g.watch()
	g.send(delay(2 * hour))
	w.want("the first message", wake)
	g.send(delay(3 * hour))
	w.want("a later message")
	g.sendMany(10, delay(hour))
	w.want("ten earlier messages", wake)
	g.push(g.message(delay(4*hour)), g.message(delay(hour/2)), g.message())
	w.want("a mixed batch", wake)
	g.claim("c", 1)
	w.want("a claim")
	r := g.pushRequest(g.message(delay(1)))
	g.pushAs(r)
	w.want("an earlier message", wake)
	g.pushAs(r)
	w.want("a repeated push")
}

func testWakeReturn(g *rig) {
	w := g.watch()
	far := g.send(delay(2 * hour))
	w.want("the first message", wake)
	id := g.send()
	w.want("an earlier message", wake)
	for _, v := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again} {
		g.wantSettled(v, g.takeOf(id), store.CodeOK)
		w.want("a "+string(v), wake)
		item := store.Settlement{Receipt: g.takeOf(id), Delay: 3 * hour}
		g.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item}})
		w.want("a " + string(v) + " to behind the head")
		g.reschedule(store.Move{Ref: byID(id), Delay: 4 * hour})
		w.want("a reschedule behind the head")
		g.reschedule(store.Move{Ref: byID(id)})
		w.want("a reschedule to the front", wake)
	}
	g.wantSettled(store.Reject, g.takeOf(id), store.CodeOK)
	w.want("a reject")
	g.redrive(id)
	w.want("a redrive", wake)
	g.wantSettled(store.Ack, g.takeOf(id), store.CodeOK)
	g.cancel(byID(far))
	w.want("an ack and a cancel")
	g.send(delay(5 * hour))
	w.want("the first message of an empty partition", wake)
}

func testWakeResume(g *rig) {
	w := g.watch()
	g.configure(store.Change{Paused: pointer(true)})
	w.want("a pause")
	g.configure(store.Change{Paused: pointer(false)})
	woken := map[int]bool{}
	for len(woken) < 2 {
		if e := w.event(); e.Kind == store.EventWake {
			woken[e.Partition] = true
		}
	}
	g.wantEqual("woken partitions", woken, map[int]bool{0: true, 1: true})
}

func testStop(g *rig) {
	w := g.watch()
	id := g.send(key("k"))
	waiting := g.send(delay(hour))
	g.takeOf(id)
	w.want("a push", wake)
	g.wantCodes("cancel", g.cancel(byID(waiting)), store.CodeOK)
	w.want("a cancel of a waiting message")
	g.wantCodes("cancel", g.cancel(byKey("k")), store.CodeRunning)
	w.want("a cancel of a running message", store.Event{Kind: store.EventStop, ID: id})
}

func testEventsApart(g *rig) {
	w := g.watch()
	g.at("orders2", 0).send()
	g.at("order", 0).send()
	w.want("pushes to other queues")
}
