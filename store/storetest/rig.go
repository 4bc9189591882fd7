package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

const (
	longLease  = 3600 * 1000 // ms: never runs out in a test
	shortLease = store.MinLease
	maxClaims  = 10_000             // more claims than any test needs: the loop has no end
	hour       = int64(3600 * 1000) // ms
)

// rig is one partition of a fresh store and the names and numbers of its callers.
// Its methods fail the test when a call fails. Not for concurrent use.
type rig struct {
	t       testing.TB
	h       Harness
	s       store.Store
	p       store.Partition
	ctx     context.Context // of the test
	numbers map[string]uint64
}

func newRig(t testing.TB, h Harness) *rig {
	ctx := t.Context()
	if h.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.Timeout)
		t.Cleanup(cancel)
	}
	return &rig{t: t, h: h, s: h.Store, p: store.Partition{Queue: "orders"}, ctx: ctx, numbers: map[string]uint64{}}
}

// at returns a rig on another partition of the same store.
func (g *rig) at(queue string, index int) *rig {
	other := newRig(g.t, g.h)
	other.p = store.Partition{Queue: queue, Index: index}
	return other
}

func (g *rig) number(caller string) uint64 {
	g.numbers[caller]++
	return g.numbers[caller]
}

func (g *rig) noError(op string, err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatalf("%s: %v", op, err)
	}
}

// message returns a message that is due at once, after edits have changed it.
func (g *rig) message(edits ...func(*store.Message)) store.Message {
	m := store.Message{ID: route.NewID(g.p.Index), Body: []byte("body"), MaxAttempts: 20, New: true}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func delay(ms int64) func(*store.Message) { return func(m *store.Message) { m.Delay = ms } }
func key(k string) func(*store.Message)   { return func(m *store.Message) { m.Key = k } }
func attempts(n int) func(*store.Message) { return func(m *store.Message) { m.MaxAttempts = n } }
func ttl(ms int64) func(*store.Message)   { return func(m *store.Message) { m.TTL = ms } }
func replacing(m *store.Message)          { m.Replace = true }
func size(bytes int) func(*store.Message) {
	return func(m *store.Message) { m.Body = make([]byte, bytes) }
}
func due(instant int64) func(*store.Message) { return func(m *store.Message) { m.Due = instant } }

func (g *rig) pushRequest(ms ...store.Message) store.PushRequest {
	return store.PushRequest{Producer: "producer", Number: g.number("producer"), Messages: ms}
}

func (g *rig) pushAs(r store.PushRequest) []store.PushResult {
	g.t.Helper()
	results, err := g.s.Push(g.ctx, g.p, r)
	g.noError("push", err)
	if len(results) != len(r.Messages) {
		g.t.Fatalf("push of %d messages gave %d results", len(r.Messages), len(results))
	}
	return results
}

func (g *rig) push(ms ...store.Message) []store.PushResult {
	g.t.Helper()
	return g.pushAs(g.pushRequest(ms...))
}

// send pushes one message that must be stored.
func (g *rig) send(edits ...func(*store.Message)) store.ID {
	g.t.Helper()
	m := g.message(edits...)
	g.wantPushed(g.push(m), store.CodeOK)
	return m.ID
}

// sendMany pushes n messages in as many batches as are needed.
func (g *rig) sendMany(n int, edits ...func(*store.Message)) []store.ID {
	g.t.Helper()
	ids := make([]store.ID, 0, n)
	for len(ids) < n {
		batch := make([]store.Message, min(n-len(ids), store.MaxBatch))
		for i := range batch {
			batch[i] = g.message(edits...)
			ids = append(ids, batch[i].ID)
		}
		for i, r := range g.push(batch...) {
			if r.Code != store.CodeOK {
				g.t.Fatalf("push of message %d: %v", i, r.Code)
			}
		}
	}
	return ids
}

func (g *rig) claimRequest(consumer string, most int) store.ClaimRequest {
	return store.ClaimRequest{Consumer: consumer, Number: g.number(consumer), Max: most, Lease: longLease}
}

func (g *rig) claimAs(r store.ClaimRequest) store.ClaimResult {
	g.t.Helper()
	res, err := g.s.Claim(g.ctx, g.p, r)
	g.noError("claim", err)
	if len(res.Deliveries) > r.Max {
		g.t.Fatalf("claim of %d gave %d deliveries", r.Max, len(res.Deliveries))
	}
	if res.Wait < 0 || res.Wait > store.MaxWait {
		g.t.Fatalf("claim: wait %v is outside 0 to %v", res.Wait, store.MaxWait)
	}
	return res
}

func (g *rig) claim(consumer string, most int) store.ClaimResult {
	g.t.Helper()
	return g.claimAs(g.claimRequest(consumer, most))
}

// take claims one message with longLease, and fails if none is due.
func (g *rig) take(consumer string) store.Delivery {
	g.t.Helper()
	return g.takeFor(consumer, longLease)
}

func (g *rig) takeFor(consumer string, lease int64) store.Delivery {
	g.t.Helper()
	r := g.claimRequest(consumer, 1)
	r.Lease = lease
	res := g.claimAs(r)
	if len(res.Deliveries) != 1 {
		g.t.Fatalf("claim by %s: %d deliveries, want 1 (wait %v, paused %v)", consumer, len(res.Deliveries), res.Wait, res.Paused)
	}
	return res.Deliveries[0]
}

// takeNothing fails if a claim hands out anything.
func (g *rig) takeNothing(consumer string) store.ClaimResult {
	g.t.Helper()
	res := g.claim(consumer, store.MaxBatch)
	if len(res.Deliveries) != 0 {
		g.t.Fatalf("claim by %s: got %v, want nothing", consumer, receipts(res.Deliveries))
	}
	return res
}

// drain claims until nothing is due any more.
func (g *rig) drain(consumer string, most int) []store.Delivery {
	g.t.Helper()
	var all []store.Delivery
	for range maxClaims {
		res := g.claim(consumer, most)
		all = append(all, res.Deliveries...)
		if res.Wait > 0 {
			return all
		}
	}
	g.t.Fatalf("messages are still due after %d claims; delivered %d", maxClaims, len(all))
	return nil
}

func (g *rig) settleAs(r store.SettleRequest) []store.Code {
	g.t.Helper()
	codes, err := Settle(g.ctx, g.s, g.p, r)
	g.noError(string(r.Verdict), err)
	if len(codes) != len(r.Items) {
		g.t.Fatalf("%s of %d items gave %d codes", r.Verdict, len(r.Items), len(codes))
	}
	return codes
}

// settle settles one delivery, with a delay that is valid for the verdict.
func (g *rig) settle(v store.Verdict, r store.Receipt) store.Code {
	g.t.Helper()
	item := store.Settlement{Receipt: r}
	if lengthens(v) {
		item.Delay = longLease
	}
	return g.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item}})[0]
}

