package embedded

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
	"github.com/dueq-dev/dueq/store/storetest"
)

// smallDisk is the size of the disks that these tests fill, with segments as large as
// they are in real use.
const smallDisk = 64 << 20

// fullRig is a rig on a faulty disk of a size, with the settings of real use but for the
// caretaker, which the test calls.
func fullRig(t *testing.T, d *faultdisk.Disk) *rig {
	t.Helper()
	clock := &handClock{}
	clock.move(epoch * 1_000_000)
	r := &rig{TB: t, clock: clock, p: store.Partition{Queue: "orders"}}
	r.reopen(d)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) reopen(d disk.Disk) {
	r.Helper()
	if r.Store != nil {
		r.must(r.Close())
	}
	s, err := openOn(r.Context(), d, Config{Now: r.clock.Now, Logger: quiet, NeverSync: true}, tuning{byHand: true})
	r.must(err)
	r.Store = s
}

// pushUntilFull pushes messages with numbers from n on, a few at a time, until the store
// says that it is full, and returns the next number.
func (r *rig) pushUntilFull(n, few, size int) int {
	r.Helper()
	for {
		request := store.PushRequest{Producer: "p", Number: r.next()}
		for i := range few {
			m := message(n + i)
			m.Body = make([]byte, size)
			request.Messages = append(request.Messages, m)
		}
		_, err := r.Push(r.Context(), r.p, request)
		if errors.Is(err, store.ErrQueueFull) {
			return n
		}
		r.must(err)
		n += few
	}
}

// drain claims and acks all messages, and returns how many they were.
func (r *rig) drain(few int) int {
	r.Helper()
	for n := 0; ; {
		got := r.claimN(few).Deliveries
		if len(got) == 0 {
			return n
		}
		var items []store.Settlement
		for _, d := range got {
			items = append(items, store.Settlement{Receipt: d.Receipt})
		}
		r.settle(store.Ack, items...)
		n += len(got)
	}
}

func TestPush_FullDiskDrainsToEmptyAndAcceptsAgain(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	for _, tt := range []struct {
		name      string
		few, size int
	}{
		{"large bodies, in batches", 50, 10_000},
		{"small bodies, in batches", 500, 60},
		{"very large bodies", 1, 1 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := faultdisk.New()
			d.Capacity = smallDisk
			r := fullRig(t, d)
			n := r.pushUntilFull(1, tt.few, tt.size)
			r.reopen(d)
			n = r.pushUntilFull(n, tt.few, tt.size)
			t.Logf("%d messages of %d bytes, %d bytes of reserve", n-1, tt.size, r.needs())
			// Every one of them, without the help of a merge.
			if got := r.drain(tt.few); got != n-1 {
				t.Errorf("%d of %d were delivered", got, n-1)
			}
			for range 3 {
				r.must(r.care.round(t.Context()))
			}
			if used := d.Used(); used > 2<<20 {
				t.Errorf("%d bytes are used when all is gone", used)
			}
			r.push(message(n))
		})
	}
}

// Garbage is merged on a full disk although something of every segment is still needed.
func TestMerge_FullDiskIsMergedWithLittleOfEachSegmentNeeded(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	d := faultdisk.New()
	d.Capacity = smallDisk
	r := fullRig(t, d)
	const few, every = 40, 20
	n := r.pushUntilFull(1, few, 10_000)
	kept := 0
	for {
		got := r.claimN(few).Deliveries
		if len(got) == 0 {
			break
		}
		var items []store.Settlement
		for i, delivery := range got {
			if i%every == 0 {
				kept++
				continue // its lease continues
			}
			items = append(items, store.Settlement{Receipt: delivery.Receipt})
		}
		r.settle(store.Ack, items...)
	}
	r.must(r.care.round(t.Context()))
	r.must(r.care.round(t.Context()))
	if size, needed := r.care.log.Size(), int64(kept*10_000); size > 2*needed {
		t.Errorf("the log has %d bytes for %d bytes of messages", size, needed)
	} else if live := r.live.bytes.Load(); live > needed*11/10 {
		t.Errorf("%d bytes count as needed for %d bytes of messages", live, needed)
	}
	if again := r.pushUntilFull(n, few, 10_000); again < 2*n*8/10 {
		t.Errorf("%d messages had space on the empty disk, %d when %d were kept", n, again-n, kept)
	}
}

