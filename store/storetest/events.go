package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// eventTimeout is how long a test waits for an event that must come.
const eventTimeout = 10 * time.Second

// watcher collects the events of a queue.
type watcher struct {
	d    *desk
	ch   chan store.Event
	mark *desk // on partition 1: its wakes show that earlier events have arrived
	next int64 // due time of the next marker
}

// watch begins to watch a queue of two partitions; the tests use the first.
func (d *desk) watch() *watcher {
	d.t.Helper()
	d.configure(store.Change{Create: true, Partitions: pointer(2)})
	w := &watcher{d: d, ch: make(chan store.Event, 1000), mark: d.at(d.p.Queue, 1)}
	ctx, stop := context.WithCancel(context.WithoutCancel(d.t.Context()))
	done := make(chan error, 1)
	go func() { done <- d.s.Watch(ctx, d.p.Queue, func(e store.Event) { w.ch <- e }) }()
	d.t.Cleanup(func() {
		stop()
		endOfWatch(d.t, done)
	})
	if first := w.event(); first.Kind != store.EventResync {
		d.t.Fatalf("the watch begins with %+v, want a resync", first)
	}
	w.next = w.mark.get(byID(w.mark.send(delay(24 * hour)))).At
	w.event()
	return w
}

func endOfWatch(t testing.TB, done <-chan error) {
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("watch ended with %v, want nil", err)
		}
	case <-time.After(eventTimeout):
		t.Errorf("watch goes on %v after its context ended", eventTimeout)
	}
}

func (w *watcher) event() store.Event {
	w.d.t.Helper()
	select {
	case e := <-w.ch:
		return e
	case <-time.After(eventTimeout):
		w.d.t.Fatalf("no event within %v", eventTimeout)
		return store.Event{}
	}
}

// since returns the events of the first partition up to now.
func (w *watcher) since() []store.Event {
	w.d.t.Helper()
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
	w.d.t.Helper()
	w.d.wantEqual("events after "+what, w.since(), want)
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

func testWakePush(d *desk) {
	w := d.watch()
	d.send(delay(2 * hour))
	w.want("the first message", wake)
	d.send(delay(3 * hour))
	w.want("a later message")
	d.sendMany(10, delay(hour))
	w.want("ten earlier messages", wake)
	d.push(d.message(delay(4*hour)), d.message(delay(hour/2)), d.message())
	w.want("a mixed batch", wake)
	d.claim("c", 1)
	w.want("a claim")
	r := d.pushRequest(d.message(delay(1)))
	d.pushAs(r)
	w.want("an earlier message", wake)
	d.pushAs(r)
	w.want("a repeated push")
}

func testWakeReturn(d *desk) {
	w := d.watch()
	far := d.send(delay(2 * hour))
	w.want("the first message", wake)
	id := d.send()
	w.want("an earlier message", wake)
	for _, v := range []store.Verdict{store.Nack, store.Release, store.Snooze, store.Again} {
		d.wantSettled(v, d.takeOf(id), store.CodeOK)
		w.want("a "+string(v), wake)
		item := store.Settlement{Receipt: d.takeOf(id), Delay: 3 * hour}
		d.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item}})
		w.want("a " + string(v) + " to behind the head")
		d.reschedule(store.Move{Ref: byID(id), Delay: 4 * hour})
		w.want("a reschedule behind the head")
		d.reschedule(store.Move{Ref: byID(id)})
		w.want("a reschedule to the front", wake)
	}
	d.wantSettled(store.Reject, d.takeOf(id), store.CodeOK)
	w.want("a reject")
	d.redrive(id)
	w.want("a redrive", wake)
	d.wantSettled(store.Ack, d.takeOf(id), store.CodeOK)
	d.cancel(byID(far))
	w.want("an ack and a cancel")
	d.send(delay(5 * hour))
	w.want("the first message of an empty partition", wake)
}

func testWakeResume(d *desk) {
	w := d.watch()
	d.configure(store.Change{Paused: pointer(true)})
	w.want("a pause")
	d.configure(store.Change{Paused: pointer(false)})
	woken := map[int]bool{}
	for len(woken) < 2 {
		if e := w.event(); e.Kind == store.EventWake {
			woken[e.Partition] = true
		}
	}
	d.wantEqual("woken partitions", woken, map[int]bool{0: true, 1: true})
}

func testStop(d *desk) {
	w := d.watch()
	id := d.send(key("k"))
	waiting := d.send(delay(hour))
	d.takeOf(id)
	w.want("a push", wake)
	d.wantCodes("cancel", d.cancel(byID(waiting)), store.CodeOK)
	w.want("a cancel of a waiting message")
	d.wantCodes("cancel", d.cancel(byKey("k")), store.CodeRunning)
	w.want("a cancel of a running message", store.Event{Kind: store.EventStop, ID: id})
}

func testEventsApart(d *desk) {
	w := d.watch()
	d.at("orders2", 0).send()
	d.at("order", 0).send()
	w.want("pushes to other queues")
}
