package embedded

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// A survivor is a script that continues after crashes and failures of its disk: with the
// store that is opened on what they left. What was promised before a crash must hold after
// all later ones.
//
//	go test ./store/embedded -run TestOpen_AfterEachOfManyCrashes -v -embedded.survival 20000
type survivor struct {
	*script
	rng      *rand.Rand
	calls    int
	crashes  int
	failures int // of the disk
	cuts     int // while the store was opened after a crash
}

var survival = flag.Int("embedded.survival", survivalUsual, "embedded: calls of each script of TestOpen_AfterEachOfManyCrashes")

func TestOpen_AfterEachOfManyCrashes(t *testing.T) {
	t.Parallel()
	for i, mode := range syncModes() {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("sync=%s,seed=%d", mode.name, seed), func(t *testing.T) {
				t.Parallel()
				seed = seed*3 + uint64(i)
				v := &survivor{script: newScriptOf(t, mode, 100+seed, faultdisk.New(), tuning{segmentSize: smallSegments})}
				v.rng = rand.New(rand.NewPCG(seed, 2))
				v.makeQueues()
				for v.calls < *survival {
					if err := v.live(); err != nil {
						t.Fatalf("call %d, crash %d, failure %d: %v", v.calls, v.crashes, v.failures, err)
					}
				}
				v.mishap.cancel()
				mustClose(t, v.s)
				t.Logf("%d calls, %d crashes, %d failures of the disk, %d crashes while opening", v.calls, v.crashes, v.failures, v.cuts)
			})
		}
	}
}

// makeQueues makes what the calls use. A call that fails may leave a queue behind that is in
// memory only.
func (v *survivor) makeQueues() {
	v.t.Helper()
	two := 2
	for _, name := range []string{"orders", "mails"} {
		if _, err := v.s.Configure(v.t.Context(), name, store.Change{Create: true, Partitions: &two}); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := v.closeAndOpen(); err != nil {
		v.t.Fatal(err)
	}
	v.begin(fingerprint(v.s))
}

// arm makes something happen to the disk of the script, a little later.
func (v *survivor) arm(within int) {
	kind := crash
	if v.rng.IntN(2) == 0 {
		kind = mishapKind(v.rng.IntN(mishapKinds))
	}
	v.mishap = newMishap(v.disk, v.rng, kind, within)
}

// live makes calls until something has happened to the disk, and a few more if the store
// has not stopped.
func (v *survivor) live() error {
	if err := v.thin(); err != nil {
		return err
	}
	v.arm(40)
	for range 30 {
		v.calls++
		over := v.mishap.over()
		err := v.call()
		if left := v.mishap.crashed(); left != nil {
			return v.afterCrash(left)
		}
		switch {
		case err == nil:
		case !v.mishap.did():
			return fmt.Errorf("failed although nothing happened: %w", err)
		case v.closed, errors.Is(err, wal.ErrStopped):
			return v.afterFailure()
		case over:
			return fmt.Errorf("failed although it was over: %w", err)
		default:
			if err := v.harmless(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// thin removes messages that no caller holds when there are many: a long script takes no longer for
// each call than a short one.
func (v *survivor) thin() error {
	const most = 100
	v.mishap.cancel()
	for _, part := range v.s.allPartitions() {
		p := store.Partition{Queue: part.queue.name, Index: part.index}
		for _, state := range []store.State{store.Ready, store.Scheduled, store.Dead} {
			if part.byID.len() <= most {
				break
			}
			v.number++
			r := store.PurgeRequest{Caller: "m", Number: v.number, State: state, All: true, Limit: store.MaxBatch}
			_, err := v.s.Purge(v.t.Context(), p, r)
			if v.note(p, outlivesPower, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// harmless checks that a call that failed has changed nothing, if the store still works.
func (v *survivor) harmless(failed error) error {
	if last := len(v.states) - 1; v.states[last] != v.states[last-1] {
		return fmt.Errorf("a call that could be made again has changed something: %w", failed)
	}
	return nil
}

func (v *survivor) afterCrash(left *faultdisk.Disk) error {
	v.crashes++
	_ = v.s.Close()
	return v.recover(left, v.mishap.unsynced != faultdisk.Kept)
}

// afterFailure continues with the disk that has failed, as it is or after a power cut.
func (v *survivor) afterFailure() error {
	v.failures++
	_ = v.s.Close()
	unsynced := allUnsynced()[v.rng.IntN(3)]
	return v.recover(v.disk.Cut(unsynced, v.rng), unsynced != faultdisk.Kept)
}

// recover opens the store on what is left. Opening may crash or fail, too; then it is tried
// again. unpowered says that the power was cut, and not only the process killed.
func (v *survivor) recover(left *faultdisk.Disk, unpowered bool) error {
	for settled := unpowered; ; {
		if err := v.crashWhileOpening(left, settled); err != nil {
			return err
		}
		v.disk = left
		v.arm(40)
		err := v.open()
		if again := v.mishap.crashed(); again != nil {
			v.crashes++
			if err == nil {
				_ = v.s.Close()
			}
			left, settled = again, v.mishap.unsynced != faultdisk.Kept
			unpowered = unpowered || settled
			continue
		}
		if err == nil {
			break
		}
		if !v.mishap.did() {
			return fmt.Errorf("open: %w", err)
		}
		v.failures++
		left.Before, left.BeforeRead, settled = nil, nil, false
	}
	var state string
	v.mishap.pause(func() { state = fingerprint(v.s) })
	if err := v.allowed(state, unpowered); err != nil {
		return fmt.Errorf("opened after a crash: %w", err)
	}
	v.begin(state)
	return nil
}

// allowed returns an error if a state breaks a promise.
func (v *survivor) allowed(state string, unpowered bool) error {
	from := v.written
	if unpowered {
		from = v.durable
	}
	if slices.Contains(v.states[from:], state) {
		return nil
	}
	return fmt.Errorf("state %s is that after call %d of %d since the last crash, want one after %d",
		state, slices.Index(v.states, state), len(v.states)-1, from)
}

// crashWhileOpening opens a store on a copy of a disk, and crashes before everything that
// this does to the disk. A power cut may take away what a killed process had not synced, but
// nothing from a disk that was settled: that has seen no other process since a power cut.
func (v *survivor) crashWhileOpening(disk *faultdisk.Disk, settled bool) error {
	want, err := v.reopened(disk.Cut(faultdisk.Kept, v.rng))
	if err != nil {
		return fmt.Errorf("opening what a crash left: %w", err)
	}
	var problems error
	copied := disk.Cut(faultdisk.Kept, v.rng)
	copied.Before = func(op faultdisk.Op) error {
		for _, unsynced := range allUnsynced() {
			v.cuts++
			state, err := v.reopened(copied.Cut(unsynced, v.rng))
			switch {
			case err != nil:
			case settled || unsynced == faultdisk.Kept:
				if state != want {
					err = fmt.Errorf("state %s, want %s", state, want)
				}
			default:
				err = v.allowed(state, true)
			}
			if err != nil {
				problems = errors.Join(problems, fmt.Errorf("crash before %v (%d) while opening: %w", op, unsynced, err))
			}
		}
		return nil
	}
	_, err = v.reopened(copied)
	return errors.Join(err, problems)
}