// wantSettled settles one delivery and fails unless the code is want.
func (g *rig) wantSettled(v store.Verdict, r store.Receipt, want store.Code) {
	g.t.Helper()
	if got := g.settle(v, r); got != want {
		g.t.Fatalf("%s of %v: %v, want %v", v, r, got, want)
	}
}

func (g *rig) cancel(refs ...store.Ref) []store.Code {
	g.t.Helper()
	return g.cancelAs(store.CancelRequest{Caller: "manager", Number: g.number("manager"), Refs: refs})
}

func (g *rig) cancelAs(r store.CancelRequest) []store.Code {
	g.t.Helper()
	codes, err := g.s.Cancel(g.ctx, g.p, r)
	g.noError("cancel", err)
	return codes
}

func (g *rig) reschedule(moves ...store.Move) []store.Code {
	g.t.Helper()
	return g.rescheduleAs(store.RescheduleRequest{Caller: "manager", Number: g.number("manager"), Moves: moves})
}

func (g *rig) rescheduleAs(r store.RescheduleRequest) []store.Code {
	g.t.Helper()
	codes, err := g.s.Reschedule(g.ctx, g.p, r)
	g.noError("reschedule", err)
	return codes
}

func (g *rig) redrive(ids ...store.ID) []store.PushResult {
	g.t.Helper()
	return g.redriveAs(store.RedriveRequest{Caller: "manager", Number: g.number("manager"), Items: redrives(ids...)})
}

// redrives returns the items of a redrive that makes messages due at once.
func redrives(ids ...store.ID) []store.Redrive {
	items := make([]store.Redrive, len(ids))
	for i, id := range ids {
		items[i].ID = id
	}
	return items
}

func (g *rig) redriveAs(r store.RedriveRequest) []store.PushResult {
	g.t.Helper()
	results, err := g.s.Redrive(g.ctx, g.p, r)
	g.noError("redrive", err)
	return results
}

