package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// call is one method of the port with valid arguments, that must change nothing
// when the method refuses to work.
type call struct {
	name string
	do   func(ctx context.Context) error
}

// allCalls are all methods of the port but Close.
func (d *desk) allCalls() []call {
	return append(d.calls(), call{"queues", func(ctx context.Context) error { _, err := d.s.Queues(ctx); return err }})
}

// calls are the methods that are about one queue.
func (d *desk) calls() []call {
	id := d.message().ID
	return []call{
		{"push", func(ctx context.Context) error {
			_, err := d.s.Push(ctx, d.p, d.pushRequest(d.message()))
			return err
		}},
		{"claim", func(ctx context.Context) error {
			_, err := d.s.Claim(ctx, d.p, d.claimRequest("c", 1))
			return err
		}},
		{"settle", func(ctx context.Context) error {
			_, err := d.s.Settle(ctx, d.p, store.SettleRequest{Verdict: store.Ack, Items: []store.Settlement{{Receipt: store.Receipt{ID: id, Attempt: 1}}}})
			return err
		}},
		{"extend", func(ctx context.Context) error {
			_, err := d.s.Extend(ctx, d.p, store.ExtendRequest{Receipts: []store.Receipt{{ID: id, Attempt: 1}}, Lease: longLease})
			return err
		}},
		{"cancel", func(ctx context.Context) error {
			_, err := d.s.Cancel(ctx, d.p, store.CancelRequest{Caller: "m", Number: d.number("m"), Refs: []store.Ref{byID(id)}})
			return err
		}},
		{"reschedule", func(ctx context.Context) error {
			_, err := d.s.Reschedule(ctx, d.p, store.RescheduleRequest{Caller: "m", Number: d.number("m"), Moves: []store.Move{{Ref: byID(id)}}})
			return err
		}},
		{"get", func(ctx context.Context) error { _, err := d.s.Get(ctx, d.p, byID(id)); return err }},
		{"list", func(ctx context.Context) error {
			_, err := d.s.List(ctx, d.p, store.ListRequest{State: store.Ready, Limit: 1})
			return err
		}},
		{"stats", func(ctx context.Context) error { _, err := d.s.Stats(ctx, d.p.Queue); return err }},
		{"redrive", func(ctx context.Context) error {
			_, err := d.s.Redrive(ctx, d.p, store.RedriveRequest{Caller: "m", Number: d.number("m"), Items: redrives(id)})
			return err
		}},
		{"purge", func(ctx context.Context) error {
			_, err := d.s.Purge(ctx, d.p, store.PurgeRequest{Caller: "m", Number: d.number("m"), State: store.Ready, All: true, Limit: 1})
			return err
		}},
		{"configure", func(ctx context.Context) error {
			_, err := d.s.Configure(ctx, d.p.Queue, store.Change{Create: true})
			return err
		}},
		{"delete queue", func(ctx context.Context) error {
			return d.s.DeleteQueue(ctx, d.p.Queue, store.DeleteRequest{Force: true})
		}},
		{"heartbeat", func(ctx context.Context) error {
			return d.s.Heartbeat(ctx, d.p.Queue, store.HeartbeatRequest{Consumer: "c", TTL: 1000})
		}},
		{"leave", func(ctx context.Context) error {
			return d.s.Leave(ctx, d.p, store.LeaveRequest{Consumers: []string{"c"}})
		}},
		{"now", func(ctx context.Context) error { _, err := d.s.Now(ctx, d.p); return err }},
		{"consumers", func(ctx context.Context) error { _, err := d.s.Consumers(ctx, d.p.Queue); return err }},
		{"check", func(ctx context.Context) error {
			_, err := d.s.Check(ctx, d.p, store.CheckRequest{Limit: 1})
			return err
		}},
	}
}

