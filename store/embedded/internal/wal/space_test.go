package wal

import (
	"errors"
	"testing"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// fill appends frames of a size until none is admitted.
func (r *rig) fill(size int, use Use) (n int) {
	r.t.Helper()
	for ; ; n++ {
		if err := r.Admit(size+frameHead, use); err != nil {
			if !errors.Is(err, ErrFull) {
				r.t.Fatal(err)
			}
			return n
		}
		_, end := r.Append(make([]byte, size))
		r.Release(size + frameHead)
		r.must(r.Written(end))
	}
}

// Each use gets all of the space that is kept for it, however much is allocated ahead when
// there is plenty.
func TestAdmit_FullDiskGivesTheWholeReserve(t *testing.T) {
	t.Parallel()
	const drain, merge, frame = 300 << 10, 200 << 10, 1000
	d := faultdisk.New()
	d.Capacity = 20 << 20
	r := open(t, d, func(c *Config) {
		c.SegmentSize = 32 << 20
		c.Needs = func() Needs { return Needs{Drain: drain, Merge: merge} }
	})
	added := r.fill(frame, Add)
	drained := r.fill(frame, Drain)
	merged := r.fill(frame, Merge)
	const slack = 8 << 10
	if want := (20<<20 - drain - merge - slack) / (frame + frameHead); added < want {
		t.Errorf("%d frames were added, want %d", added, want)
	}
	if want := (drain - slack) / (frame + frameHead); drained < want {
		t.Errorf("%d frames of %d bytes to drain, want %d", drained, frame, want)
	}
	if want := (merge - slack) / (frame + frameHead); merged < want {
		t.Errorf("%d frames of %d bytes to merge, want %d", merged, frame, want)
	}
	r.must(r.Close())
}

// A reserve that must grow with what is added is there before it is added.
func TestAdmit_ReserveKeepsUpWithWhatIsAdded(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int64{150 << 10, 1 << 20, 8 << 20} {
		d := faultdisk.New()
		d.Capacity = capacity
		added := 0
		r := open(t, d, func(c *Config) {
			c.SegmentSize = 32 << 20
			c.Needs = func() Needs { return Needs{Drain: int64(added+1) * 200} }
		})
		for ; r.Admit(200, Add) == nil; added++ {
			_, end := r.Append(make([]byte, 100))
			r.Release(200)
			r.must(r.Written(end))
		}
		if drained := r.fill(200-frameHead-1, Drain); drained < added {
			t.Errorf("%d frames were added to a disk of %d bytes, and then %d could be appended to drain them", added, capacity, drained)
		}
		r.must(r.Close())
	}
}

// A log on a disk without a byte left is closed in good order, and opened again.
func TestClose_FullDisk(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	for n := range 3 {
		_, end := r.put("x")
		r.must(r.Synced(t.Context(), end))
		r.must(r.Close())
		d.SetCapacity(d.Used())
		r = open(t, d, nil)
		r.must(r.Close())
		d.SetCapacity(0)
		r = open(t, d, nil)
		if len(r.read) != n+1 {
			t.Errorf("%d frames, want %d", len(r.read), n+1)
		}
	}
	r.must(r.Close())
}
