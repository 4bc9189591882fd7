package wal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
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

var quiet = slog.New(slog.DiscardHandler)

// rig is a log on a disk in memory, and the frames that were read when it was opened.
type rig struct {
	*Log
	t    *testing.T
	disk *faultdisk.Disk
	read []string
}

// inOrder reads frames where they are applied.
func inOrder(apply func(at Spot, body []byte) error) ReadFunc {
	return func(at Spot, body []byte) (func() error, error) {
		return func() error { return apply(at, body) }, nil
	}
}

// nothing reads frames that are not needed.
var nothing = inOrder(func(Spot, []byte) error { return nil })

func open(t *testing.T, d *faultdisk.Disk, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, disk: d}
	c := Config{Disk: d, SegmentSize: 8 << 10, Logger: quiet}
	if change != nil {
		change(&c)
	}
	var err error
	if r.Log, err = Open(c, inOrder(func(_ Spot, body []byte) error {
		r.read = append(r.read, string(body))
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	return r
}

// put appends a frame as a caller would.
func (r *rig) put(body string) (Spot, Position) {
	r.t.Helper()
	if err := r.Admit(len(body)+frameHead, Add); err != nil {
		r.t.Fatal(err)
	}
	defer r.Release(len(body) + frameHead)
	return r.Append([]byte(body))
}

func (r *rig) closed() {
	r.t.Helper()
	r.must(r.Close())
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// While a sync is under way, all who come meanwhile gather for one more.
func TestSynced_ManyCallersShareASync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := faultdisk.New()
		r := open(t, d, func(c *Config) { c.SegmentSize = 1 << 20 }) // one segment: no other syncs
		syncs, end := 0, make(chan struct{})
		d.Before = func(op faultdisk.Op) error {
			if op.Kind == "sync" {
				<-end
			}
			return nil
		}
		const callers, each = 32, 20
		for i := range each {
			var wg sync.WaitGroup
			for n := range callers {
				wg.Go(func() {
					_, upto := r.put(fmt.Sprint(n, i))
					if err := r.Kept(t.Context(), upto); err != nil {
						t.Error(err)
					}
				})
			}
			for under := true; under; {
				synctest.Wait() // all have appended, and the sync under way, if there is one, waits
				select {
				case end <- struct{}{}:
					syncs++
				default:
					under = false
				}
			}
			wg.Wait()
		}
		if syncs > 2*each {
			t.Errorf("%d syncs for %d calls, want %d at most", syncs, callers*each, 2*each)
		}
		close(end)
		r.must(r.Close())
		again := open(t, d, nil)
		if len(again.read) != callers*each {
			t.Errorf("%d frames are left, want %d", len(again.read), callers*each)
		}
		r.must(again.Close())
	})
}

func TestSynced_WaiterEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	release, syncing := make(chan struct{}), make(chan struct{}, 1)
	d.Before = func(op faultdisk.Op) error {
		if op.Kind == "sync" {
			syncing <- struct{}{}
			<-release
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, end := r.put("x")
	go func() {
		<-syncing
		cancel()
	}()
	if err := r.Kept(ctx, end); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, end = r.put("y")
	r.must(r.Written(end)) // does not wait for the sync of the disk
	d2 := d.Cut(faultdisk.Kept, rand.New(rand.NewPCG(1, 1)))
	if got := open(t, d2, nil); len(got.read) != 2 {
		t.Errorf("read %q", got.read)
	} else {
		r.must(got.Close())
	}
	go func() {
		for range syncing {
			continue
		}
	}()
	close(release)
	r.must(r.Close())
	close(syncing)
}

// With SyncEvery no call waits for the disk, and everything is on it a moment later.
func TestSyncEvery(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	synced := make(chan struct{}, 100)
	r := open(t, d, func(c *Config) { c.SyncEvery = time.Millisecond })
	d.Before = func(op faultdisk.Op) error {
		if op.Kind == "sync" {
			select {
			case synced <- struct{}{}:
			default:
			}
		}
		return nil
	}
	_, end := r.put("x")
	r.must(r.Kept(t.Context(), end))
	<-synced
	r.must(r.Close())
}

func TestNeverSync(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, func(c *Config) { c.NeverSync = true })
	var syncs atomic.Int64
	d.Before = func(op faultdisk.Op) error {
		if op.Kind == "sync" {
			syncs.Add(1)
		}
		return nil
	}
	for range 20 {
		_, end := r.put("x")
		r.must(r.Kept(t.Context(), end))
	}
	if n := syncs.Load(); n > 0 {
		t.Errorf("%d syncs", n)
	}
	r.must(r.Close())
	if syncs.Load() == 0 {
		t.Error("not even an orderly end syncs")
	}
}

