package micro

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/rawredis"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/redisstore"
)

// BenchmarkServerCost sends messages and takes them out again, a number of them in each call
// and one call at a time, and reports what one costs the server in CPU time: with dueq's
// scripts alone, with the floor of `dueq bench`, and with dueq's scripts on a queue with a history,
// which grows or is full. They alternate, so that other work of the machine affects all.
func BenchmarkServerCost(b *testing.B) {
	for _, c := range []struct{ batch, calls int }{{1, 200}, {100, 20}} {
		b.Run(fmt.Sprint("batch=", c.batch), func(b *testing.B) { serverCost(b, c.batch, c.calls) })
	}
}

// scripted is one of them: a server of its own, and its functions to send and to take messages.
type scripted struct {
	name        string
	server      *rawredis.Server
	send, drain func()
	sending     time.Duration // CPU time of the server
	draining    time.Duration
}

func serverCost(b *testing.B, batch, calls int) {
	b.Helper()
	const rounds = 10
	sides := []*scripted{
		newScripts(b, "dueq", batch, store.Change{Create: true}), newFloor(b, batch),
		newScripts(b, "history", batch, history(store.MaxHistory)), newScripts(b, "full-history", batch, history(1)),
	}
	n := 0
	for b.Loop() {
		for round := range rounds {
			for _, s := range measure.Rotate(round, sides) {
				s.sending += s.cost(b, calls, s.send)
			}
		}
		for round := range rounds {
			for _, s := range measure.Rotate(round, sides) {
				s.draining += s.cost(b, calls, s.drain)
			}
		}
		n += rounds * calls * batch
	}
	for _, s := range sides {
		b.ReportMetric(micros(s.sending, n), s.name+"-send-us/msg")
		b.ReportMetric(micros(s.draining, n), s.name+"-drain-us/msg")
		b.ReportMetric(micros(s.sending+s.draining, n), s.name+"-us/msg")
	}
	b.ReportMetric(float64(sides[0].sending+sides[0].draining)/float64(sides[1].sending+sides[1].draining), "ratio")
}

// history returns settings of a queue that keeps up to most done messages.
func history(most int64) store.Change {
	return store.Change{Create: true, Partitions: new(1), History: new(time.Hour.Milliseconds()), MaxHistory: &most}
}

// cost returns the CPU time that the server uses for some calls.
func (s *scripted) cost(b *testing.B, calls int, do func()) time.Duration {
	b.Helper()
	before, err := s.server.CPU(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	for range calls {
		do()
	}
	after, err := s.server.CPU(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return after - before
}

// newScripts calls push, claim and ack through the store, without the library above it.
func newScripts(b *testing.B, name string, batch int, settings store.Change) *scripted {
	b.Helper()
	ctx, rdb := context.Background(), redistest.Start(b).Client(b)
	s, err := redisstore.New(rdb, redisstore.Config{Prefix: "dueq", Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if _, err := s.Configure(ctx, "q", settings); err != nil {
		b.Fatal(err)
	}
	p, number := store.Partition{Queue: "q"}, uint64(0)
	messages, items := make([]store.Message, batch), make([]store.Settlement, batch)
	send := func() {
		number++
		for i := range messages {
			messages[i] = store.Message{ID: route.NewID(0), Body: make([]byte, bodySize), MaxAttempts: 20, New: true}
		}
		results, err := s.Push(ctx, p, store.PushRequest{Producer: "p", Number: number, Messages: messages})
		if err != nil || results[0].Code != store.CodeOK {
			b.Fatal(results, err)
		}
	}
	drain := func() {
		number++
		got, err := s.Claim(ctx, p, store.ClaimRequest{Consumer: "c", Number: number, Max: batch, Lease: 60_000})
		if err != nil || len(got.Deliveries) != batch {
			b.Fatal(len(got.Deliveries), err)
		}
		for i := range got.Deliveries {
			items[i].Receipt = got.Deliveries[i].Receipt
		}
		if _, err := s.Settle(ctx, p, store.SettleRequest{Verdict: store.Ack, Items: items}); err != nil {
			b.Fatal(err)
		}
	}
	send() // loads the scripts
	drain()
	return &scripted{name: name, server: rawredis.New(rdb, "dueq"), send: send, drain: drain}
}

func newFloor(b *testing.B, batch int) *scripted {
	b.Helper()
	ctx, server := context.Background(), rawredis.New(redistest.Start(b).Client(b), "dueq")
	floor, body := server.Floor("cost"), make([]byte, bodySize)
	send := func() {
		if err := floor.Push(ctx, time.Now().UnixMilli(), batch, body); err != nil {
			b.Fatal(err)
		}
	}
	drain := func() {
		ids, err := floor.Claim(ctx, batch)
		if err == nil {
			err = floor.Ack(ctx, ids)
		}
		if err != nil || len(ids) != batch {
			b.Fatal(len(ids), err)
		}
	}
	send()
	drain()
	return &scripted{name: "floor", server: server, send: send, drain: drain}
}
