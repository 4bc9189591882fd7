package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

// rig is a store on a server, with a partition for the test.
type rig struct {
	*Store
	t      testing.TB
	rdb    redis.UniversalClient
	p      store.Partition
	number uint64
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newRig(tb testing.TB, rdb redis.UniversalClient) *rig {
	tb.Helper()
	return newRigWith(tb, rdb, Config{Prefix: redistest.Prefix(), Logger: quiet()})
}

func newRigWith(tb testing.TB, rdb redis.UniversalClient, c Config) *rig {
	tb.Helper()
	s, err := New(rdb, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return &rig{Store: s, t: tb, rdb: rdb, p: store.Partition{Queue: "q"}}
}

func sharedRig(tb testing.TB) *rig {
	tb.Helper()
	return newRig(tb, redistest.Shared(tb).Client(tb))
}

func (r *rig) ctx() context.Context { return r.t.Context() }

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) want(what string, got, want any) {
	r.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func (r *rig) key(kind string) string {
	names := partitionKeyNames()
	return r.partitionKeys(r.p, allKeys)[slices.Index(names[:], kind)]
}

// messages makes n of them, due at once.
func (r *rig) messages(n, size int) []store.Message {
	out := make([]store.Message, n)
	for i := range out {
		out[i] = store.Message{ID: route.NewID(r.p.Index), Body: make([]byte, size), MaxAttempts: 20, New: true}
	}
	return out
}

func (r *rig) next() uint64 {
	r.number++
	return r.number
}

func (r *rig) request(ms []store.Message) store.PushRequest {
	return store.PushRequest{Producer: "p", Number: r.next(), Messages: ms}
}

func (r *rig) push(ms ...store.Message) {
	r.t.Helper()
	results, err := r.Push(r.ctx(), r.p, r.request(ms))
	r.must(err)
	for i := range results {
		r.want("push", results[i].Code, store.CodeOK)
	}
}

func (r *rig) claimRequest(most int) store.ClaimRequest {
	return store.ClaimRequest{Consumer: "c", Number: r.next(), Max: most, Lease: 60_000}
}

func (r *rig) claim(most int) []store.Delivery {
	r.t.Helper()
	result, err := r.Claim(r.ctx(), r.p, r.claimRequest(most))
	r.must(err)
	return result.Deliveries
}

func (r *rig) cancelRequest(refs ...store.Ref) store.CancelRequest {
	return store.CancelRequest{Caller: "m", Number: r.next(), Refs: refs}
}

func (r *rig) rescheduleRequest(moves ...store.Move) store.RescheduleRequest {
	return store.RescheduleRequest{Caller: "m", Number: r.next(), Moves: moves}
}

func (r *rig) redriveRequest(ids ...store.ID) store.RedriveRequest {
	q := store.RedriveRequest{Caller: "m", Number: r.next()}
	for _, id := range ids {
		q.Items = append(q.Items, store.Redrive{ID: id})
	}
	return q
}

// purgeRequest returns a request to purge all messages in a state.
func (r *rig) purgeRequest(s store.State, limit int) store.PurgeRequest {
	return store.PurgeRequest{Caller: "m", Number: r.next(), State: s, All: true, Limit: limit}
}

func settlements(ds []store.Delivery) []store.Settlement {
	items := make([]store.Settlement, len(ds))
	for i := range ds {
		items[i].Receipt = ds[i].Receipt
	}
	return items
}

func (r *rig) settle(v store.Verdict, ds ...store.Delivery) []store.Code {
	r.t.Helper()
	items := settlements(ds)
	for i := range items {
		if v == storetest.Extend || v == storetest.Start {
			items[i].Delay = 60_000
		}
	}
	codes, err := storetest.Settle(r.ctx(), r, r.p, store.SettleRequest{Verdict: v, Items: items})
	r.must(err)
	return codes
}

// following returns the settlements of a Next with one message for each delivery, as the library
// sends them.
func (r *rig) following(ds []store.Delivery, size int) []store.Settlement {
	items := settlements(ds)
	for i, m := range r.messages(len(ds), size) {
		m.New, m.Remember = false, 3600_000
		items[i].Messages = []store.Message{m}
	}
	return items
}

func (r *rig) settleNext(items []store.Settlement) []store.Code {
	r.t.Helper()
	codes, err := r.Settle(r.ctx(), r.p, store.SettleRequest{Verdict: store.Next, Items: items})
	r.must(err)
	return codes
}

func (r *rig) stats() store.Stats {
	r.t.Helper()
	all, err := r.Stats(r.ctx(), r.p.Queue)
	r.must(err)
	return all[0]
}

// problems runs a whole audit.
func (r *rig) problems() []store.Problem {
	r.t.Helper()
	var out []store.Problem
	for cursor := ""; ; {
		step, err := r.Check(r.ctx(), r.p, store.CheckRequest{Cursor: cursor, Limit: 100})
		r.must(err)
		out = append(out, step.Problems...)
		if cursor = step.Next; cursor == "" {
			return out
		}
	}
}

func (r *rig) wantClean() {
	r.t.Helper()
	r.want("problems", r.problems(), []store.Problem(nil))
}
