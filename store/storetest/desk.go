package storetest

import (
	"errors"
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
	maxClaims  = 10_000             // after which a loop of claims is one without an end
	hour       = int64(3600 * 1000) // ms
)

// desk is one partition of a fresh store and the names and numbers of its callers.
// Its methods fail the test when a call fails. Not for concurrent use.
type desk struct {
	t       testing.TB
	h       Harness
	s       store.Store
	p       store.Partition
	numbers map[string]uint64
}

func newDesk(t testing.TB, h Harness) *desk {
	return &desk{t: t, h: h, s: h.Store, p: store.Partition{Queue: "orders"}, numbers: map[string]uint64{}}
}

// at returns a desk on another partition of the same store.
func (d *desk) at(queue string, index int) *desk {
	other := newDesk(d.t, d.h)
	other.p = store.Partition{Queue: queue, Index: index}
	return other
}

func (d *desk) number(caller string) uint64 {
	d.numbers[caller]++
	return d.numbers[caller]
}

func (d *desk) noError(op string, err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatalf("%s: %v", op, err)
	}
}

// message returns a message that is due at once, changed by edits.
func (d *desk) message(edits ...func(*store.Message)) store.Message {
	m := store.Message{ID: route.NewID(d.p.Index), Body: []byte("body"), MaxAttempts: 20, New: true}
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

func (d *desk) pushRequest(ms ...store.Message) store.PushRequest {
	return store.PushRequest{Producer: "producer", Number: d.number("producer"), Messages: ms}
}

func (d *desk) pushAs(r store.PushRequest) []store.PushResult {
	d.t.Helper()
	results, err := d.s.Push(d.t.Context(), d.p, r)
	d.noError("push", err)
	if len(results) != len(r.Messages) {
		d.t.Fatalf("push of %d messages gave %d results", len(r.Messages), len(results))
	}
	return results
}

func (d *desk) push(ms ...store.Message) []store.PushResult {
	d.t.Helper()
	return d.pushAs(d.pushRequest(ms...))
}

// send pushes one message that must be stored.
func (d *desk) send(edits ...func(*store.Message)) store.ID {
	d.t.Helper()
	m := d.message(edits...)
	d.wantPushed(d.push(m), store.CodeOK)
	return m.ID
}

// sendMany pushes n messages in as many batches as are needed.
func (d *desk) sendMany(n int, edits ...func(*store.Message)) []store.ID {
	d.t.Helper()
	ids := make([]store.ID, 0, n)
	for len(ids) < n {
		batch := make([]store.Message, min(n-len(ids), store.MaxBatch))
		for i := range batch {
			batch[i] = d.message(edits...)
			ids = append(ids, batch[i].ID)
		}
		for i, r := range d.push(batch...) {
			if r.Code != store.CodeOK {
				d.t.Fatalf("push of message %d: %v", i, r.Code)
			}
		}
	}
	return ids
}

func (d *desk) claimRequest(consumer string, most int) store.ClaimRequest {
	return store.ClaimRequest{Consumer: consumer, Number: d.number(consumer), Max: most, Lease: longLease}
}

func (d *desk) claimAs(r store.ClaimRequest) store.ClaimResult {
	d.t.Helper()
	res, err := d.s.Claim(d.t.Context(), d.p, r)
	d.noError("claim", err)
	if len(res.Deliveries) > r.Max {
		d.t.Fatalf("claim of %d gave %d deliveries", r.Max, len(res.Deliveries))
	}
	if res.Wait < 0 || res.Wait > store.MaxWait {
		d.t.Fatalf("claim: wait %v is outside 0 to %v", res.Wait, store.MaxWait)
	}
	return res
}

func (d *desk) claim(consumer string, most int) store.ClaimResult {
	d.t.Helper()
	return d.claimAs(d.claimRequest(consumer, most))
}

// take claims one message, which must be there, for a long time.
func (d *desk) take(consumer string) store.Delivery {
	d.t.Helper()
	return d.takeFor(consumer, longLease)
}

func (d *desk) takeFor(consumer string, lease int64) store.Delivery {
	d.t.Helper()
	r := d.claimRequest(consumer, 1)
	r.Lease = lease
	res := d.claimAs(r)
	if len(res.Deliveries) != 1 {
		d.t.Fatalf("claim by %s: %d deliveries, want 1 (wait %v, paused %v)", consumer, len(res.Deliveries), res.Wait, res.Paused)
	}
	return res.Deliveries[0]
}

// takeNothing claims when nothing may be handed out.
func (d *desk) takeNothing(consumer string) store.ClaimResult {
	d.t.Helper()
	res := d.claim(consumer, store.MaxBatch)
	if len(res.Deliveries) != 0 {
		d.t.Fatalf("claim by %s: got %v, want nothing", consumer, receipts(res.Deliveries))
	}
	return res
}

// drain claims until nothing is due any more.
func (d *desk) drain(consumer string, most int) []store.Delivery {
	d.t.Helper()
	var all []store.Delivery
	for range maxClaims {
		res := d.claim(consumer, most)
		all = append(all, res.Deliveries...)
		if res.Wait > 0 {
			return all
		}
	}
	d.t.Fatalf("something is due all the time, after %d claims too; delivered %d", maxClaims, len(all))
	return nil
}

func (d *desk) settleAs(r store.SettleRequest) []store.Code {
	d.t.Helper()
	codes, err := Settle(d.t.Context(), d.s, d.p, r)
	d.noError(string(r.Verdict), err)
	if len(codes) != len(r.Items) {
		d.t.Fatalf("%s of %d items gave %d codes", r.Verdict, len(r.Items), len(codes))
	}
	return codes
}

// settle gives one verdict, with a delay that is valid for it.
func (d *desk) settle(v store.Verdict, r store.Receipt) store.Code {
	d.t.Helper()
	item := store.Settlement{Receipt: r}
	if lengthens(v) {
		item.Delay = longLease
	}
	return d.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item}})[0]
}

