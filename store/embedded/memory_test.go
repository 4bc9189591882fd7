package embedded

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// finish pushes messages of numbers from to below to, to be remembered for a span, and acks
// them one by one, in the order of their numbers.
func (r *rig) finish(from, to int, span time.Duration) {
	r.Helper()
	for n := from; n < to; n++ {
		m := message(n)
		m.Remember, m.DedupID = span.Milliseconds(), store.NewDedupID(m.ID.String())
		r.push(m)
		r.settle(store.Ack, store.Settlement{Receipt: r.claimN(1).Deliveries[0].Receipt})
	}
}

// known returns which of the messages 1 to most are remembered, by both of their names.
func (r *rig) known(most int) (known []int) {
	now := r.Store.clock()
	for n := 1; n <= most; n++ {
		_, byID := r.inner().memory.sentBefore(&store.Message{ID: id(n)}, now)
		_, byName := r.inner().memory.sentBefore(&store.Message{ID: id(0), DedupID: store.NewDedupID(id(n).String())}, now)
		if byID != byName {
			r.Errorf("message %d is known by id: %t, by dedup id: %t", n, byID, byName)
		}
		if byID {
			known = append(known, n)
		}
	}
	return known
}

func wantNumbers(t *testing.T, what string, got, want []int) {
	t.Helper()
	if len(got) != len(want) || len(got) > 0 && (got[0] != want[0] || got[len(got)-1] != want[len(want)-1]) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestRemember_BoundForgetsTheFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.inner().memory.most = 5
	r.finish(1, 9, time.Hour)
	wantNumbers(t, "known", r.known(9), []int{4, 5, 6, 7, 8})
	if s := r.stats(); s.Remembered != 5 || s.Counters.Forgotten != 3 {
		t.Errorf("remembered %d, forgotten %d, want 5 and 3", s.Remembered, s.Counters.Forgotten)
	}
}

func TestRemember_MergesKeepItUntilItIsOver(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := onFaultdisk(t, d, Config{})
	r.finish(1, 4, time.Hour)
	r.finish(4, 7, time.Minute)
	mergeAll := func() {
		t.Helper()
		for _, last := r.care.log.Ends(); ; {
			oldest, active := r.care.log.Ends()
			if oldest == active {
				r.must(r.care.log.Roll())
			}
			if oldest > last {
				return
			}
			r.must(r.care.merge(t.Context(), oldest))
		}
	}
	for range 3 {
		mergeAll()
		after := afterPowerCut(t, d)
		wantNumbers(t, "known after a power cut", after.known(7), upTo(6))
		mustClose(t, after.Store)
	}
	r.clock.move(2 * time.Minute)
	size := r.care.log.Size()
	r.claimN(1) // forgets what is over
	mergeAll()
	wantNumbers(t, "known later", r.known(7), upTo(3))
	after := afterPowerCut(t, d)
	after.clock.move(2 * time.Minute)
	wantNumbers(t, "known later after a power cut", after.known(7), upTo(3))
	if n := after.stats().Remembered; n != 3 {
		t.Errorf("%d are in the log of %d bytes (%d before), want 3", n, after.care.log.Size(), size)
	}
	mustClose(t, after.Store)
	mustClose(t, r.Store)
}

func TestCheck_FindsLostDedupIDs(t *testing.T) {
	t.Parallel()
	r := &rig{TB: t, Store: NewMemory(Config{}), p: store.Partition{Queue: "orders"}}
	m := message(1)
	m.DedupID = store.NewDedupID("a")
	r.push(m)
	delete(r.inner().memory.named, m.DedupID)
	if found := r.audit(); len(found) != 1 || found[0].Text != "does not have its dedup id" {
		t.Errorf("%v", found)
	}
}
