package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// contentOf returns the files of a disk.
func contentOf(t *testing.T, d *faultdisk.Disk) map[string][]byte {
	t.Helper()
	names, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for _, name := range names {
		content[name] = bytes.Clone(d.Bytes(name))
	}
	return content
}

// diskOf returns a disk with copies of files.
func diskOf(content map[string][]byte) *faultdisk.Disk {
	d := faultdisk.New()
	for name, data := range content {
		d.Put(name, bytes.Clone(data))
	}
	return d
}

// inspect returns what can be read of a log, and its damage.
func inspect(t *testing.T, d *faultdisk.Disk) (read []string, damage []DamageError) {
	t.Helper()
	damage, err := Inspect(Config{Disk: d, Logger: quiet}, inOrder(func(_ Spot, body []byte) error {
		read = append(read, string(body))
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return read, damage
}

// salvage opens a damaged log and returns what is left of it.
func salvage(t *testing.T, d *faultdisk.Disk) []string {
	t.Helper()
	r := open(t, d, func(c *Config) { c.Salvage = true })
	r.closed()
	return r.read
}

// The order and content of frames is right, or an error is found, for every error of one
// bit or two in frames and note.
func TestOpen_EveryErrorOfTwoBitsIsFound(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	for _, body := range []string{"one", "two"} {
		_, end := r.put(body)
		r.must(r.Kept(t.Context(), end))
	}
	r.closed()
	data := d.Bytes(segmentName(1))
	var bits []int
	for at := range data {
		if at >= noteAt && at < noteAt+noteSize || at >= segmentHead {
			for bit := range 8 {
				bits = append(bits, at*8+bit)
			}
		}
	}
	flip := func(bit int) { data[bit/8] ^= 1 << (bit % 8) }
	for i, first := range bits {
		for _, second := range bits[i:] {
			flip(first)
			if second != first {
				flip(second)
			}
			read, damage := inspect(t, d)
			if len(damage) == 0 && !slices.Equal(read, []string{"one", "two"}) {
				t.Fatalf("bits %d and %d of bytes %d and %d: read %q", first%8, second%8, first/8, second/8, read)
			}
			flip(first)
			if second != first {
				flip(second)
			}
		}
	}
	t.Logf("%d bits", len(bits))
}

func TestReadHeader_EveryErrorOfTwoBitsIsFound(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	header := (&identity{number: 1, oldest: 1}).header()
	for first := range headerSize * 8 {
		for second := range first + 1 {
			b := bytes.Clone(header)
			b[first/8] ^= 1 << (first % 8)
			if second != first {
				b[second/8] ^= 1 << (second % 8)
			}
			if _, err := readHeader(append(b, make([]byte, copyAt)...)); !errors.Is(err, errHeader) {
				t.Fatalf("bits %d and %d: %v", first, second, err)
			}
		}
	}
}

// A message is made of heads of frames that are not there, each with a long body. The
// write of it is torn. Opening reads the log a few times, not once for each head.
func TestOpen_FakeHeadsInATornBodyAreNotFollowed(t *testing.T) {
	t.Parallel()
	const size = 768 << 10
	body := make([]byte, 0, size)
	for len(body)+frameHead <= size {
		head := make([]byte, frameHead)
		binary.BigEndian.PutUint64(head[4:], uint64(len(body)%checkAt)<<checkAt|uint64(size-len(body)-frameHead)<<unsyncedBits)
		body = append(body, head...)
	}
	d := faultdisk.New()
	r := open(t, d, func(c *Config) { c.SegmentSize = 4 << 20 })
	_, end := r.put(string(body))
	r.must(r.Kept(t.Context(), end))
	torn := diskOf(contentOf(t, d))
	torn.Bytes(segmentName(1))[segmentHead+100] ^= 1
	r.closed()
	summed := 0
	again := open(t, torn, func(c *Config) {
		c.Checksum = func(sum uint32, b []byte) uint32 {
			if len(b) > saltSize+4+8 { // a body
				summed += len(b)
			}
			return checksum(sum, b)
		}
	})
	if len(again.read) != 0 {
		t.Errorf("read %d frames", len(again.read))
	}
	again.closed()
	if summed > 16*size {
		t.Errorf("%d bytes of bodies were read, of a log of %d", summed, size)
	}
}

// threeSegments returns the files of a log that was closed in good order, and the frames
// of each file.
func threeSegments(t *testing.T) (content map[string][]byte, frames [][]string) {
	t.Helper()
	d := faultdisk.New()
	r := open(t, d, nil)
	for n := range 3 {
		var bodies []string
		for i := range 3 {
			body := fmt.Sprintf("frame %d of segment %d", i, n+1)
			_, end := r.put(body)
			r.must(r.Kept(t.Context(), end))
			bodies = append(bodies, body)
		}
		frames = append(frames, bodies)
		if n < 2 {
			r.must(r.Roll())
		}
	}
	r.closed()
	return contentOf(t, d), frames
}

func TestOpen_SegmentsThatDoNotBelongTogether(t *testing.T) {
	t.Parallel()
	content, frames := threeSegments(t)
	other, _ := threeSegments(t)
	name := func(n int) string { return segmentName(uint32(n)) }
	cut := func(n, upto int) func(files map[string][]byte) {
		return func(files map[string][]byte) {
			at := segmentHead
			for range upto {
				at += frameHead + len(frames[0][0])
			}
			files[name(n)] = files[name(n)][:at]
		}
	}
	for _, tt := range []struct {
		name   string
		change func(files map[string][]byte)
		want   string // in the error
		left   []string
	}{
		{"first missing", func(f map[string][]byte) { delete(f, name(1)) }, name(1) + ", offset 0: the file is missing", slices.Concat(frames[1], frames[2])},
		{"second missing", func(f map[string][]byte) { delete(f, name(2)) }, name(2) + ", offset 0: the file is missing", slices.Concat(frames[0], frames[2])},
		{"last missing", func(f map[string][]byte) { delete(f, name(3)) }, name(3) + ", offset 0: the file is missing", slices.Concat(frames[0], frames[1])},
		{"last two missing", func(f map[string][]byte) { delete(f, name(2)); delete(f, name(3)) }, name(2) + ", offset 0: the file is missing", frames[0]},
		{"first two missing", func(f map[string][]byte) { delete(f, name(1)); delete(f, name(2)) }, name(1) + ", offset 0: all files from this to " + name(2), frames[2]},
		{"first cut between frames", cut(1, 2), name(1) + ", offset", slices.Concat(frames[0][:2], frames[1], frames[2])},
		{"first cut behind its last frame", cut(1, 3), name(1) + ", offset", slices.Concat(frames...)},
		{"second without frames", cut(2, 0), name(2) + ", offset", slices.Concat(frames[0], frames[2])},
		{"last cut between frames", cut(3, 2), name(3) + ", offset", slices.Concat(frames[0], frames[1], frames[2][:2])},
		{"last without frames", cut(3, 0), name(3) + ", offset", slices.Concat(frames[0], frames[1])},
		{"swapped", func(f map[string][]byte) { f[name(1)], f[name(2)] = f[name(2)], f[name(1)] }, name(1) + ", offset 0: the file is that of segment 2", slices.Concat(frames...)},
		{"renamed", func(f map[string][]byte) { f[name(7)] = f[name(3)]; delete(f, name(3)) }, name(7) + ", offset 0: the file is that of segment 3", slices.Concat(frames...)},
		{"duplicated in place of another", func(f map[string][]byte) { f[name(2)] = f[name(1)] }, name(2) + ", offset 0: the file is that of segment 1", slices.Concat(frames[0], frames[2])},
		{"duplicated behind the last", func(f map[string][]byte) { f[name(4)] = f[name(1)] }, name(4) + ", offset 0: the file is that of segment 1", slices.Concat(frames...)},
		{"first of another store", func(f map[string][]byte) { f[name(1)] = other[name(1)] }, name(1) + ", offset 0: the file is of another store", slices.Concat(frames[1], frames[2])},
		{"last of another store", func(f map[string][]byte) { f[name(3)] = other[name(3)] }, name(3) + ", offset 0: the file is of another store", slices.Concat(frames[0], frames[1])},
		{"header damaged", func(f map[string][]byte) { f[name(2)][20] ^= 1 }, name(2) + ", offset 0: the header is damaged, its copy is not", slices.Concat(frames...)},
		{"copy of the header damaged", func(f map[string][]byte) { f[name(2)][copyAt+20] ^= 1 }, name(2) + ", offset 4096: the copy of the header is damaged", slices.Concat(frames...)},
		{"both damaged", func(f map[string][]byte) { f[name(2)][20] ^= 1; f[name(2)][copyAt+20] ^= 1 }, name(2) + ", offset 0: the header is damaged, and so is its copy", slices.Concat(frames[0], frames[2])},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{}
			for name, data := range content {
				files[name] = bytes.Clone(data)
			}
			tt.change(files)
			_, err := Open(Config{Disk: diskOf(files), Logger: quiet}, nothing)
			if _, ok := errors.AsType[*DamageError](err); !ok || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("opened with %v, want %q", err, tt.want)
			}
			d := diskOf(files)
			read, damage := inspect(t, d)
			if !slices.Equal(read, tt.left) || len(damage) == 0 {
				t.Errorf("inspected: %q, %v", read, damage)
			}
			if after := contentOf(t, d); !maps.EqualFunc(after, files, bytes.Equal) {
				t.Error("inspecting changed the files")
			}
			if got := salvage(t, d); !slices.Equal(got, tt.left) {
				t.Errorf("salvaged %q, want %q", got, tt.left)
			}
		})
	}
}

