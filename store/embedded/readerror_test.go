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

// unreadable is a disk whose reads of some bytes fail for a while.
type unreadable struct {
	disk.Disk
	failing *atomic.Bool
	covers  func(at int64, size int) bool
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
	if f.of.failing.Load() && f.of.covers(at, len(b)) {
		return 0, syscall.EIO
	}
	return f.File.ReadAt(b, at)
}

// unreadable opens the store of a rig again, on a disk that cannot read message n while
// failing.
func (r *rig) unreadable(d *faultdisk.Disk, n int) (failing *atomic.Bool) {
	r.Helper()
	at := int64(r.inner().byID.get(id(n)).stored.offset)
	r.must(r.Close()) // so that it is not in memory any more
	failing = new(atomic.Bool)
	broken := &unreadable{Disk: d, failing: failing, covers: func(from int64, size int) bool {
		return from <= at && at < from+int64(size)
	}}
	s, err := openOn(r.Context(), broken, Config{Now: r.clock.Now, Logger: quiet}, tuning{byHand: true, segmentSize: smallSegments})
	r.must(err)
	r.Store, r.number = s, 100
	r.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.Error(err)
		}
	})
	return failing
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
	failing := r.unreadable(d, 2)
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

// A message that is sent again while its record cannot be read is not answered for certain:
// it may be the same.
func TestPush_SentAgainWhileItCannotBeRead(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := diskRig(t, d)
	r.push(message(1))
	failing := r.unreadable(d, 1)
	again := store.PushRequest{Producer: "another", Number: 1, Messages: []store.Message{message(2), message(1)}}
	failing.Store(true)
	if got, err := r.Push(t.Context(), r.p, again); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFailed) {
		t.Errorf("got %v, %v", got, err)
	}
	if got := r.stats(); got.Ready != 1 || got.Counters.Sent != 1 {
		t.Errorf("something was stored: %+v", got)
	}
	failing.Store(false)
	got, err := r.Push(t.Context(), r.p, again)
	r.must(err)
	if got[0].Code != store.CodeOK || got[1].Code != store.CodeOK || r.stats().Ready != 2 {
		t.Errorf("got %v, %+v", got, r.stats())
	}
}
