package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// onFaultdisk is a rig with a store on a disk in memory.
func onFaultdisk(t *testing.T, d *faultdisk.Disk, c Config) *rig {
	t.Helper()
	clock := &handClock{now: time.UnixMilli(epoch)}
	c.Now, c.Logger = clock.Now, quiet
	s, err := openOn(t.Context(), d, c, tuning{byHand: true, segmentSize: smallSegments})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{TB: t, Store: s, clock: clock, p: store.Partition{Queue: "orders"}}
}

// afterPowerCut opens what is on a disk when nothing but what was synced is left.
func afterPowerCut(t *testing.T, d *faultdisk.Disk) *rig {
	t.Helper()
	return onFaultdisk(t, d.Cut(faultdisk.Lost, rand.New(rand.NewPCG(1, 1))), Config{})
}

// A push that is repeated changes nothing, but its answer rests on the first.
func TestPush_RepeatedWaitsUntilTheFirstIsDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := faultdisk.New()
		r := onFaultdisk(t, d, Config{})
		hold := make(chan struct{})
		d.Before = func(op faultdisk.Op) error {
			if op.Kind == "sync" {
				<-hold
			}
			return nil
		}
		answers := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := r.Push(t.Context(), r.p, store.PushRequest{Producer: "p", Number: 1, Messages: messages(1)})
				answers <- err
			}()
			synctest.Wait()
			if len(answers) > 0 {
				t.Error("a push was answered before it was durable")
			}
		}
		close(hold)
		r.must(<-answers)
		r.must(<-answers)
		mustClose(t, r.Store)
	})
}

// Segments that are full are durable with every setting. A merge must not replace them by
// what is not.
func TestMerge_UnsyncedStoreKeepsWhatWasDurable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{"never synced": {NeverSync: true}, "synced each hour": {SyncEvery: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := faultdisk.New()
			r := onFaultdisk(t, d, c)
			ms := messages(60)
			for i := range ms {
				ms[i].Body = make([]byte, 300)
				r.push(ms[i])
			}
			oldest, active := r.care.log.Ends()
			var durable []store.ID
			for _, m := range ms {
				if r.inner().byID.get(m.ID).stored.segment == oldest {
					durable = append(durable, m.ID)
				}
			}
			if oldest == active || len(durable) == 0 {
				t.Fatalf("segments %d to %d, %d messages in the first", oldest, active, len(durable))
			}
			r.must(r.care.merge(t.Context(), oldest))
			after := afterPowerCut(t, d)
			for _, id := range durable {
				if _, err := after.Get(t.Context(), r.p, store.Ref{ID: id}); err != nil {
					t.Errorf("%v: %v", id, err)
				}
			}
			mustClose(t, after.Store)
			mustClose(t, r.Store)
		})
	}
}

// An id can be used again when its message is gone. The frame of the first message then
// stands in an older segment, with another body.
func TestMerge_OldBodyOfAnIDDoesNotComeBack(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := onFaultdisk(t, d, Config{})
	m := message(1)
	for _, body := range []string{"old", "new"} {
		m.Body = []byte(body)
		r.push(m)
		if body == "old" {
			r.settle(store.Ack, store.Settlement{Receipt: r.claimN(1).Deliveries[0].Receipt})
			r.must(r.care.log.Roll())
		}
	}
	oldest, _ := r.care.log.Ends()
	r.must(r.care.merge(t.Context(), oldest))
	for _, s := range []*rig{r, afterPowerCut(t, d)} {
		if got := s.record(1); string(got.Body) != "new" {
			t.Errorf("the body is %q", got.Body)
		}
		mustClose(t, s.Store)
	}
}

// A merge writes the settings of a queue down again if they are in the segment that it drops.
func TestMerge_KeepsSettingsOfTheSegment(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := onFaultdisk(t, d, Config{})
	most := int64(7)
	r.configure(store.Change{MaxMessages: &most})
	for range 2 {
		r.must(r.care.log.Roll())
		oldest, _ := r.care.log.Ends()
		r.must(r.care.merge(t.Context(), oldest))
		after := afterPowerCut(t, d)
		if got, err := after.Configure(t.Context(), r.p.Queue, store.Change{}); err != nil || got.MaxMessages != most {
			t.Errorf("got %+v, %v", got, err)
		}
		mustClose(t, after.Store)
	}
	mustClose(t, r.Store)
}

func TestRepair_PutsDamagedFilesAside(t *testing.T) {
	t.Parallel()
	_, content := smallLog(t, true)
	content[firstLog][len(content[firstLog])/2] ^= 1
	d := faultdisk.New()
	for name, data := range content {
		d.Put(name, slices.Clone(data))
	}
	r := onFaultdisk(t, d, Config{Repair: true})
	if len(r.Damage()) == 0 {
		t.Error("no damage was found")
	}
	names, err := d.List()
	r.must(err)
	if aside := firstLog + ".damaged"; !slices.Contains(names, aside) || !slices.Equal(d.Bytes(aside), content[firstLog]) {
		t.Errorf("the damaged file was not put aside: %q", names)
	}
	mustClose(t, r.Store)
}
