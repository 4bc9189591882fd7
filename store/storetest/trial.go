package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dueq-dev/dueq/store"
)

// trial is one run of the model test.
type trial struct {
	t     *rapid.T
	outer *testing.T
	h     Harness
	s     store.Store
	p     store.Partition
	m     *model

	numbers  map[string]uint64
	lastUse  map[string]int64 // of a caller's name, µs
	ids      int
	receipts []store.Receipt // all there ever were
	past     []request
	began    time.Time       // of the last call; with a real clock
	vague    map[string]bool // consumers whose last claim found the queue paused
	witness  witness
	log      strings.Builder
}

// request is a call that can be made on both sides, now or again later.
type request struct {
	name   string
	caller string // whose memory it needs, "" none
	detail any
	ask    func(ctx context.Context, s store.Store) (any, error)
	expect func(m *model) any
}

func newTrial(t *rapid.T, outer *testing.T, h Harness, p store.Partition) *trial {
	r := &trial{
		t: t, outer: outer, h: h, s: h.Store, p: p, numbers: map[string]uint64{}, lastUse: map[string]int64{}, vague: map[string]bool{},
		witness: witness{attempts: map[store.ID]int{}, acked: map[store.ID]bool{}},
	}
	r.m = newModel(r.clock())
	r.makeQueue()
	r.compare(step{Pick: []int{0}})
	return r
}

func (r *trial) makeQueue() {
	r.call(configureCall(r, store.Change{Create: true}))
	// Only the first push makes the partition: before, there is nothing to remember calls in.
	r.call(pushCall(r, store.PushRequest{Producer: "p0", Number: r.number("p0"), Messages: []store.Message{{ID: r.newID(), Body: []byte("first"), MaxAttempts: 1}}}))
}

func (r *trial) clock() time.Time {
	if r.h.Now != nil {
		return r.h.Now()
	}
	return time.Now()
}

func (r *trial) logf(format string, args ...any) { fmt.Fprintf(&r.log, format+"\n", args...) }

// save writes the history of the run to a file.
func (r *trial) save(path string) {
	if err := os.WriteFile(path, []byte(r.log.String()), 0o600); err != nil {
		r.outer.Logf("the history could not be saved: %v", err)
	}
}

func (r *trial) number(caller string) uint64 {
	r.numbers[caller]++
	return r.numbers[caller]
}

// newID makes ids that grow and are the same whenever the run is repeated.
func (r *trial) newID() store.ID {
	r.ids++
	return r.idOf(r.ids)
}

func (r *trial) idOf(n int) store.ID {
	id := store.ID{0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80}
	binary.BigEndian.PutUint32(id[9:], uint32(n))
	return id
}

// pickID returns the n-th last id, or one that nobody has.
func (r *trial) pickID(n int) store.ID {
	if n >= r.ids {
		return r.idOf(1 << 30)
	}
	return r.idOf(r.ids - n)
}

// pickReceipt returns the n-th last receipt, or a forged one.
func (r *trial) pickReceipt(n int) store.Receipt {
	if n >= len(r.receipts) {
		return store.Receipt{ID: r.pickID(n), Attempt: 1 + n%3}
	}
	return r.receipts[len(r.receipts)-1-n]
}

// call makes a request and keeps it, for replay.
func (r *trial) call(q request) {
	const most = 60
	r.past = append(r.past, q)
	if len(r.past) > most {
		r.past = r.past[1:]
	}
	r.make(q)
}

// replay makes the n-th last request again: a lost reply if it was the last one, a
// duplicate or a delayed one otherwise.
func (r *trial) replay(n int) {
	if len(r.past) == 0 {
		return
	}
	q := r.past[len(r.past)-1-n%len(r.past)]
	const memory = 55 * 60 * 1e6 // µs; stores may forget a caller after an hour
	if q.caller != "" && r.clock().UnixMicro()-r.lastUse[q.caller] > memory {
		return
	}
	if r.vague[q.caller] {
		return // whether a claim of a paused queue is remembered is left open
	}
	r.logf("  again:")
	r.make(q)
}