func TestRead_FromMemoryAndFromFiles(t *testing.T) {
	t.Parallel()
	r := open(t, faultdisk.New(), nil)
	spots := map[Spot]string{}
	var end Position
	for n := range 200 {
		body := fmt.Sprintf("frame number %d", n)
		var at Spot
		at, end = r.put(body)
		spots[at] = body
	}
	r.check(spots)
	r.must(r.Synced(t.Context(), end))
	r.mu.Lock()
	r.window.chunks = nil // so that only the files are left
	r.mu.Unlock()
	r.check(spots)
	if err := r.Read(make([]byte, 1), Spot{99, 0}); err == nil {
		t.Error("read from a segment that does not exist")
	}
	r.must(r.Close())
	if err := r.Kept(t.Context(), end+1000); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := r.Admit(1, Drain); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func (r *rig) check(spots map[Spot]string) {
	r.t.Helper()
	for at, want := range spots {
		b := make([]byte, len(want))
		if err := r.Read(b, at); err != nil || string(b) != want {
			r.t.Fatalf("%v: %q, %v, want %q", at, b, err, want)
		}
	}
}

func TestAppend_WindowIsBounded(t *testing.T) {
	t.Parallel()
	r := open(t, faultdisk.New(), func(c *Config) { c.SegmentSize = 1 << 30 })
	body := string(make([]byte, 100_000))
	for range 200 {
		_, end := r.put(body)
		r.must(r.Kept(t.Context(), end))
	}
	r.mu.Lock()
	size := 0
	for _, c := range r.window.chunks {
		size += cap(c.data)
	}
	r.mu.Unlock()
	if size > windowSize+2*chunkSize {
		t.Errorf("%d bytes are kept in memory", size)
	}
	r.must(r.Close())
}

func TestOpen_NewerVersionIsNeitherReadNorSalvaged(t *testing.T) {
	t.Parallel()
	for _, salvage := range []bool{false, true} {
		d := faultdisk.New()
		open(t, d, nil).closed()
		data := d.Bytes(segmentName(1))
		for _, at := range []int{0, copyAt} {
			header := data[at : at+headerSize]
			header[versionAt+1] = 2
			binary.BigEndian.PutUint32(header[headerSize-4:], checksum(0, header[:headerSize-4]))
		}
		before := bytes.Clone(data)
		_, err := Open(Config{Disk: d, Salvage: salvage, Logger: quiet}, nil)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "format version 2, this program reads version 1") {
			t.Errorf("salvage %v: %v", salvage, err)
		}
		if !bytes.Equal(d.Bytes(segmentName(1)), before) {
			t.Errorf("salvage %v: the file was changed", salvage)
		}
	}
}

// A message may hold the bytes of a frame: they are none where they stand.
func TestOpen_FrameInABodyIsNotAFrame(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	_, end := r.put("first")
	r.must(r.Synced(t.Context(), end))
	inner := d.Bytes(segmentName(1))[segmentHead:]
	_, end = r.put(string(inner) + string(inner))
	r.must(r.Synced(t.Context(), end))
	size := len(d.Bytes(segmentName(1)))
	torn := faultdisk.New()
	torn.Put(segmentName(1), bytes.Clone(d.Bytes(segmentName(1))[:size-1]))
	r.must(r.Close())
	again := open(t, torn, nil)
	if len(again.read) != 1 {
		t.Errorf("read %q", again.read)
	}
	r.must(again.Close())
}

// What once was a frame of another segment, at the same offset in it, is none of this one: a
// disk may hand out what it has of a file that was removed.
func TestOpen_FramesOfAnotherSegmentAreDamage(t *testing.T) {
	t.Parallel()
	content, frames := threeSegments(t)
	copy(content[segmentName(2)][segmentHead:], content[segmentName(1)][segmentHead:])
	read, damage := inspect(t, diskOf(content))
	if !slices.Equal(read, slices.Concat(frames[0], frames[2])) || len(damage) == 0 {
		t.Errorf("read %q, damage %v", read, damage)
	}
}

// Whatever a file holds: it is opened, with whole frames only, or refused.
func FuzzOpen(f *testing.F) {
	d := faultdisk.New()
	l, err := Open(Config{Disk: d}, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, body := range []string{"one", "two", "three"} {
		_, end := l.Append([]byte(body))
		if err := l.Synced(context.Background(), end); err != nil {
			f.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	whole := d.Bytes(segmentName(1))
	f.Add(whole, 0, byte(0))
	f.Add(whole[:len(whole)-13], 40, byte(1))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		data = bytes.Clone(data)
		if len(data) > segmentHead { // with a good header, or little would be tried
			copy(data, whole[:segmentHead])
			data[segmentHead+(at&0x7fffffff)%(len(data)-segmentHead)] ^= flip
		}
		d := faultdisk.New()
		d.Put(segmentName(1), data)
		var read [][]byte
		l, err := Open(Config{Disk: d, Logger: quiet}, inOrder(func(_ Spot, body []byte) error {
			read = append(read, body)
			return nil
		}))
		if err != nil {
			if _, ok := errors.AsType[*DamageError](err); !ok {
				t.Fatalf("neither opened nor damaged: %v", err)
			}
			return
		}
		for _, body := range read {
			if !bytes.Contains(data, body) || len(body) == 0 {
				t.Errorf("a frame of %d bytes that is not there", len(body))
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
