package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// afterPowerCut opens what is on a disk when nothing but what was synced is left.
func afterPowerCut(t *testing.T, d *faultdisk.Disk, unsynced faultdisk.Unsynced, seed uint64) []string {
	t.Helper()
	r := open(t, d.Cut(unsynced, rand.New(rand.NewPCG(seed, seed))), nil)
	r.must(r.Close())
	return r.read
}

func unsynced(c *Config) { c.NeverSync = true }

// What a killed process left in the page cache is read by the next, which answers for it.
func TestOpen_SyncsWhatItRead(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	killed := open(t, d, unsynced)
	_, end := killed.put("x")
	killed.must(killed.Kept(t.Context(), end))
	r := open(t, d, nil)
	if left := afterPowerCut(t, d, faultdisk.Lost, 1); !slices.Equal(r.read, []string{"x"}) || !slices.Equal(left, r.read) {
		t.Errorf("read %q, and %q after a power cut", r.read, left)
	}
	r.must(r.Close())
	_ = killed.Close() // only to end its goroutine
}

// Of a torn tail the end may be intact. It must not be read again when something is
// written over the beginning.
func TestOpen_TornTailDoesNotComeBack(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	_, end := r.put("first")
	r.must(r.Synced(t.Context(), end))
	torn, _ := r.put("torn")
	_, end = r.put("last")
	r.must(r.Written(end))
	cut := d.Cut(faultdisk.Kept, rand.New(rand.NewPCG(1, 1)))
	cut.Bytes(segmentName(torn.Segment))[torn.Offset] ^= 1
	r.must(r.Close())

	again := open(t, cut, nil)
	_, end = again.put("next")
	again.must(again.Synced(t.Context(), end))
	if left := afterPowerCut(t, cut, faultdisk.Lost, 1); !slices.Equal(left, []string{"first", "next"}) {
		t.Errorf("read %q", left)
	}
	again.must(again.Close())
}

func TestSynced_WhatIsWrittenAlready(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	_, end := r.put("x")
	r.must(r.Written(end))
	r.must(r.Synced(t.Context(), end))
	if left := afterPowerCut(t, d, faultdisk.Lost, 1); !slices.Equal(left, []string{"x"}) {
		t.Errorf("read %q", left)
	}
	r.must(r.Close())
}

// Whatever is synced, a log that was cut off by a power cut can be opened, and nothing is
// missing before what is left.
func TestPowerCut_UnsyncedLogLeavesItsBeginning(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"never synced": unsynced, "synced each hour": func(c *Config) { c.SyncEvery = time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := faultdisk.New()
			r := open(t, d, change)
			var want []string
			for n := range 100 {
				want = append(want, fmt.Sprint(n, strings.Repeat(".", 200)))
				_, end := r.put(want[n])
				r.must(r.Kept(t.Context(), end))
			}
			for seed := range uint64(50) {
				unsynced := []faultdisk.Unsynced{faultdisk.Lost, faultdisk.Random}[seed%2]
				left := afterPowerCut(t, d, unsynced, seed)
				if len(left) > len(want) || !slices.Equal(left, want[:len(left)]) {
					t.Fatalf("power cut %d left %q", seed, left)
				}
			}
			r.must(r.Close())
		})
	}
}

// A disk that is slow makes the bytes in memory many; none of them may go.
func TestWindow_KeepsWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, func(c *Config) { c.SegmentSize = 1 << 30 })
	release := make(chan struct{})
	d.Before = func(op faultdisk.Op) error {
		if op.Kind == "write" {
			<-release
		}
		return nil
	}
	const frames, size = 100, 100_000
	var end Position
	for range frames {
		_, end = r.put(string(make([]byte, size)))
	}
	close(release)
	r.must(r.Synced(t.Context(), end))
	if left := afterPowerCut(t, d, faultdisk.Lost, 1); len(left) != frames {
		t.Errorf("%d frames are left, want %d", len(left), frames)
	}
	r.must(r.Close())
}

// What stands behind a page that cannot be read is not a torn tail, also if nothing says that
// it was on disk.
func TestOpen_UnreadablePageBeforeWhatWasNeverSynced(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, func(c *Config) { c.NeverSync, c.SegmentSize = true, 1<<20 })
	const bad = 5 * readPage
	var want []string
	for n := range 40 {
		body := fmt.Sprint(n, strings.Repeat(".", 1000))
		at, end := r.put(body)
		r.must(r.Kept(t.Context(), end))
		if from := int(at.Offset) - frameHead; from >= bad+readPage || int(at.Offset)+len(body) <= bad {
			want = append(want, body)
		}
	}
	killed := d.Cut(faultdisk.Kept, rand.New(rand.NewPCG(1, 1)))
	r.must(r.Close())
	killed.BeforeRead = func(_ string, at int64, size int) error {
		if at < bad+readPage && at+int64(size) > bad {
			return faultdisk.ErrBroken
		}
		return nil
	}
	if got := salvage(t, killed); !slices.Equal(got, want) {
		t.Errorf("salvaged %d frames, want %d", len(got), len(want))
	}
}

// A segment was begun, and its name did not get to the disk. While the log is opened again,
// the power is cut at any moment: the segment that has frames must not name one that is gone.
func TestOpen_NameOfASegmentIsDurableBeforeItIsSaidToFollow(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	_, end := r.put("x")
	r.must(r.Synced(t.Context(), end))
	d.Before = func(op faultdisk.Op) error {
		if op.Kind == "dirsync" {
			return faultdisk.ErrBroken
		}
		return nil
	}
	if err := r.Roll(); !errors.Is(err, ErrStopped) {
		t.Fatalf("got %v", err)
	}
	d.Before = nil
	_ = r.Close()
	cuts := 0
	d.Before = func(faultdisk.Op) error {
		cuts++
		if left := afterPowerCut(t, d, faultdisk.Lost, 1); !slices.Equal(left, []string{"x"}) {
			t.Errorf("read %q", left)
		}
		return nil
	}
	again := open(t, d, nil)
	d.Before = nil
	r.must(again.Close())
	if cuts == 0 {
		t.Error("opening did nothing to the disk")
	}
}
