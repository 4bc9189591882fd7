package embedded

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// skipIfShort skips a test of one goroutine that takes much processor time, above all under the race
// detector.
func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED with -short: it takes much processor time")
	}
}

// handClock is a clock moved by hand.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// epoch is where hand-driven clocks begin, in ms.
const epoch = 1_800_000_000_000

// rig is a store with a hand-driven clock and one partition in use. It audits the
// partition when its test ends.
type rig struct {
	testing.TB
	*Store
	clock  *handClock
	p      store.Partition
	number uint64
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	clock := &handClock{now: time.UnixMilli(epoch)}
	r := &rig{TB: tb, Store: NewMemory(Config{Now: clock.Now}), clock: clock, p: store.Partition{Queue: "orders"}}
	tb.Cleanup(func() {
		for _, p := range r.audit() {
			tb.Errorf("check: %s %s", p.ID, p.Text)
		}
	})
	return r
}

// id returns number n's id; ids sort like their numbers.
func id(n int) (id store.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

func message(n int) store.Message {
	return store.Message{ID: id(n), Body: []byte("body"), MaxAttempts: 20}
}

func (r *rig) next() uint64 {
	r.number++
	return r.number
}

func (r *rig) push(ms ...store.Message) []store.PushResult {
	r.Helper()
	results, err := r.Push(r.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: ms})
	r.must(err)
	return results
}

func (r *rig) claimN(most int) store.ClaimResult {
	r.Helper()
	result, err := r.Claim(r.Context(), r.p, store.ClaimRequest{Consumer: "c", Number: r.next(), Max: most, Lease: 30_000})
	r.must(err)
	return result
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

// purgeRequest is of everything in a state.
func (r *rig) purgeRequest(s store.State, limit int) store.PurgeRequest {
	return store.PurgeRequest{Caller: "m", Number: r.next(), State: s, All: true, Limit: limit}
}

func (r *rig) settle(v store.Verdict, items ...store.Settlement) []store.Code {
	r.Helper()
	codes, err := storetest.Settle(r.Context(), r, r.p, store.SettleRequest{Verdict: v, Items: items})
	r.must(err)
	return codes
}

func (r *rig) stats() store.Stats {
	r.Helper()
	all, err := r.Stats(r.Context(), r.p.Queue)
	r.must(err)
	return all[0]
}

func (r *rig) record(n int) store.Record {
	r.Helper()
	record, err := r.Get(r.Context(), r.p, store.Ref{ID: id(n)})
	r.must(err)
	return record
}

func (r *rig) configure(c store.Change) {
	r.Helper()
	c.Create = true
	_, err := r.Configure(r.Context(), r.p.Queue, c)
	r.must(err)
}

// inner returns the partition itself.
func (r *rig) inner() *partition { return r.makePartition(r.p) }

// audit runs a whole audit in small steps.
func (r *rig) audit() []store.Problem {
	part := r.partition(r.p)
	if part == nil {
		return nil
	}
	var found []store.Problem
	letter, pos := auditOrders[0], start()
	for {
		result := part.check(letter, pos, 7)
		found = append(found, result.Problems...)
		if result.Next == "" {
			return found
		}
		var err error
		letter, pos, err = decodeCursor(result.Next)
		r.must(err)
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// numbers returns the numbers of the ids that were delivered.
func numbers(ds []store.Delivery) []int {
	ns := make([]int, 0, len(ds))
	for i := range ds {
		ns = append(ns, int(binary.BigEndian.Uint64(ds[i].Receipt.ID[:])))
	}
	return ns
}

func upTo(n int) []int {
	ns := make([]int, n)
	for i := range ns {
		ns[i] = i + 1
	}
	return ns
}

func messages(n int) []store.Message {
	ms := make([]store.Message, n)
	for i := range ms {
		ms[i] = message(i + 1)
	}
	return ms
}

// purgeAll removes all messages in a state, as a caller of its own.
func purgeAll(tb testing.TB, s *Store, p store.Partition, state store.State) {
	tb.Helper()
	r := store.PurgeRequest{Caller: rand.Text(), State: state, All: true, Limit: store.MaxBatch}
	for {
		r.Number++
		result, err := s.Purge(tb.Context(), p, r)
		if err != nil {
			tb.Fatal(err)
		}
		if result.Removed < r.Limit {
			return
		}
	}
}