// Handlers that fail again and again, with the longest texts, do not use up the space that
// lets messages go.
func TestSettle_FullDiskWithHandlersThatFail(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	d := faultdisk.New()
	d.Capacity = smallDisk
	r := fullRig(t, d)
	const few = 100
	n := r.pushUntilFull(1, few, 8000)
	for round := range 3 {
		for range n / few {
			got := r.insistClaim(few)
			var items []store.Settlement
			for _, delivery := range got {
				items = append(items, store.Settlement{Receipt: delivery.Receipt, Failure: strings.Repeat(fmt.Sprint(round), store.MaxFailure)})
			}
			if len(items) > 0 {
				r.insist(func() error {
					_, err := r.Settle(t.Context(), r.p, store.SettleRequest{Verdict: store.Nack, Items: items})
					return err
				})
			}
			r.clock.move(time.Millisecond) // so that others come first
		}
	}
	drained := 0
	for got := r.insistClaim(few); len(got) > 0; got = r.insistClaim(few) {
		var items []store.Settlement
		for _, delivery := range got {
			items = append(items, store.Settlement{Receipt: delivery.Receipt})
		}
		r.insist(func() error {
			_, err := r.Settle(t.Context(), r.p, store.SettleRequest{Verdict: store.Ack, Items: items})
			return err
		})
		drained += len(got)
	}
	if drained != n-1 {
		t.Errorf("%d of %d were delivered", drained, n-1)
	}
}

func (r *rig) insistClaim(few int) (got []store.Delivery) {
	r.Helper()
	r.insist(func() error {
		result, err := r.Claim(r.Context(), r.p, store.ClaimRequest{Consumer: "c", Number: r.next(), Max: few, Lease: 30_000})
		got = result.Deliveries
		return err
	})
	return got
}

// insist calls do again after a round of the caretaker if there was no space for it, which
// must be enough.
func (r *rig) insist(do func() error) {
	r.Helper()
	err := do()
	if err != nil && !errors.Is(err, store.ErrFailed) {
		r.must(r.care.round(r.Context()))
		err = do()
	}
	r.must(err)
}

// Calls that let messages go, or move them, with the longest names and texts, one at a time
// and as many as a call may have: what they ask for is enough, or the log would stop.
func TestSettle_FullDiskHasSpaceForTheLongestCalls(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	d := faultdisk.New()
	d.Capacity = smallDisk
	r := fullRig(t, d)
	r.p = store.Partition{Queue: strings.Repeat("q", store.MaxQueueName), Index: store.MaxPartitions - 1}
	r.pushUntilFull(1, store.MaxBatch, 1000)
	caller := strings.Repeat("c", store.MaxCallerName)
	for round, few := range []int{1, 7, store.MaxBatch, store.MaxBatch} {
		r.longCalls(caller, few)
		r.must(r.care.round(t.Context()))
		if r.log.End() == 0 || r.care.log.Size() == 0 {
			t.Fatalf("round %d: the log is empty", round)
		}
	}
	if problems := r.audit(); len(problems) > 0 {
		t.Errorf("audit: %v", problems)
	}
}

// longCalls rejects, redrives, nacks, releases and lets run out the leases of a few messages.
func (r *rig) longCalls(caller string, few int) {
	r.Helper()
	for i, verdict := range []store.Verdict{store.Reject, store.Nack, store.Release, storetest.Extend} {
		result, err := r.Claim(r.Context(), r.p, store.ClaimRequest{Consumer: caller, Number: r.next(), Max: few, Lease: 30_000})
		r.must(err)
		var items []store.Settlement
		var ids []store.ID
		for _, d := range result.Deliveries {
			items = append(items, store.Settlement{Receipt: d.Receipt, Delay: 40_000, Failure: strings.Repeat(fmt.Sprint(i), store.MaxFailure)})
			ids = append(ids, d.Receipt.ID)
		}
		r.settle(verdict, items...)
		_, err = r.Redrive(r.Context(), r.p, r.redriveRequest(ids...))
		r.must(err)
		r.clock.move(1_000_000_000_000)
	}
}