// A copy of a store went on. Its segments have the same store and numbers, but
// are not accepted among those of the other.
func TestOpen_SegmentOfADivergedCopy(t *testing.T) {
	t.Parallel()
	content, _ := threeSegments(t)
	both := make([]map[string][]byte, 2)
	for i := range both {
		d := diskOf(content)
		r := open(t, d, nil)
		for range 2 {
			_, end := r.put("more")
			r.must(r.Kept(t.Context(), end))
			r.must(r.Roll())
		}
		r.closed()
		both[i] = contentOf(t, d)
	}
	both[0][segmentName(4)] = both[1][segmentName(4)]
	_, err := Open(Config{Disk: diskOf(both[0]), Logger: quiet}, nothing)
	want := segmentName(5) + ", offset 0: it does not follow this " + segmentName(4)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("opened with %v, want %q", err, want)
	}
}

// A segment that was dropped is not missing, also when the power is cut at any moment.
func TestDrop_IsNotTakenForLoss(t *testing.T) {
	t.Parallel()
	content, frames := threeSegments(t)
	d := diskOf(content)
	r := open(t, d, nil)
	rng := rand.New(rand.NewPCG(1, 1))
	cuts := 0
	d.Before = func(faultdisk.Op) error {
		for _, unsynced := range []faultdisk.Unsynced{faultdisk.Lost, faultdisk.Kept, faultdisk.Random} {
			cuts++
			again := open(t, d.Cut(unsynced, rng), nil)
			if !slices.Equal(again.read, slices.Concat(frames...)) && !slices.Equal(again.read, slices.Concat(frames[1], frames[2])) {
				t.Errorf("read %q", again.read)
			}
			again.closed()
		}
		return nil
	}
	r.must(r.Drop(t.Context()))
	d.Before = nil
	r.closed()
	if read, damage := inspect(t, d); len(damage) > 0 || !slices.Equal(read, slices.Concat(frames[1], frames[2])) {
		t.Errorf("read %q, damage %v", read, damage)
	}
	t.Logf("%d power cuts", cuts)
}