func (r *trial) make(q request) {
	if q.name == "claim" && r.h.Advance == nil && r.ranOut() {
		nextMillisecond()
	}
	r.began = r.clock()
	r.m.now = r.began.UnixMicro()
	r.m.latest = max(r.m.latest, r.m.floor())
	r.lastUse[q.caller] = r.m.now
	want := q.expect(r.m)
	got, err := q.ask(r.outer.Context(), r.s)
	r.logf("  at %d: %s %+v\n    -> %+v %v", r.m.now, q.name, q.detail, got, err)
	if err != nil {
		r.t.Fatalf("%s: %v", q.name, err)
	}
	if claimed, ok := got.(store.ClaimResult); ok {
		r.compareClaim(q.caller, claimed, want.(store.ClaimResult)) //nolint:forcetypeassert // both sides of one request
		r.hurryCrashed()
		return
	}
	if answer, ok := want.(settleAnswer); ok {
		codes := got.([]store.Code) //nolint:forcetypeassert // see settleCall
		want = answer.nearest(codes)
		r.witness.settled(q.detail.(store.SettleRequest), codes) //nolint:forcetypeassert // see settleCall
	}
	r.equal(q.name, got, want)
}

// hurryCrashed makes what a claim has put back after a crash due at once where the clock
// is real: else it would become due in the middle of a comparison.
func (r *trial) hurryCrashed() {
	var moves []store.Move
	for _, id := range r.m.crashed {
		moves = append(moves, store.Move{Ref: byID(id)})
	}
	r.m.crashed = nil
	if r.h.Advance == nil && len(moves) > 0 {
		began := r.began
		r.make(rescheduleCall(r, store.RescheduleRequest{Caller: "hurry", Number: r.number("hurry"), Moves: moves}))
		r.began = began // of the claim, whose instants have not been compared yet
	}
}

// ranOut reports whether the next claim has leases to put back.
func (r *trial) ranOut() bool {
	leases := r.m.inOrder(store.Leased)
	return len(leases) > 0 && leases[0].at <= r.m.floor()
}

// nextMillisecond makes sure that leases put back now come behind everything that
// was due before, as in the model. It takes a millisecond at most.
func nextMillisecond() {
	for last := time.Now().UnixMilli(); time.Now().UnixMilli() <= last; {
		runtime.Gosched()
	}
}

func (r *trial) equal(what string, got, want any) {
	if reflect.DeepEqual(got, want) {
		return // by far the fastest way to the most frequent answer
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.logf("MISMATCH %s (-model +store):\n%s", what, diff)
		r.t.Fatalf("%s (-model +store):\n%s", what, diff)
	}
}

// slack is by how many ms the store's clock can differ from the model's: with a
// real clock, what the last call took.
func (r *trial) slack() int64 {
	if r.h.Advance != nil {
		return 0
	}
	return time.Since(r.began).Milliseconds() + 2
}

func (r *trial) near(got, want int64) bool {
	return got >= want-r.slack() && got <= want+r.slack()
}

func (r *trial) compareClaim(consumer string, got, want store.ClaimResult) {
	if len(got.Deliveries) == len(want.Deliveries) {
		for i := range got.Deliveries {
			if d := &want.Deliveries[i]; r.near(got.Deliveries[i].Due, d.Due) {
				d.Due = got.Deliveries[i].Due // shared with the model's memory of the claim
			}
			if d := &want.Deliveries[i]; r.near(got.Deliveries[i].Now, d.Now) {
				d.Now = got.Deliveries[i].Now
			}
		}
	}
	if (got.Wait == 0) == (want.Wait == 0) && r.near(got.Wait.Milliseconds(), want.Wait.Milliseconds()) && r.h.Advance == nil || want.Stale || want.Wait == anyWait {
		want.Wait = got.Wait
	}
	r.equal("claim", got, want)
	r.vague[consumer] = got.Paused
	for _, d := range got.Deliveries {
		r.receipts = append(r.receipts, d.Receipt)
	}
	if text := r.witness.delivered(got.Deliveries, r.clock().UnixMilli()); text != "" {
		r.t.Fatalf("claim: %s", text)
	}
}

