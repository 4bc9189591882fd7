package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// diskRig is a rig on a faulty disk.
func diskRig(t *testing.T, d *faultdisk.Disk) *rig {
	t.Helper()
	clock := &handClock{}
	clock.move(epoch * 1_000_000)
	s, err := openOn(t.Context(), d, Config{Now: clock.Now, Logger: quiet}, tuning{byHand: true, segmentSize: smallSegments})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &rig{TB: t, Store: s, clock: clock, p: store.Partition{Queue: "orders"}}
}

// changes are all the calls that change something, on message 1, which is leased.
func changes(ctx context.Context, r *rig, receipt store.Receipt) map[string]func() error {
	paused := true
	return map[string]func() error{
		"push": func() error {
			_, err := r.Push(ctx, r.p, store.PushRequest{Producer: "x", Number: r.next(), Messages: []store.Message{message(99)}})
			return err
		},
		"claim": func() error {
			_, err := r.Claim(ctx, r.p, store.ClaimRequest{Consumer: "x", Number: r.next(), Max: 1, Lease: 1000})
			return err
		},
		"ack": func() error {
			_, err := r.Settle(ctx, r.p, store.SettleRequest{Verdict: store.Ack, Items: []store.Settlement{{Receipt: receipt}}})
			return err
		},
		"cancel": func() error { _, err := r.Cancel(ctx, r.p, r.cancelRequest(store.Ref{ID: id(1)})); return err },
		"reschedule": func() error {
			_, err := r.Reschedule(ctx, r.p, r.rescheduleRequest(store.Move{Ref: store.Ref{ID: id(2)}}))
			return err
		},
		"redrive": func() error { _, err := r.Redrive(ctx, r.p, r.redriveRequest(id(1))); return err },
		"purge": func() error {
			_, err := r.Purge(ctx, r.p, r.purgeRequest(store.Ready, 1))
			return err
		},
		"configure": func() error { _, err := r.Configure(ctx, r.p.Queue, store.Change{Paused: &paused}); return err },
	}
}

// Whatever fails, and however: the call under way and all later ones that change
// something get ErrUnavailable, and reads still work.
func TestFailure_StoreStopsWhenTheDiskFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind string
		err  error
	}{{"write", faultdisk.ErrBroken}, {"write", faultdisk.ErrShort}, {"sync", faultdisk.ErrBroken}} {
		t.Run(fmt.Sprint(tt.kind, " ", tt.err), func(t *testing.T) {
			t.Parallel()
			d := faultdisk.New()
			r := diskRig(t, d)
			r.push(message(1), message(2))
			receipt := r.claimN(1).Deliveries[0].Receipt
			r.push(message(3)) // so that the claim is on disk
			var broken atomic.Bool
			d.Before = func(op faultdisk.Op) error {
				if broken.Load() && op.Kind == tt.kind {
					return tt.err
				}
				return nil
			}
			broken.Store(true)
			_, err := r.Push(t.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: []store.Message{message(50)}})
			if !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("push on the failing disk: %v", err)
			}
			broken.Store(false) // a disk that works again proves nothing
			for name, do := range changes(t.Context(), r, receipt) {
				if err := do(); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s after the failure: %v", name, err)
				}
			}
			if got := r.record(1); got.State != store.Leased || string(got.Body) != "body" {
				t.Errorf("get: %+v", got)
			}
			if got := r.stats(); got.Leased != 1 {
				t.Errorf("stats: %+v", got)
			}
			if err := r.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			checkAfterFailure(t, d)
		})
	}
}

// checkAfterFailure opens what is on the disk: everything that was answered is there.
func checkAfterFailure(t *testing.T, d *faultdisk.Disk) {
	t.Helper()
	for seed := range uint64(20) {
		r := diskRig(t, d.Cut(faultdisk.Random, rand.New(rand.NewPCG(seed, seed))))
		for n, want := range map[int]store.State{1: store.Leased, 2: store.Ready, 3: store.Ready} {
			if got := r.record(n); got.State != want {
				t.Errorf("seed %d: message %d is %s, want %s", seed, n, got.State, want)
			}
		}
	}
}

// A disk that fails at its n-th operation, for every n: what was answered stays true.
func TestFailure_AnywhereIsSurvived(t *testing.T) {
	t.Parallel()
	for at := 0; ; at += failuresEach {
		if finished := failAt(t, at); finished {
			t.Logf("%d operations failed, one at a time", at/failuresEach)
			return
		}
	}
}