// wantSettled gives a verdict and compares its code.
func (d *desk) wantSettled(v store.Verdict, r store.Receipt, want store.Code) {
	d.t.Helper()
	if got := d.settle(v, r); got != want {
		d.t.Fatalf("%s of %v: %v, want %v", v, r, got, want)
	}
}

func (d *desk) cancel(refs ...store.Ref) []store.Code {
	d.t.Helper()
	return d.cancelAs(store.CancelRequest{Caller: "manager", Number: d.number("manager"), Refs: refs})
}

func (d *desk) cancelAs(r store.CancelRequest) []store.Code {
	d.t.Helper()
	codes, err := d.s.Cancel(d.t.Context(), d.p, r)
	d.noError("cancel", err)
	return codes
}

func (d *desk) reschedule(moves ...store.Move) []store.Code {
	d.t.Helper()
	return d.rescheduleAs(store.RescheduleRequest{Caller: "manager", Number: d.number("manager"), Moves: moves})
}

func (d *desk) rescheduleAs(r store.RescheduleRequest) []store.Code {
	d.t.Helper()
	codes, err := d.s.Reschedule(d.t.Context(), d.p, r)
	d.noError("reschedule", err)
	return codes
}

func (d *desk) redrive(ids ...store.ID) []store.PushResult {
	d.t.Helper()
	return d.redriveAs(store.RedriveRequest{Caller: "manager", Number: d.number("manager"), Items: redrives(ids...)})
}

// redrives returns the items of a redrive that makes messages due at once.
func redrives(ids ...store.ID) []store.Redrive {
	items := make([]store.Redrive, len(ids))
	for i, id := range ids {
		items[i].ID = id
	}
	return items
}

func (d *desk) redriveAs(r store.RedriveRequest) []store.PushResult {
	d.t.Helper()
	results, err := d.s.Redrive(d.t.Context(), d.p, r)
	d.noError("redrive", err)
	return results
}

func (d *desk) configure(c store.Change) store.Settings {
	d.t.Helper()
	settings, err := d.s.Configure(d.t.Context(), d.p.Queue, c)
	d.noError("configure", err)
	return content(settings)
}