// After a failed sync the system may have dropped what it could not write, and still
// return it to readers. What is read when the log is opened again is made durable by
// writing it again.
func TestOpen_WritesAgainWhatMayNotBeOnDisk(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	_, end := r.put("kept")
	r.must(r.Kept(t.Context(), end))
	d.Before = func(op faultdisk.Op) error {
		if op.Kind == "sync" {
			return faultdisk.ErrDropped
		}
		return nil
	}
	_, end = r.put("not synced")
	if err := r.Kept(t.Context(), end); !errors.Is(err, faultdisk.ErrBroken) {
		t.Fatalf("got %v", err)
	}
	d.Before = nil
	_ = r.Close()
	again := open(t, d, nil)
	want := []string{"kept", "not synced"}
	if !slices.Equal(again.read, want) {
		t.Fatalf("read %q", again.read)
	}
	after := open(t, d.Cut(faultdisk.Lost, rand.New(rand.NewPCG(1, 1))), nil)
	if !slices.Equal(after.read, want) {
		t.Errorf("after a power cut %q are left, and %q had been read", after.read, want)
	}
	after.closed()
	again.closed()
}

// A page that cannot be read is damage of that page.
func TestOpen_UnreadablePageIsSalvaged(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, func(c *Config) { c.SegmentSize = 1 << 20 })
	var want []string
	spots := map[string]Spot{}
	for n := range 40 {
		body := fmt.Sprintf("%d %s", n, strings.Repeat("x", 1000))
		at, end := r.put(body)
		r.must(r.Kept(t.Context(), end))
		spots[body] = at
		want = append(want, body)
	}
	r.closed()
	const bad = 5 * readPage
	want = slices.DeleteFunc(want, func(body string) bool {
		at := int(spots[body].Offset)
		return at-frameHead < bad+readPage && at+len(body) > bad
	})
	d.BeforeRead = func(_ string, at int64, size int) error {
		if at < bad+readPage && at+int64(size) > bad {
			return faultdisk.ErrBroken
		}
		return nil
	}
	_, err := Open(Config{Disk: d, Logger: quiet}, nothing)
	if damage, ok := errors.AsType[*DamageError](err); !ok || damage.Offset != bad || !strings.Contains(err.Error(), "cannot be read: input/output error") {
		t.Errorf("opened with %v", err)
	}
	if got := salvage(t, d); !slices.Equal(got, want) {
		t.Errorf("salvaged %d frames, want %d", len(got), len(want))
	}
}

