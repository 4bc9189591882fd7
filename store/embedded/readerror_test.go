package embedded

import (
	"errors"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// unreadable is a disk whose reads of a place fail for a while.
type unreadable struct {
	disk.Disk
	failing *atomic.Bool
	place   func(at int64, size int) bool
}

type unreadableFile struct {
	disk.File
	of *unreadable
}

func (d *unreadable) Open(name string) (disk.File, error) {
	f, err := d.Disk.Open(name)
	return unreadableFile{f, d}, err
}

func (f unreadableFile) ReadAt(b []byte, at int64) (int, error) {
	if f.of.failing.Load() && f.of.place(at, len(b)) {
		return 0, syscall.EIO
	}
	return f.File.ReadAt(b, at)
}

// An error of the disk that passes does not make a dead letter: the message is delivered
// a little later, and the others flow.
func TestClaim_ReadErrorThatPasses(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := diskRig(t, d)
	for n := range 3 {
		r.push(message(n + 1))
	}
	second := r.inner().byID.get(id(2)).stored
	r.must(r.Close()) // so that they are not in memory any more
	failing := new(atomic.Bool)
	broken := &unreadable{Disk: d, failing: failing, place: func(at int64, size int) bool {
		return at <= int64(second.offset) && int64(second.offset) < at+int64(size)
	}}
	s, err := openOn(t.Context(), broken, Config{Now: r.clock.Now, Logger: quiet}, tuning{byHand: true, segmentSize: smallSegments})
	r.must(err)
	r.Store, r.number = s, 100
	t.Cleanup(func() { mustClose(t, s) })
	failing.Store(true)
	if _, err := r.Get(t.Context(), r.p, store.Ref{ID: id(2)}); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrCorrupt) {
		t.Errorf("get: %v", err)
	}
	if got := numbers(r.claimN(3).Deliveries); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("delivered %v, want 1 and 3", got)
	}
	failing.Store(false)
	r.clock.move(readAgain + time.Millisecond)
	got := r.claimN(3).Deliveries
	if !slices.Equal(numbers(got), []int{2}) || got[0].Receipt.Attempt != 1 || got[0].Failures != 0 {
		t.Errorf("delivered %+v, want message 2 at its first attempt", got)
	}
	if problems := r.audit(); len(problems) > 0 {
		t.Errorf("audit: %v", problems)
	}
}