// content returns settings without what says when and by which change they were made.
func content(s store.Settings) store.Settings {
	s.Version, s.ChangedBy = 0, ""
	return s
}

func (d *desk) get(ref store.Ref) store.Record {
	d.t.Helper()
	rec, err := d.s.Get(d.t.Context(), d.p, ref)
	d.noError("get", err)
	return rec
}

// wantState fails unless the message is in that state, and returns its record.
func (d *desk) wantState(id store.ID, want store.State) store.Record {
	d.t.Helper()
	rec := d.get(store.Ref{ID: id})
	if rec.State != want {
		d.t.Fatalf("message %v is %s, want %s", id, rec.State, want)
	}
	return rec
}

func (d *desk) wantGone(refs ...store.Ref) {
	d.t.Helper()
	for _, ref := range refs {
		if rec, err := d.s.Get(d.t.Context(), d.p, ref); !errors.Is(err, store.ErrNotFound) {
			d.t.Fatalf("get %v: %+v, %v, want %v", ref, rec, err, store.ErrNotFound)
		}
	}
}

// list returns all messages in a state, gathered from pages of the given size.
func (d *desk) list(state store.State, page int) []store.Record {
	d.t.Helper()
	var all []store.Record
	r := store.ListRequest{State: state, Limit: page, BodyLimit: store.MaxBody}
	for {
		res, err := d.s.List(d.t.Context(), d.p, r)
		d.noError("list", err)
		if len(res.Records) > page {
			d.t.Fatalf("list: %d records in a page of %d", len(res.Records), page)
		}
		all = append(all, res.Records...)
		if res.Next == "" {
			return all
		}
		r.Cursor = res.Next
	}
}

func (d *desk) stats() store.Stats {
	d.t.Helper()
	all, err := d.s.Stats(d.t.Context(), d.p.Queue)
	d.noError("stats", err)
	if len(all) != 1 {
		d.t.Fatalf("stats of one queue: %d results", len(all))
	}
	all[0].Settings = content(all[0].Settings)
	return all[0]
}

func (d *desk) wantCounters(want store.Counters) {
	d.t.Helper()
	d.wantEqual("counters", d.stats().Counters, want)
}

func (d *desk) wantEqual(what string, got, want any) {
	d.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		d.t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (d *desk) wantCodes(what string, got []store.Code, want ...store.Code) {
	d.t.Helper()
	d.wantEqual(what, words(got), words(want))
}

func (d *desk) wantPushed(got []store.PushResult, want ...store.Code) {
	d.t.Helper()
	d.wantEqual("results", words(codes(got)), words(want))
}

// pass lets at least span go by on the store's clock.
func (d *desk) pass(span time.Duration) {
	d.t.Helper()
	if d.h.Advance != nil {
		d.h.Advance(span)
		return
	}
	probe := d.at("probe", 0)
	probe.numbers = d.numbers // the names below must count on over several passes
	probe.send(delay(span.Milliseconds()))
	probe.wantSettled(store.Ack, probe.await("prober").Receipt, store.CodeOK)
}

// await claims one message, asking again when the store says something is due.
func (d *desk) await(consumer string) store.Delivery {
	d.t.Helper()
	var wait time.Duration
	for range maxClaims {
		res := d.claim(consumer, 1)
		if len(res.Deliveries) == 1 {
			return res.Deliveries[0]
		}
		if wait = res.Wait; wait > 30*time.Second {
			break
		}
		d.sit(wait)
	}
	d.t.Fatalf("claim by %s: nothing, and the wait is %v", consumer, wait)
	return store.Delivery{}
}

// sit waits as long as the store said.
func (d *desk) sit(wait time.Duration) {
	if d.h.Advance != nil {
		d.h.Advance(wait)
		return
	}
	select {
	case <-d.t.Context().Done():
	case <-time.After(wait):
	}
}

// runOut makes leases of shortLease that were given before run out.
func (d *desk) runOut() {
	d.t.Helper()
	if d.h.ExpireLeases != nil {
		d.h.ExpireLeases(d.t, d.p)
		return
	}
	d.pass(shortLease*time.Millisecond + time.Millisecond)
}