// advance moves a manual clock.
func (r *trial) advance(ms, micros int64) {
	r.h.Advance(time.Duration(ms)*time.Millisecond + time.Duration(micros)*time.Microsecond)
	r.logf("  clock %+d ms %+d us", ms, micros)
}

// compare compares everything that can be seen.
func (r *trial) compare(s step) {
	seen := map[store.ID]bool{}
	r.m.now = r.clock().UnixMicro()
	for _, state := range []store.State{store.Scheduled, store.Ready, store.Leased, store.Dead, store.Done} {
		got := r.list(state)
		r.compareReversed(state, got)
		if state == store.Leased {
			inOrderOfIDs(got)
		}
		for _, rec := range got {
			if seen[rec.ID] && state != store.Done {
				r.t.Fatalf("%v is in two states", rec.ID)
			}
			seen[rec.ID] = true
			r.adopt(rec)
		}
		r.equal(string(state), got, r.m.records(state))
	}
	r.compareStats()
	r.compareGet(byID(r.pickID(s.Pick[0])))
	r.compareGet(byKey(fmt.Sprintf("k%d", s.Key)))
}

// inOrderOfIDs puts records with the same instant next to each other in the order of their ids:
// that of leased ones is the store's own.
func inOrderOfIDs(all []store.Record) {
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].At == all[from].At {
			to++
		}
		slices.SortFunc(all[from:to], func(a, b store.Record) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		from = to
	}
}

func (r *trial) list(state store.State) []store.Record {
	page, err := r.s.List(r.outer.Context(), r.p, store.ListRequest{State: state, Limit: store.MaxListLimit, BodyLimit: store.MaxBody})
	if err != nil {
		r.t.Fatalf("list: %v", err)
	}
	return page.Records
}

// compareReversed compares the list in descending order with that in ascending order, where time
// does not move messages between the two calls.
func (r *trial) compareReversed(state store.State, ascending []store.Record) {
	if r.h.Advance == nil && (state == store.Scheduled || state == store.Ready) {
		return
	}
	want := slices.Clone(ascending)
	slices.Reverse(want)
	page, err := r.s.List(r.outer.Context(), r.p, store.ListRequest{State: state, Limit: store.MaxListLimit, BodyLimit: store.MaxBody, Descending: true})
	if err != nil {
		r.t.Fatalf("list in descending order: %v", err)
	}
	r.equal(string(state)+" in descending order", page.Records, want)
}

// adopt takes over the instants that the store chose, where they are near enough.
func (r *trial) adopt(rec store.Record) {
	e := r.m.messages[rec.ID]
	if rec.State == store.Done {
		e = r.m.done[rec.ID]
	}
	if e != nil && e.reopened && rec.Holder == "" {
		e.by = "" // a store need not know it after a restart
	}
	if e == nil || r.h.Advance != nil {
		return
	}
	if r.near(rec.At, e.at) {
		e.at = rec.At
	}
	if r.near(rec.Expiry, e.expiry) {
		e.expiry = rec.Expiry
	}
	for i, f := range rec.RecentFailures {
		if i < len(e.texts) && r.near(f.At, e.texts[i].At) {
			e.texts[i].At = f.At
		}
	}
}

// adoptLeases takes over the deadlines after they were moved to the past.
func (r *trial) adoptLeases() {
	for _, rec := range r.list(store.Leased) {
		e := r.m.messages[rec.ID]
		if e == nil || rec.At > r.clock().UnixMilli() {
			r.t.Fatalf("want all leases run out, but: %+v", rec)
		}
		e.at = rec.At
	}
	r.logf("  all leases run out")
}

