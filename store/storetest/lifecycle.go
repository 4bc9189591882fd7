package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// call calls one method of the port with valid arguments.
type call struct {
	name string
	do   func(ctx context.Context) error
}

// allCalls are all methods of the port but Close.
func (g *rig) allCalls() []call {
	return append(g.calls(), call{"queues", func(ctx context.Context) error { _, err := g.s.Queues(ctx); return err }})
}

// calls are the methods that are about one queue.
func (g *rig) calls() []call {
	id := g.message().ID
	return []call{
		{"push", func(ctx context.Context) error {
			_, err := g.s.Push(ctx, g.p, g.pushRequest(g.message()))
			return err
		}},
		{"claim", func(ctx context.Context) error {
			_, err := g.s.Claim(ctx, g.p, g.claimRequest("c", 1))
			return err
		}},
		{"settle", func(ctx context.Context) error {
			_, err := g.s.Settle(ctx, g.p, store.SettleRequest{Verdict: store.Ack, Items: []store.Settlement{{Receipt: store.Receipt{ID: id, Attempt: 1}}}})
			return err
		}},
		{"extend", func(ctx context.Context) error {
			_, err := g.s.Extend(ctx, g.p, store.ExtendRequest{Receipts: []store.Receipt{{ID: id, Attempt: 1}}, Lease: longLease})
			return err
		}},
		{"cancel", func(ctx context.Context) error {
			_, err := g.s.Cancel(ctx, g.p, store.CancelRequest{Caller: "m", Number: g.number("m"), Refs: []store.Ref{byID(id)}})
			return err
		}},
		{"reschedule", func(ctx context.Context) error {
			_, err := g.s.Reschedule(ctx, g.p, store.RescheduleRequest{Caller: "m", Number: g.number("m"), Moves: []store.Move{{Ref: byID(id)}}})
			return err
		}},
		{"get", func(ctx context.Context) error { _, err := g.s.Get(ctx, g.p, byID(id)); return err }},
		{"list", func(ctx context.Context) error {
			_, err := g.s.List(ctx, g.p, store.ListRequest{State: store.Ready, Limit: 1})
			return err
		}},
		{"stats", func(ctx context.Context) error { _, err := g.s.Stats(ctx, g.p.Queue); return err }},
		{"forecast", func(ctx context.Context) error {
			_, err := g.s.Forecast(ctx, g.p, store.ForecastRequest{Step: 1, Spans: 1})
			return err
		}},
		{"redrive", func(ctx context.Context) error {
			_, err := g.s.Redrive(ctx, g.p, store.RedriveRequest{Caller: "m", Number: g.number("m"), Items: redrives(id)})
			return err
		}},
		{"purge", func(ctx context.Context) error {
			_, err := g.s.Purge(ctx, g.p, store.PurgeRequest{Caller: "m", Number: g.number("m"), State: store.Ready, All: true, Limit: 1})
			return err
		}},
		{"restore", func(ctx context.Context) error {
			r := store.Record{ID: id, State: store.Waiting, MaxAttempts: 1}
			_, err := g.s.Restore(ctx, g.p, store.RestoreRequest{Messages: []store.Record{r}})
			if errors.Is(err, store.ErrNotPaused) {
				return nil // which it has found out
			}
			return err
		}},
		{"configure", func(ctx context.Context) error {
			_, err := g.s.Configure(ctx, g.p.Queue, store.Change{Create: true})
			return err
		}},
		{"delete queue", func(ctx context.Context) error {
			return g.s.DeleteQueue(ctx, g.p.Queue, store.DeleteRequest{Force: true})
		}},
		{"beat", func(ctx context.Context) error {
			_, err := g.s.Beat(ctx, store.BeatRequest{Client: "x", TTL: 1000, Join: joins(g.p.Queue, "c")})
			return err
		}},
		{"duties", func(ctx context.Context) error {
			_, err := g.s.Duties(ctx, []store.DutyRequest{{Queue: g.p.Queue, Consumer: "c", Partitions: 1}})
			return err
		}},
		{"notify", func(ctx context.Context) error {
			return g.s.Notify(ctx, g.p.Queue, store.Event{Kind: store.EventLeft, Partition: g.p.Index})
		}},
		{"leave", func(ctx context.Context) error {
			return g.s.Leave(ctx, g.p, store.LeaveRequest{Consumers: []string{"c"}})
		}},
		{"now", func(ctx context.Context) error { _, err := g.s.Now(ctx, g.p); return err }},
		{"members", func(ctx context.Context) error { _, err := g.s.Members(ctx, g.p.Queue); return err }},
		{"check", func(ctx context.Context) error {
			_, err := g.s.Check(ctx, g.p, store.CheckRequest{Limit: 1})
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

func testEndedContext(g *rig) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(g.t.Context()))
	cancel()
	for _, c := range g.allCalls() {
		if err := c.do(ctx); !errors.Is(err, context.Canceled) {
			g.t.Errorf("%s: %v, want %v", c.name, err, context.Canceled)
		}
	}
	g.wantNoQueues()
}

func testPastDeadline(g *rig) {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(g.t.Context()), time.Unix(1, 0))
	defer cancel()
	for _, c := range g.allCalls() {
		if err := c.do(ctx); !errors.Is(err, context.DeadlineExceeded) {
			g.t.Errorf("%s: %v, want %v", c.name, err, context.DeadlineExceeded)
		}
	}
	g.wantNoQueues()
}

// wantNoQueues fails if anything was written to the fresh store.
func (g *rig) wantNoQueues() {
	g.t.Helper()
	all, err := g.s.Stats(g.t.Context(), "")
	g.noError("stats", err)
	g.wantEqual("queues", len(all), 0)
}

func testClose(g *rig) {
	g.send()
	for range 2 {
		g.noError("close", g.s.Close())
	}
	for _, c := range g.allCalls() {
		if err := c.do(g.t.Context()); !errors.Is(err, store.ErrClosed) {
			g.t.Errorf("%s: %v, want %v", c.name, err, store.ErrClosed)
		}
	}
	err := g.s.Watch(g.t.Context(), g.p.Queue, func(store.Event) {})
	g.wantError("watch", err, store.ErrClosed)
}

func testCloseEndsWatch(g *rig) {
	began, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		done <- g.s.Watch(context.WithoutCancel(g.t.Context()), g.p.Queue, func(store.Event) {
			select {
			case began <- struct{}{}:
			default:
			}
		})
	}()
	select {
	case <-began:
	case <-time.After(eventTimeout):
		g.t.Fatalf("no event within %v", eventTimeout)
	}
	g.noError("close", g.s.Close())
	select {
	case err := <-done:
		g.wantError("watch", err, store.ErrClosed)
	case <-time.After(eventTimeout):
		g.t.Fatalf("Watch has not returned %v after the store was closed", eventTimeout)
	}
}