func (g *rig) configure(c store.Change) store.Settings {
	g.t.Helper()
	settings, err := g.s.Configure(g.ctx, g.p.Queue, c)
	g.noError("configure", err)
	return content(settings)
}

// content returns settings without Version and ChangedBy.
func content(s store.Settings) store.Settings {
	s.Version, s.ChangedBy = 0, ""
	return s
}

func (g *rig) get(ref store.Ref) store.Record {
	g.t.Helper()
	rec, err := g.s.Get(g.ctx, g.p, ref)
	g.noError("get", err)
	return rec
}

// wantState fails unless the message is in that state, and returns its record.
func (g *rig) wantState(id store.ID, want store.State) store.Record {
	g.t.Helper()
	rec := g.get(store.Ref{ID: id})
	if rec.State != want {
		g.t.Fatalf("message %v is %s, want %s", id, rec.State, want)
	}
	return rec
}

func (g *rig) wantGone(refs ...store.Ref) {
	g.t.Helper()
	for _, ref := range refs {
		if rec, err := g.s.Get(g.ctx, g.p, ref); !errors.Is(err, store.ErrNotFound) {
			g.t.Fatalf("get %v: %+v, %v, want %v", ref, rec, err, store.ErrNotFound)
		}
	}
}

// list returns all messages in a state, read in pages of the given size.
func (g *rig) list(state store.State, page int) []store.Record {
	g.t.Helper()
	var all []store.Record
	r := store.ListRequest{State: state, Limit: page, BodyLimit: store.MaxBody}
	for {
		res, err := g.s.List(g.ctx, g.p, r)
		g.noError("list", err)
		if len(res.Records) > page {
			g.t.Fatalf("list: %d records in a page of %d", len(res.Records), page)
		}
		all = append(all, res.Records...)
		if res.Next == "" {
			return all
		}
		r.Cursor = res.Next
	}
}

func (g *rig) stats() store.Stats {
	g.t.Helper()
	all, err := g.s.Stats(g.ctx, g.p.Queue)
	g.noError("stats", err)
	if len(all) != 1 {
		g.t.Fatalf("stats of one queue: %d results", len(all))
	}
	all[0].Settings = content(all[0].Settings)
	return all[0]
}

func (g *rig) wantCounters(want store.Counters) {
	g.t.Helper()
	g.wantEqual("counters", g.stats().Counters, want)
}

func (g *rig) wantEqual(what string, got, want any) {
	g.t.Helper()
	if reflect.DeepEqual(got, want) {
		return // by far the fastest way, above all for long bodies
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		g.t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (g *rig) wantCodes(what string, got []store.Code, want ...store.Code) {
	g.t.Helper()
	g.wantEqual(what, words(got), words(want))
}

func (g *rig) wantPushed(got []store.PushResult, want ...store.Code) {
	g.t.Helper()
	g.wantEqual("results", words(codes(got)), words(want))
}

// pass waits until span has passed on the store's clock, or advances a manual clock by it.
func (g *rig) pass(span time.Duration) {
	g.t.Helper()
	if g.h.Advance != nil {
		g.h.Advance(span)
		return
	}
	probe := g.at("probe", 0)
	probe.numbers = g.numbers // its callers continue counting in the next call of pass
	probe.send(delay(span.Milliseconds()))
	probe.wantSettled(store.Ack, probe.await("prober").Receipt, store.CodeOK)
}

// await claims one message, and repeats the claim after each Wait until one is due.
func (g *rig) await(consumer string) store.Delivery {
	g.t.Helper()
	var wait time.Duration
	for range maxClaims {
		res := g.claim(consumer, 1)
		if len(res.Deliveries) == 1 {
			return res.Deliveries[0]
		}
		if wait = res.Wait; wait > 30*time.Second {
			break
		}
		g.sit(wait)
	}
	g.t.Fatalf("claim by %s: nothing, and the wait is %v", consumer, wait)
	return store.Delivery{}
}

// sit lets the Wait of a claim pass.
func (g *rig) sit(wait time.Duration) {
	if g.h.Advance != nil {
		g.h.Advance(wait)
		return
	}
	select {
	case <-g.ctx.Done():
	case <-time.After(wait):
	}
}

// runOut makes all leases of shortLease run out.
func (g *rig) runOut() {
	g.t.Helper()
	if g.h.ExpireLeases != nil {
		g.h.ExpireLeases(g.t, g.p)
		return
	}
	g.pass(shortLease*time.Millisecond + time.Millisecond)
}
