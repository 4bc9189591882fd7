package embedded

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// A crash test runs a script of random calls on a disk that can lose its power. Before
// everything the store does to the disk, and in three ways each, the power is cut, and
// a store is opened on what is left. It must be in the state after one of the calls
// made so far: not before the last whose answer promised to last.

// crasher opens stores on what is left after power cuts.
type crasher struct {
	*script
	rng  *rand.Rand
	cuts int
	seen []found // during the call under way
}

type found struct {
	op       faultdisk.Op
	unsynced faultdisk.Unsynced
	state    string
	err      error
}

// look cuts the power, three ways.
func (c *crasher) look(op faultdisk.Op) {
	for _, unsynced := range allUnsynced() {
		c.cuts++
		state, err := c.reopened(c.disk.Cut(unsynced, c.rng))
		c.seen = append(c.seen, found{op, unsynced, state, err})
	}
}

func allUnsynced() []faultdisk.Unsynced {
	return []faultdisk.Unsynced{faultdisk.Lost, faultdisk.Kept, faultdisk.Random}
}

// reopened opens a store on a disk and closes it. It returns the state of the store, or what
// is wrong with it.
func (x *script) reopened(d *faultdisk.Disk) (string, error) {
	s, err := openOn(context.Background(), d, x.config(), x.tune)
	if err != nil {
		return "", err
	}
	return fingerprint(s), errors.Join(audit(s), s.Close())
}

// audit returns what is wrong with a store.
func audit(s *Store) error {
	var err error
	for _, p := range s.allPartitions() {
		if r := p.check(auditOrders[0], start(), 1<<30); len(r.Problems) > 0 {
			err = errors.Join(err, fmt.Errorf("audit: %v", r.Problems))
		}
	}
	return err
}

// judge compares what was found during a call with the states there were.
func (c *crasher) judge(durable, written int) error {
	for _, f := range c.seen {
		from := durable
		if f.unsynced == faultdisk.Kept {
			from = written
		}
		if f.err != nil {
			return fmt.Errorf("call %d, power cut before %v (%d): %w", len(c.states)-1, f.op, f.unsynced, f.err)
		}
		if !slices.Contains(c.states[from:], f.state) {
			at := slices.Index(c.states, f.state)
			return fmt.Errorf("call %d, power cut before %v (%d): state %s is that after call %d, want one after %d", len(c.states)-1, f.op, f.unsynced, f.state, at, from)
		}
	}
	c.seen = c.seen[:0]
	return nil
}

// crashEverywhere runs a script of n calls, cutting the power before everything
// that is done to the disk, and returns the first promise found broken.
func crashEverywhere(t *testing.T, mode syncMode, seed uint64, calls int, d *faultdisk.Disk, tune tuning) (cuts int, err error) {
	t.Helper()
	c := &crasher{rng: rand.New(rand.NewPCG(seed, 1))}
	c.script = newScriptOf(t, mode, seed, d, tune)
	d.Before = func(op faultdisk.Op) error {
		c.look(op)
		return nil
	}
	defer func() {
		d.Before = nil
		_ = c.s.Close()
	}()
	for range calls {
		durable, written := c.durable, c.written
		c.step()
		if err := c.judge(durable, written); err != nil {
			return c.cuts, err
		}
	}
	return c.cuts, nil
}

const smallSegments = 12 << 10

var crashCalls = flag.Int("embedded.calls", crashCallsUsual, "embedded: calls of each script of TestCrash_PowerCutAnywhereBreaksNoPromise")

func TestCrash_PowerCutAnywhereBreaksNoPromise(t *testing.T) {
	t.Parallel()
	for _, script := range []struct {
		mode syncMode
		seed uint64
	}{{syncAlways(), 0}, {syncAlways(), 1}, {syncModes()[1], 2}, {syncModes()[2], 3}} {
		t.Run(fmt.Sprintf("sync=%s,seed=%d", script.mode.name, script.seed), func(t *testing.T) {
			t.Parallel()
			cuts, err := crashEverywhere(t, script.mode, script.seed, *crashCalls, faultdisk.New(), tuning{segmentSize: smallSegments})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d calls, %d power cuts", *crashCalls, cuts)
		})
	}
}

// What would happen if the log made a mistake: each must be found by the test above.
func TestCrash_MistakesAreFound(t *testing.T) {
	t.Parallel()
	mistakes := []struct {
		name string
		disk func(*faultdisk.Disk)
		tune tuning
	}{
		{"answer before the fsync", func(d *faultdisk.Disk) { d.Lies.LateSync = true }, tuning{segmentSize: smallSegments}},
		{"merge without fsync of the directory", func(d *faultdisk.Disk) { d.Lies.KeepRemoved = true }, tuning{segmentSize: smallSegments}},
		{"no checksum", func(*faultdisk.Disk) {}, tuning{segmentSize: smallSegments, checksum: func(uint32, []byte) uint32 { return 0 }}},
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			d := faultdisk.New()
			m.disk(d)
			cuts, err := crashEverywhere(t, syncAlways(), 1, 500, d, m.tune)
			if err == nil {
				t.Fatalf("not found in %d power cuts", cuts)
			}
			t.Logf("found after %d power cuts: %v", cuts, err)
		})
	}
}
