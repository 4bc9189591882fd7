package embedded

import (
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// A partition keeps no memory for the bodies that went through it.
func TestPush_PartitionKeepsNoBuffer(t *testing.T) {
	t.Parallel()
	r := fullRig(t, faultdisk.New())
	for i := range 20 {
		r.p.Index = i
		m := message(i + 1)
		m.Body = make([]byte, 50_000)
		r.push(m)
		if j := r.inner().journal; cap(j.body) > 0 || cap(j.puts) > 0 || j.buffers != nil {
			t.Errorf("partition %d keeps %d bytes and %d puts", i, cap(j.body), cap(j.puts))
		}
	}
	// Nor does any of them keep what another one is to be given.
	if b := r.frames.get(); len(b.body) > 0 || len(b.puts) > 0 {
		t.Errorf("buffers with %d bytes and %d puts", len(b.body), len(b.puts))
	}
}

// A store that is used by short processes stays small, and so does what opening it reads.
func TestOpen_ShortProcessesLeaveASmallStore(t *testing.T) {
	t.Parallel()
	const processes, size = shortProcesses, 240_000
	d := faultdisk.New()
	r := fullRig(t, d)
	var most int64
	for n := range processes {
		m := message(n + 1)
		m.Body = make([]byte, size)
		r.push(m)
		if n%3 > 0 { // some are left until the next process
			r.drain(10)
		}
		r.reopen(d)
		most = max(most, d.Used())
	}
	if most > 8<<20 {
		t.Errorf("%d bytes at most after %d processes with %d bytes each", most, processes, size)
	}
	t.Logf("%d bytes at most", most)
	if got := r.stats(); got.Counters.Sent != processes {
		t.Errorf("stats: %+v", got)
	}
}

// What is left of a store after its peak does not depend on the peak.
func TestMerge_EmptyStoreIsSmallWhateverItsPeak(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	d := faultdisk.New()
	r := fullRig(t, d)
	n := 1
	for range 4 {
		for range 60 {
			ms := make([]store.Message, store.MaxBatch)
			for i := range ms {
				ms[i] = message(n)
				n++
			}
			r.push(ms...)
		}
		r.must(r.care.round(t.Context()))
		r.must(r.care.round(t.Context()))
		r.drain(store.MaxBatch)
	}
	for range 3 {
		r.must(r.care.round(t.Context()))
	}
	if size := r.care.log.Size(); size > garbageIdle+64<<10 {
		t.Errorf("the log of an empty store has %d bytes", size)
	}
}