// Another program fills the disk while the store has noticed nothing: there is space for the
// longest failure texts of one call all the same.
func TestSettle_DiskFilledByAnotherProgramHasSpaceForTexts(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := fullRig(t, d)
	all := messages(store.MaxBatch)
	for few := range slices.Chunk(all, 10) { // a large push would have made a larger reserve
		r.push(few...)
	}
	r.must(r.care.round(t.Context()))
	var items []store.Settlement
	for _, delivery := range r.claimN(store.MaxBatch).Deliveries {
		items = append(items, store.Settlement{Receipt: delivery.Receipt, Failure: strings.Repeat("f", store.MaxFailure)})
	}
	r.reopen(d) // gives back what was allocated ahead
	d.SetCapacity(d.Used())
	for _, code := range r.settle(store.Nack, items...) {
		if code != store.CodeOK {
			t.Fatalf("got %v", code)
		}
	}
	if got := r.record(1); len(items) != store.MaxBatch || len(got.LastFailure) != store.MaxFailure {
		t.Errorf("%d were nacked, the first with a text of %d bytes", len(items), len(got.LastFailure))
	}
}

// A merge, a summary or a roll that finds no space, at whichever point, loses nothing: neither
// messages nor counters nor the calls that are remembered.
func TestMerge_NoSpaceAtAnyPointLosesNothing(t *testing.T) {
	t.Parallel()
	for more, merged := int64(0), false; !merged; more += 37 {
		merged = mergeWithSpace(t, more)
	}
}

// mergeWithSpace merges a store on a disk with few bytes left, then with enough, and
// reports whether the first was enough.
func mergeWithSpace(t *testing.T, more int64) bool {
	t.Helper()
	d := faultdisk.New()
	x := newScript(t, 3, d, tuning{segmentSize: smallSegments})
	for range 60 {
		x.step()
	}
	d.Before = func(op faultdisk.Op) error {
		if op.Name == "reserve" {
			return disk.ErrFull // none of it is given back
		}
		return nil
	}
	d.SetCapacity(d.Used() + more)
	err := x.mergeAll()
	if err != nil && !errors.Is(err, disk.ErrFull) {
		t.Fatalf("%d bytes left: %v", more, err)
	}
	d.SetCapacity(0)
	d.Before = nil
	c := &crasher{script: x, rng: x.rng}
	want := fingerprint(x.s)
	for range 2 { // one segment more, then all
		got, openErr := c.reopened(d.Cut(faultdisk.Kept, x.rng))
		if openErr != nil || got != want {
			t.Fatalf("%d bytes left (%v): state %s, %v, want %s", more, err, got, openErr, want)
		}
		if err := x.mergeOldest(); err != nil {
			t.Fatalf("%d bytes left, then enough: %v", more, err)
		}
	}
	if err := x.mergeAll(); err != nil {
		t.Fatal(err)
	}
	if err := x.s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, openErr := c.reopened(d); openErr != nil || got != want {
		t.Fatalf("%d bytes left (%v), closed: state %s, %v, want %s", more, err, got, openErr, want)
	}
	return err == nil
}

// mergeAll merges every segment that there is.
func (x *script) mergeAll() error {
	log := x.s.care.log
	for _, last := log.Ends(); ; {
		if oldest, _ := log.Ends(); oldest > last {
			return nil
		}
		if err := x.mergeOldest(); err != nil {
			return err
		}
	}
}

func (x *script) mergeOldest() error {
	oldest, active := x.s.care.log.Ends()
	if oldest == active {
		if err := x.s.care.log.Roll(); err != nil {
			return err
		}
	}
	return x.s.care.merge(x.t.Context(), oldest)
}