// failAt reports whether the run was over before the operation that was to fail.
func failAt(t *testing.T, at int) (finished bool) {
	t.Helper()
	d := faultdisk.New()
	var ops atomic.Int64
	d.Before = func(faultdisk.Op) error {
		if ops.Add(1)-1 == int64(at) {
			return faultdisk.ErrBroken
		}
		return nil
	}
	x := &script{t: t, rng: rand.New(rand.NewPCG(9, 9)), disk: d, tune: tuning{segmentSize: 8 << 10, byHand: true}, clock: &handClock{}}
	s, err := openOn(t.Context(), d, Config{Now: x.clock.Now, Logger: quiet}, x.tune)
	if err != nil {
		return false // it did not open, so it has promised nothing
	}
	x.s = s
	var acked []store.ID
	p := store.Partition{Queue: "orders"}
	for range 60 {
		x.number++
		r := x.pushRequest(p)
		for i := range r.Messages {
			r.Messages[i].Key, r.Messages[i].TTL, r.Messages[i].Replace, r.Messages[i].DedupID = "", 0, false, store.DedupID{}
		}
		if _, err = s.Push(t.Context(), p, r); err != nil {
			break
		}
		for _, m := range r.Messages {
			acked = append(acked, m.ID)
		}
		oldest, active := s.care.log.Ends()
		if oldest != active {
			_ = s.care.merge(t.Context(), oldest)
		}
	}
	_ = s.Close()
	d.Before = nil
	again, openErr := openOn(t.Context(), d.Cut(faultdisk.Random, x.rng), Config{Now: x.clock.Now, Logger: quiet}, x.tune)
	if openErr != nil {
		t.Fatalf("operation %d failed: %v", at, openErr)
	}
	defer mustClose(t, again)
	for _, id := range acked {
		if _, err := again.Get(t.Context(), p, store.Ref{ID: id}); err != nil {
			t.Fatalf("operation %d failed: %v was answered and is gone: %v", at, id, err)
		}
	}
	return ops.Load() <= int64(at)
}

// What rots on the disk while the store is open is never handed out: it becomes a
// dead letter, and the others flow.
func TestClaim_DamagedRecordBecomesDead(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := diskRig(t, d)
	for n := range 3 {
		m := message(n + 1)
		m.Body = fmt.Appendf(nil, "body number %d", n+1)
		r.push(m)
	}
	r.must(r.Close()) // so that it is not in memory any more
	*r = *diskRig(t, d)
	data := d.Bytes(firstLog)
	data[bytes.Index(data, []byte("body number 2"))] ^= 1
	if _, err := r.Get(t.Context(), r.p, store.Ref{ID: id(2)}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("get: %v", err)
	}
	if got := r.audit(); len(got) != 1 || !strings.Contains(got[0].Text, "record corrupt") {
		t.Errorf("audit: %v", got)
	}
	r.number = 100
	if got := numbers(r.claimN(3).Deliveries); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("delivered %v", got)
	}
	page, err := r.List(t.Context(), r.p, store.ListRequest{State: store.Dead, Limit: 10})
	r.must(err)
	if len(page.Records) != 1 || !strings.HasPrefix(page.Records[0].LastFailure, "record corrupt") {
		t.Errorf("dead: %+v", page.Records)
	}
}

// A full disk refuses new messages and nothing else. After some are acked, messages are accepted again.
func TestPush_FullDisk(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := diskRig(t, d)
	d.SetCapacity(512 << 10)
	n := 0
	for {
		n++
		m := message(n)
		m.Body = make([]byte, 1000)
		_, err := r.Push(t.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: []store.Message{m}})
		if err != nil {
			if !errors.Is(err, store.ErrQueueFull) {
				t.Fatalf("push %d: %v", n, err)
			}
			break
		}
	}
	if _, err := r.Get(t.Context(), r.p, store.Ref{ID: id(n)}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the refused message: %v", err)
	}
	for acked := 0; acked < n-1; {
		got := r.claimN(10).Deliveries
		if len(got) == 0 {
			t.Fatalf("%d of %d were delivered", acked, n-1)
		}
		for _, delivery := range got {
			r.settle(store.Ack, store.Settlement{Receipt: delivery.Receipt})
		}
		acked += len(got)
		if err := r.care.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := r.care.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.push(message(n + 1))
	t.Logf("%d messages of 1000 bytes on a disk of %d", n-1, d.Capacity)
}