func (r *trial) compareStats() {
	all, err := r.s.Stats(r.outer.Context(), r.p.Queue)
	if err != nil || len(all) != 1 {
		r.t.Fatalf("stats: %v, %v", all, err)
	}
	got := all[0]
	got.Settings = content(got.Settings)
	want := store.Stats{
		Queue: r.p.Queue, Counters: r.m.counters, Settings: r.m.settings(),
		Scheduled: int64(len(r.m.records(store.Scheduled))), Leased: int64(len(r.m.records(store.Leased))), Dead: int64(len(r.m.records(store.Dead))), Done: int64(len(r.m.done)),
	}
	if ready := r.m.records(store.Ready); len(ready) > 0 {
		want.Ready, want.OldestReady = int64(len(ready)), r.m.floor()-ready[0].At
	}
	if r.h.Advance == nil {
		want.OldestReady = got.OldestReady
	}
	if want.Remembered = r.m.remembers(); got.Remembered >= want.Remembered {
		want.Remembered = got.Remembered // some may be past their time
	}
	r.equal("stats", got, want)
	r.compareForecast()
	if live := got.Scheduled + got.Ready + got.Leased + got.Dead; got.Counters.Sent != got.Counters.Gone()+live {
		r.t.Fatalf("sent %d, gone %d, live %d", got.Counters.Sent, got.Counters.Gone(), live)
	}
}

// compareForecast compares spans that are short enough to have ends among the due times. On a
// store with a clock of its own only the sum is known.
func (r *trial) compareForecast() {
	request := store.ForecastRequest{Step: 700, Spans: 5}
	got, err := r.s.Forecast(r.outer.Context(), r.p, request)
	if err != nil {
		r.t.Fatalf("forecast: %v", err)
	}
	scheduled, ready := r.m.records(store.Scheduled), r.m.records(store.Ready)
	if r.h.Advance == nil {
		sum := got.Ready + got.Later
		for _, n := range got.Counts {
			sum += n
		}
		r.equal("messages in the forecast", sum, int64(len(scheduled)+len(ready)))
		return
	}
	want := store.Forecast{Ready: int64(len(ready)), Counts: make([]int64, request.Spans)}
	for _, rec := range scheduled {
		if span := (rec.At - r.m.floor() - 1) / request.Step; span < int64(request.Spans) {
			want.Counts[span]++
		} else {
			want.Later++
		}
	}
	r.equal("forecast", got, want)
}

func (r *trial) compareGet(ref store.Ref) {
	got, err := r.s.Get(r.outer.Context(), r.p, ref)
	e := r.m.look(ref)
	if e == nil || err != nil {
		if (e == nil) != (err != nil) {
			r.t.Fatalf("get %v: %+v, %v; the model has %+v", ref, got, err, e)
		}
		return
	}
	r.equal("get", got, r.m.record(e))
}

// witness watches what no order of calls may ever bring about. It knows nothing of
// the model.
type witness struct {
	attempts map[store.ID]int
	acked    map[store.ID]bool
}

func (w *witness) settled(r store.SettleRequest, codes []store.Code) {
	for i, c := range codes {
		if c == store.CodeOK && (r.Verdict == store.Ack || r.Verdict == store.Next) {
			w.acked[r.Items[i].Receipt.ID] = true
		}
	}
}

// delivered returns what is wrong with the deliveries of a claim at an instant.
func (w *witness) delivered(all []store.Delivery, now int64) string {
	for _, d := range all {
		id, n := d.Receipt.ID, d.Receipt.Attempt
		switch {
		case w.acked[id]:
			return fmt.Sprintf("%v is delivered after it was acked", d.Receipt)
		case n == w.attempts[id]: // a repeated claim; the clock may have gone back since
		case n < w.attempts[id]:
			return fmt.Sprintf("%v is delivered after attempt %d", d.Receipt, w.attempts[id])
		case d.Due > now:
			return fmt.Sprintf("%v is delivered %d ms early", d.Receipt, d.Due-now)
		}
		w.attempts[id] = n
	}
	return ""
}
