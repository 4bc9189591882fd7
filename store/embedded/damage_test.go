package embedded

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

const (
	firstLog    = "0000000001.log"
	segmentHead = 4160 // bytes before the first frame
)

// smallLog runs a short script without merges and returns the store's states and what
// is on its disk, closed in good order or as a kill leaves it.
func smallLog(t *testing.T, closed bool) (states []string, content map[string][]byte) {
	t.Helper()
	x := newScript(t, 4, faultdisk.New(), tuning{segmentSize: 8 << 10})
	x.keeps = true
	for len(x.states) < 60 {
		x.step()
	}
	if closed {
		if err := x.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	content = contentOf(t, x.disk.Cut(faultdisk.Kept, x.rng))
	if !closed {
		_ = x.s.Close()
	}
	return x.states, content
}

func contentOf(t *testing.T, d *faultdisk.Disk) map[string][]byte {
	t.Helper()
	names, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			content[name] = d.Bytes(name)
		}
	}
	return content
}

// openContent opens a store on copies of files.
func openContent(t *testing.T, content map[string][]byte, repair bool) (*Store, error) {
	t.Helper()
	d := faultdisk.New()
	for name, data := range content {
		d.Put(name, slices.Clone(data))
	}
	clock := &handClock{}
	return openOn(t.Context(), d, Config{Now: clock.Now, Logger: quiet, Repair: repair}, tuning{byHand: true})
}

func mustClose(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_LogCutAnywhereIsAPrefix(t *testing.T) {
	t.Parallel()
	states, content := smallLog(t, false)
	names := slices.Sorted(maps.Keys(content))
	last := names[len(names)-1]
	whole, at := content[last], 0
	for size := len(whole); size >= segmentHead; size-- {
		content[last] = whole[:size]
		s, err := openContent(t, content, false)
		if err != nil {
			t.Fatalf("%s cut to %d bytes: %v", last, size, err)
		}
		found := slices.Index(states, fingerprint(s))
		if found < 0 {
			t.Fatalf("%s cut to %d bytes: a state that never was", last, size)
		}
		if size < len(whole) && found > at {
			t.Fatalf("%s cut to %d bytes: state %d, although one byte more gives %d", last, size, found, at)
		}
		at = found
		mustClose(t, s)
	}
}

// After an orderly end every flipped bit is found, except in what says that the end was
// orderly, the last frame and the note: each proves it without the other.
func TestOpen_EveryFlippedBitIsFound(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	const noteAt, noteEnd, closingFrame = 512, 520, 12
	states, content := smallLog(t, true)
	names := slices.Sorted(maps.Keys(content))
	for _, name := range names {
		for at := range content[name] {
			content[name][at] ^= 1 << (at % 8)
			s, err := openContent(t, content, false)
			content[name][at] ^= 1 << (at % 8)
			inClosing := name == names[len(names)-1] && at >= len(content[name])-closingFrame || at >= noteAt && at < noteEnd
			switch {
			case err == nil && inClosing:
				if fingerprint(s) != states[len(states)-1] {
					t.Fatalf("%s, byte %d: another state", name, at)
				}
			case err == nil:
				t.Fatalf("%s, byte %d: opened", name, at)
			case !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), name+", offset "):
				t.Fatalf("%s, byte %d: %v", name, at, err)
			}
			if s != nil {
				mustClose(t, s)
			}
		}
	}
}

func TestOpen_MissingSegmentIsFound(t *testing.T) {
	t.Parallel()
	_, content := smallLog(t, true)
	names := slices.Sorted(maps.Keys(content))
	if len(names) < 3 {
		t.Fatalf("only %v", names)
	}
	for _, name := range names[:len(names)-1] {
		lost := maps.Clone(content)
		delete(lost, name)
		if _, err := openContent(t, lost, false); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestRepair_KeepsEverythingElse(t *testing.T) {
	t.Parallel()
	_, content := smallLog(t, true)
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range repairRoundsUsual {
		damaged := maps.Clone(content)
		for _, name := range slices.Sorted(maps.Keys(content)) {
			data := slices.Clone(content[name])
			for range 1 + rng.IntN(3) {
				data[rng.IntN(len(data))] ^= 0x55
			}
			damaged[name] = data
		}
		if round%10 == 0 {
			delete(damaged, firstLog)
		}
		checkRepair(t, damaged)
	}
}

// checkRepair inspects and repairs a store and makes sure that it is in order and can be
// used.
func checkRepair(t *testing.T, content map[string][]byte) {
	t.Helper()
	d := faultdisk.New()
	for name, data := range content {
		d.Put(name, slices.Clone(data))
	}
	listed, err := inspectOn(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if after := contentOf(t, d); !maps.EqualFunc(after, content, slices.Equal) {
		t.Error("inspecting changed the files")
	}
	clock := &handClock{}
	s, err := openOn(t.Context(), d, Config{Now: clock.Now, Logger: quiet, Repair: true}, tuning{byHand: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Damage()) == 0 {
		t.Error("no damage was reported")
	}
	if sortedText(listed) != sortedText(s.Damage()) {
		t.Errorf("inspecting listed %v, repair %v", listed, s.Damage())
	}
	for _, p := range s.allPartitions() {
		if r := p.check(auditOrders[0], start(), 1<<30); len(r.Problems) > 0 {
			t.Errorf("after the repair: %v", r.Problems)
		}
	}
	want := fingerprint(s)
	mustClose(t, s)
	if s, err = openOn(t.Context(), d, Config{Now: clock.Now, Logger: quiet}, tuning{byHand: true}); err != nil {
		t.Fatalf("opening what was repaired: %v", err)
	}
	if got := fingerprint(s); got != want {
		t.Error("what was repaired is not what is opened")
	}
	mustClose(t, s)
}

// sortedText returns damage in one order: that of partitions is random.
func sortedText(damage []Damage) string {
	lines := make([]string, len(damage))
	for i := range damage {
		lines[i] = damage[i].Error()
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Only the messages whose bytes were damaged are missing.
func TestRepair_LosesOnlyWhatWasDamaged(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	clock := &handClock{}
	s, err := openOn(t.Context(), d, Config{Now: clock.Now, Logger: quiet}, tuning{byHand: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, Store: s, clock: clock, p: store.Partition{Queue: "q"}}
	for n := range 9 {
		m := message(n + 1)
		m.Body = fmt.Appendf(nil, "body number %d", n+1)
		r.push(m)
	}
	mustClose(t, s)
	data := d.Bytes(firstLog)
	data[strings.Index(string(data), "body number 5")] ^= 1
	if _, err := openContent(t, contentOf(t, d), false); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("opened although damaged: %v", err)
	}
	if s, err = openContent(t, contentOf(t, d), true); err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	r.Store = s
	if got := numbers(r.claimN(10).Deliveries); !slices.Equal(got, []int{1, 2, 3, 4, 6, 7, 8, 9}) {
		t.Errorf("left: %v", got)
	}
}