func lifecycle() []testCase {
	return []testCase{
		{"EndedContext", "", testEndedContext},
		{"DeadlineInThePast", "", testPastDeadline},
		{"Close", "", testClose},
		{"CloseEndsWatch", "", testCloseEndsWatch},
		{"UnknownQueue", "", testUnknownQueue},
	}
}

func testEndedContext(d *desk) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.t.Context()))
	cancel()
	for _, c := range d.allCalls() {
		if err := c.do(ctx); !errors.Is(err, context.Canceled) {
			d.t.Errorf("%s: %v, want %v", c.name, err, context.Canceled)
		}
	}
	d.wantNoQueues()
}

func testPastDeadline(d *desk) {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(d.t.Context()), time.Unix(1, 0))
	defer cancel()
	for _, c := range d.allCalls() {
		if err := c.do(ctx); !errors.Is(err, context.DeadlineExceeded) {
			d.t.Errorf("%s: %v, want %v", c.name, err, context.DeadlineExceeded)
		}
	}
	d.wantNoQueues()
}

// wantNoQueues fails if anything was written to the fresh store.
func (d *desk) wantNoQueues() {
	d.t.Helper()
	all, err := d.s.Stats(d.t.Context(), "")
	d.noError("stats", err)
	d.wantEqual("queues", len(all), 0)
}

func testClose(d *desk) {
	d.send()
	for range 2 {
		d.noError("close", d.s.Close())
	}
	for _, c := range d.allCalls() {
		if err := c.do(d.t.Context()); !errors.Is(err, store.ErrClosed) {
			d.t.Errorf("%s: %v, want %v", c.name, err, store.ErrClosed)
		}
	}
	err := d.s.Watch(d.t.Context(), d.p.Queue, func(store.Event) {})
	d.wantError("watch", err, store.ErrClosed)
}

func testCloseEndsWatch(d *desk) {
	began, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		done <- d.s.Watch(context.WithoutCancel(d.t.Context()), d.p.Queue, func(store.Event) {
			select {
			case began <- struct{}{}:
			default:
			}
		})
	}()
	select {
	case <-began:
	case <-time.After(eventTimeout):
		d.t.Fatalf("no event within %v", eventTimeout)
	}
	d.noError("close", d.s.Close())
	select {
	case err := <-done:
		d.wantError("watch", err, store.ErrClosed)
	case <-time.After(eventTimeout):
		d.t.Fatalf("the watch goes on %v after the store was closed", eventTimeout)
	}
}

// The answers about a queue that nobody made, and that asking does not make it.
func testUnknownQueue(d *desk) {
	res := d.takeNothing("c")
	d.wantEqual("wait", res.Wait, store.MaxWait)
	id := d.message().ID
	for _, v := range verdicts {
		d.wantSettled(v, store.Receipt{ID: id, Attempt: 1}, store.CodeGone)
	}
	d.wantCodes("cancel", d.cancel(byID(id), byKey("k")), store.CodeNotFound, store.CodeNotFound)
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(id)}, store.Move{Ref: byKey("k")}), store.CodeNotFound, store.CodeNotFound)
	d.wantPushed(d.redrive(id), store.CodeNotFound)
	d.wantEqual("purged", d.purge(store.Ready, 10), 0)
	d.wantNoQueues()
}

// audits holds Check itself: it is silent about every sound state of a message.
func audits() []testCase {
	return []testCase{{"EveryStateIsSound", "", func(d *desk) {
		for i := range 8 {
			k := []func(*store.Message){key(string(rune('a' + i)))}[:i%2]
			d.dead(k...)
			d.wantSettled(store.Nack, d.takeOf(d.send(k...)), store.CodeOK)
			d.wantSettled(store.Release, d.take("c").Receipt, store.CodeOK)
			d.cancel(byID(d.take("c").Receipt.ID))
			d.send(append(k, delay(hour), ttl(2*hour), key(string(rune('A'+i))))...)
			Audit(d.t, d.s, d.p.Queue)
		}
	}}}
}