// Each method answers for a queue that does not exist, and does not make it.
func testUnknownQueue(g *rig) {
	res := g.takeNothing("c")
	g.wantEqual("wait", res.Wait, store.MaxWait)
	id := g.message().ID
	for _, v := range verdicts {
		g.wantSettled(v, store.Receipt{ID: id, Attempt: 1}, store.CodeGone)
	}
	g.wantCodes("cancel", g.cancel(byID(id), byKey("k")), store.CodeNotFound, store.CodeNotFound)
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(id)}, store.Move{Ref: byKey("k")}), store.CodeNotFound, store.CodeNotFound)
	g.wantPushed(g.redrive(id), store.CodeNotFound)
	g.wantEqual("purged", g.purge(store.Ready, 10), 0)
	g.wantNoQueues()
}

// audits are the tests of Check: it reports no problem for a correct message in any state.
func audits() []testCase {
	return []testCase{{"EveryStateIsSound", "", func(g *rig) {
		for i := range 8 {
			k := []func(*store.Message){key(string(rune('a' + i)))}[:i%2]
			g.dead(k...)
			g.wantSettled(store.Nack, g.takeOf(g.send(k...)), store.CodeOK)
			g.wantSettled(store.Release, g.take("c").Receipt, store.CodeOK)
			g.cancel(byID(g.take("c").Receipt.ID))
			g.send(append(k, delay(hour), ttl(2*hour), key(string(rune('A'+i))))...)
			Audit(g.t, g.s, g.p.Queue)
		}
	}}}
}
