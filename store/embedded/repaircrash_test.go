package embedded

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

var repairs = flag.Int("embedded.repairs", repairsUsual, "embedded: damaged stores that TestRepair_CrashAtAnyPoint repairs")

// Damaged stores are repaired, and the repair is cut short before everything it does to the
// disk. Repairing again must leave what one repair would have; a store that needs no second
// repair must have it, too.
func TestRepair_CrashAtAnyPoint(t *testing.T) {
	t.Parallel()
	for seed := range uint64(*repairs) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			x := newScript(t, 200+seed, faultdisk.New(), tuning{segmentSize: smallSegments})
			for range 250 {
				x.step()
			}
			killed := x.disk.Cut(faultdisk.Kept, x.rng)
			mustClose(t, x.s)
			r := &repairer{x, rand.New(rand.NewPCG(seed, 6)), 0}
			if seed%2 == 0 {
				killed = x.disk
			}
			if err := r.cutShort(r.damaged(killed)); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d crashes while repairing", r.cuts)
		})
	}
}

type repairer struct {
	*script
	rng  *rand.Rand
	cuts int
}

// damaged returns a disk with the files of another, which are damaged in a few places: one
// of them at least where the log knows that it had been on disk.
func (r *repairer) damaged(d *faultdisk.Disk) *faultdisk.Disk {
	r.t.Helper()
	content := contentOf(r.t, d)
	after := faultdisk.New()
	for name, data := range content {
		data = slices.Clone(data)
		if name == firstOf(content) {
			data[segmentHead+r.rng.IntN(len(data)-segmentHead)] ^= 0x55
		}
		if r.rng.IntN(2) == 0 {
			data[r.rng.IntN(len(data))] ^= 0x55
		}
		after.Put(name, data)
	}
	return after
}

// firstOf returns the name of the oldest segment.
func firstOf(content map[string][]byte) string {
	first := ""
	for name := range content {
		if first == "" || strings.Compare(name, first) < 0 {
			first = name
		}
	}
	return first
}

// opened opens a store on a disk, with repair or without, and returns its messages.
func (r *repairer) opened(d *faultdisk.Disk, repair bool) (string, error) {
	c := r.config()
	c.Repair = repair
	s, err := openOn(context.Background(), d, c, r.tune)
	if err != nil {
		return "", err
	}
	return contents(s), errors.Join(audit(s), s.Close())
}

func (r *repairer) cutShort(d *faultdisk.Disk) error {
	if _, err := r.opened(d.Cut(faultdisk.Kept, r.rng), false); !errors.Is(err, store.ErrCorrupt) {
		return fmt.Errorf("the damage was not found: %w", err)
	}
	want, err := r.opened(d.Cut(faultdisk.Kept, r.rng), true)
	if err != nil {
		return err
	}
	var problems error
	d.Before = func(op faultdisk.Op) error {
		for _, unsynced := range allUnsynced() {
			r.cuts++
			if err := r.again(d.Cut(unsynced, r.rng), want); err != nil {
				problems = errors.Join(problems, fmt.Errorf("crash before %v (%d): %w", op, unsynced, err))
			}
		}
		return nil
	}
	if _, err := r.opened(d, true); err != nil || problems != nil {
		return errors.Join(err, problems)
	}
	d.Before = nil
	return same(want)(r.opened(d, false))
}

// again opens what a repair that was cut short has left.
func (r *repairer) again(left *faultdisk.Disk, want string) error {
	err := same(want)(r.opened(left.Cut(faultdisk.Kept, r.rng), false))
	if errors.Is(err, store.ErrCorrupt) {
		err = nil
	}
	if err := errors.Join(err, same(want)(r.opened(left, true))); err != nil {
		return err
	}
	return same(want)(r.opened(left, false))
}

// same returns an error unless a store has the wanted messages.
func same(want string) func(got string, err error) error {
	return func(got string, err error) error {
		if err == nil && got != want {
			return fmt.Errorf("messages %s, want %s", got, want)
		}
		return err
	}
}