// What rots while the log is open is not dropped with its segment.
func TestScan_DamageIsAnError(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	for range 3 {
		_, end := r.put("frame")
		r.must(r.Kept(t.Context(), end))
	}
	r.must(r.Roll())
	d.Bytes(segmentName(1))[segmentHead+frameHead+5+frameHead] ^= 1 // of the second frame
	seen := 0
	err := r.Scan(func(Spot, []byte) error {
		seen++
		return nil
	})
	if _, ok := errors.AsType[*DamageError](err); !ok || seen != 1 {
		t.Errorf("%d frames, %v", seen, err)
	}
	r.closed()
}

// A second after the last sync everything is proven to be on disk, and nothing is
// written any more.
func TestRest_FollowsTheLastSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := faultdisk.New()
		r := open(t, d, func(c *Config) { c.RestAfter = time.Second })
		_, end := r.put("last")
		r.must(r.Kept(t.Context(), end))
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		damaged := diskOf(contentOf(t, d))
		damaged.Bytes(segmentName(1))[segmentHead+frameHead] ^= 1
		if read, damage := inspect(t, damaged); len(damage) == 0 {
			t.Errorf("rot in the last frame was taken for a torn tail: %q", read)
		}
		size := len(d.Bytes(segmentName(1)))
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if got := len(d.Bytes(segmentName(1))); got != size {
			t.Errorf("the segment of an idle log grew from %d to %d bytes", size, got)
		}
		r.closed()
		if got := len(d.Bytes(segmentName(1))); got != size {
			t.Errorf("closing made the segment grow from %d to %d bytes", size, got)
		}
	})
}
