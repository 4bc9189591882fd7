package embedded

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

// What a partition knew of messages that are gone, done or remembered takes no memory once it
// has forgotten them.
func TestMemory_OfWhatWasForgottenIsFreed(t *testing.T) {
	skipIfShort(t)
	r := newRig(t)
	r.configure(store.Change{Create: true, Partitions: new(1), History: new(int64(3_600_000)), MaxHistory: new(int64(store.MaxHistory))})
	const many = 100_000
	before := heap()
	for first := 1; first <= many; first += store.MaxBatch {
		batch := messagesFrom(first, store.MaxBatch, false)
		for i := range batch {
			batch[i].Key, batch[i].DedupID, batch[i].Remember = fmt.Sprint(first+i), store.NewDedupID(fmt.Sprint(first+i)), 1000
		}
		r.push(batch...)
		r.settle(store.Ack, settlements(r.claimN(store.MaxBatch).Deliveries)...)
	}
	full := heap()
	if s := r.stats(); s.Done != many || s.Remembered != many {
		t.Fatalf("%d done, %d remembered, want %d", s.Done, s.Remembered, many)
	}
	purgeAll(t, r.Store, r.p, store.Done)
	r.clock.move(3_600_000_000)
	for range 2 * many / lapseMost {
		r.claimN(1)
	}
	if s := r.stats(); s.Done != 0 || s.Remembered != 0 {
		t.Fatalf("%d done, %d remembered, want none", s.Done, s.Remembered)
	}
	if left := heap() - before; left > (full-before)/100 {
		t.Errorf("%d bytes are left of %d", left, full-before)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first left to finalizers and pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
