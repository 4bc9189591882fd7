package wal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// A log that cannot be opened stays as it was found: what is torn is not cut off, what was
// being made is not removed.
func TestOpen_RefusedLogIsNotChanged(t *testing.T) {
	t.Parallel()
	content, _ := threeSegments(t)
	last := segmentName(3)
	content[last] = content[last][:len(content[last])-frameHead-3] // and no note, so that it is torn
	clear(content[last][noteAt : noteAt+noteSize])
	content[segmentName(4)+newSuffix] = []byte("unfinished")
	if _, damage := inspect(t, diskOf(content)); len(damage) > 0 {
		t.Fatalf("before anything is missing: %v", damage)
	}
	delete(content, segmentName(1))
	d := diskOf(content)
	_, err := Open(Config{Disk: d, Logger: quiet}, nothing)
	if _, ok := errors.AsType[*DamageError](err); !ok {
		t.Fatalf("opened with %v", err)
	}
	if after := contentOf(t, d); !maps.EqualFunc(after, content, bytes.Equal) {
		t.Error("the files were changed")
	}
}

func TestOpen_RemovesOnlyUnfinishedSegments(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	for _, name := range []string{segmentName(7) + newSuffix, "notes.log.new", "7.log.new", "notes.new"} {
		d.Put(name, nil)
	}
	open(t, d, nil).closed()
	names, err := d.List()
	if want := []string{segmentName(1), "7.log.new", "notes.log.new", "notes.new"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("left %v, %v: want %v", names, err, want)
	}
}

// Whatever is wrong with a log, reading it leaves no file open.
func TestOpen_LeavesNoFileOpen(t *testing.T) {
	t.Parallel()
	content, _ := threeSegments(t)
	other, _ := threeSegments(t)
	givenUp := inOrder(func(Spot, []byte) error { return ErrGivenUp })
	for name, change := range map[string]func(files map[string][]byte){
		"nothing":          func(map[string][]byte) {},
		"missing":          func(f map[string][]byte) { delete(f, segmentName(2)) },
		"of another store": func(f map[string][]byte) { f[segmentName(2)] = other[segmentName(2)] },
		"duplicated":       func(f map[string][]byte) { f[segmentName(4)] = f[segmentName(1)] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := maps.Clone(content)
			change(files)
			d := diskOf(files)
			var mu sync.Mutex
			left := 0
			d.Before = func(op faultdisk.Op) error {
				mu.Lock()
				defer mu.Unlock()
				switch op.Kind {
				case "open", "create":
					left++
				case "close":
					left--
				}
				return nil
			}
			inspect(t, d)
			if left != 0 {
				t.Errorf("after inspecting %d files are open", left)
			}
			if _, err := Open(Config{Disk: d, Logger: quiet, Salvage: true}, givenUp); !errors.Is(err, ErrGivenUp) {
				t.Errorf("opened with %v", err)
			}
			if left != 0 {
				t.Errorf("after giving up %d files are open", left)
			}
			salvage(t, d)
			if left != 0 {
				t.Errorf("after salvaging %d files are open", left)
			}
		})
	}
}

// What was read when the log was opened is proven to be on disk, though nothing is appended:
// rot in it is not taken for a torn tail.
func TestOpen_LogReadIsProvenToBeOnDisk(t *testing.T) {
	t.Parallel()
	for _, rolled := range []bool{false, true} {
		t.Run(fmt.Sprintf("empty segment behind it: %v", rolled), func(t *testing.T) {
			t.Parallel()
			d := faultdisk.New()
			r := open(t, d, nil)
			at, end := r.put("last")
			r.must(r.Synced(t.Context(), end))
			if rolled {
				r.must(r.Roll())
			}
			killed := diskOf(contentOf(t, d)) // before the end of the first segment is written
			r.closed()
			again := open(t, killed, nil)
			left := diskOf(contentOf(t, killed))
			again.closed()
			left.Bytes(segmentName(1))[at.Offset] ^= 1
			if read, damage := inspect(t, left); len(damage) == 0 {
				t.Errorf("rot in the last frame was taken for a torn tail: %q", read)
			}
		})
	}
}

// A reserve without a segment is what is left of a store.
func TestOpen_OnlySegmentMissing(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	needs := func(c *Config) { c.Needs = func() Needs { return Needs{Drain: reserveStep} } }
	r := open(t, d, needs)
	r.must(r.KeepReserve())
	r.closed()
	open(t, d, needs).closed()
	if err := d.Remove(segmentName(1)); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Config{Disk: d, Logger: quiet}, nil)
	if damage, ok := errors.AsType[*DamageError](err); !ok || damage.File != reserveName {
		t.Fatalf("opened with %v", err)
	}
	if _, damage := inspect(t, d); len(damage) != 1 {
		t.Errorf("inspected: %v", damage)
	}
	salvage(t, d)
	open(t, d, needs).closed()
}

// A rest takes no space that calls were promised.
func TestRest_LeavesWhatWasPromised(t *testing.T) {
	t.Parallel()
	r := open(t, faultdisk.New(), func(c *Config) { c.SegmentSize = 1 << 20 })
	const frames = 20
	r.must(r.Admit(frames*FrameSize(1), Add))
	r.mu.Lock()
	most := int(r.active().allocated) - r.active().size - r.promised - slack
	r.mu.Unlock()
	r.must(r.Admit(most, Add))
	for n := range frames {
		r.Append([]byte{1})
		r.Release(FrameSize(1))
		r.must(r.rest())
		r.mu.Lock()
		missing := int64(r.active().size+r.promised) - r.active().allocated
		r.mu.Unlock()
		if missing > 0 {
			t.Fatalf("after %d rests %d bytes are missing of what was promised", n+1, missing)
		}
	}
	r.Release(most)
	r.closed()
}

// A segment may be dropped between the look for it and the read.
func TestRead_SegmentIsDroppedMeanwhile(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	at, end := r.put("frame")
	r.must(r.Synced(t.Context(), end))
	r.closed()
	r = open(t, d, nil)
	r.must(r.Roll())
	d.BeforeRead = func(string, int64, int) error {
		d.BeforeRead = nil
		r.must(r.Drop(t.Context()))
		return os.ErrClosed
	}
	if err := r.Read(make([]byte, 5), at); !errors.Is(err, ErrNoSegment) {
		t.Errorf("read of a dropped segment: %v", err)
	}
	r.closed()
	d.BeforeRead = func(string, int64, int) error { return os.ErrClosed }
	if err := r.Read(make([]byte, 5), Spot{2, 0}); !errors.Is(err, ErrClosed) {
		t.Errorf("read of a closed log: %v", err)
	}
}

// A file of 1 TiB is not read into memory.
func TestOpen_FileLargerThanASegmentCanBe(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, err := disk.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(Config{Disk: d, Logger: quiet}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(path, segmentName(1)), 1<<40); err != nil {
		t.Skipf("SKIPPED: the file system has no such files: %v", err)
	}
	_, err = Open(Config{Disk: d, Logger: quiet}, nil)
	if damage, ok := errors.AsType[*DamageError](err); !ok || damage.Offset != segmentMost {
		t.Errorf("opened with %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
