package embedded

import (
	"bytes"
	"slices"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// coldRig is a rig on a store that was just opened, so that all payloads are in files.
// Message n has a body of 1000 bytes n.
func coldRig(t *testing.T, n int) (*rig, *faultdisk.Disk) {
	t.Helper()
	d := faultdisk.New()
	r := diskRig(t, d)
	for i := range n {
		m := message(i + 1)
		m.Body = bytes.Repeat([]byte{byte(i + 1)}, 1000)
		r.push(m)
	}
	mustClose(t, r.Store)
	again := diskRig(t, d)
	again.number = r.number
	return again, d
}

func (r *rig) claimBy(consumer string, most int) []store.Delivery {
	r.Helper()
	got, err := r.Claim(r.Context(), r.p, store.ClaimRequest{Consumer: consumer, Number: r.next(), Max: most, Lease: 30_000})
	r.must(err)
	return got.Deliveries
}

// onFirstRead calls do in the middle of the first read of a file, for which nobody may
// hold the partition's mutex.
func (r *rig) onFirstRead(d *faultdisk.Disk, do func()) (reads *int) {
	reads = new(int)
	part := r.inner()
	d.BeforeRead = func(string, int64, int) error {
		if *reads++; *reads > 1 {
			return nil
		}
		if !part.mu.TryLock() {
			r.Error("a file is read with the partition's mutex held")
			return nil
		}
		part.mu.Unlock()
		do()
		return nil
	}
	return reads
}

func mustHaveBodies(t *testing.T, ds []store.Delivery) {
	t.Helper()
	for _, d := range ds {
		if want := bytes.Repeat([]byte{byte(numbers([]store.Delivery{d})[0])}, 1000); !bytes.Equal(d.Body, want) {
			t.Errorf("%v has body %x...", d.Receipt, d.Body[:min(len(d.Body), 4)])
		}
	}
}

func TestReads_FileIsReadWithoutThePartitionsMutex(t *testing.T) {
	t.Parallel()
	calls := map[string]func(*rig) error{
		"claim": func(r *rig) error {
			got, err := r.Claim(r.Context(), r.p, store.ClaimRequest{Consumer: "c", Number: r.next(), Max: 10, Lease: 30_000})
			if ns := numbers(got.Deliveries); !slices.Equal(ns, upTo(10)) {
				r.Errorf("claimed %v", ns)
			}
			return err
		},
		"get":  func(r *rig) error { _, err := r.Get(r.Context(), r.p, store.Ref{ID: id(3)}); return err },
		"list": func(r *rig) error { return r.mustList(20) },
		"check": func(r *rig) error {
			got, err := r.Check(r.Context(), r.p, store.CheckRequest{Limit: 100})
			if got.Examined != 21 || len(got.Problems) > 0 { // with the one pushed meanwhile
				r.Errorf("check: %+v", got)
			}
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, d := coldRig(t, 20)
			reads := r.onFirstRead(d, func() { r.push(message(99)) }) // while the disk is busy
			r.must(call(r))
			if *reads == 0 {
				t.Error("no file was read")
			}
		})
	}
}

func (r *rig) mustList(want int) error {
	page, err := r.List(r.Context(), r.p, store.ListRequest{State: store.Ready, Limit: 100, BodyLimit: 2000})
	if len(page.Records) < want {
		r.Errorf("listed %d", len(page.Records))
	}
	for _, record := range page.Records {
		if len(record.Body) == 0 {
			r.Errorf("%v has no body", record.ID)
		}
	}
	return err
}

// While a claim reads, others take messages that it has chosen.
func TestClaim_MessagesTakenWhileItReadsAreNotHandedOutTwice(t *testing.T) {
	t.Parallel()
	r, d := coldRig(t, 20)
	var others []store.Delivery
	r.onFirstRead(d, func() {
		others = r.claimBy("other", 4)
		codes, err := r.Cancel(t.Context(), r.p, r.cancelRequest(store.Ref{ID: id(6)}))
		if err != nil || codes[0] != store.CodeOK {
			t.Errorf("cancel: %v, %v", codes, err)
		}
	})
	mine := r.claimBy("c", 10)
	if got := numbers(others); !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("the other got %v", got)
	}
	if got := numbers(mine); !slices.Equal(got, []int{5, 7, 8, 9, 10}) {
		t.Errorf("the claim got %v, want what was left of those it had read", got)
	}
	mustHaveBodies(t, append(others, mine...))
	if got := numbers(r.claimBy("c", 20)); !slices.Equal(got, []int{11, 12, 13, 14, 15, 16, 17, 18, 19, 20}) {
		t.Errorf("then %v", got)
	}
}

// While a claim reads, a merge moves its messages and removes the file.
func TestClaim_MergeWhileItReads(t *testing.T) {
	t.Parallel()
	r, d := coldRig(t, 20)
	r.onFirstRead(d, func() {
		r.must(r.care.log.Roll())
		for oldest, active := r.care.log.Ends(); oldest < active; oldest++ {
			r.must(r.care.merge(t.Context(), oldest))
		}
	})
	got := r.claimBy("c", 20)
	if ns := numbers(got); !slices.Equal(ns, upTo(20)) {
		t.Errorf("claimed %v", ns)
	}
	mustHaveBodies(t, got)
}

// A claim that finds everything taken, each time that it has read, still ends.
func TestClaim_MessagesAlwaysTakenByOthersWhileItReads(t *testing.T) {
	t.Parallel()
	r, d := coldRig(t, 60)
	inside := false
	d.BeforeRead = func(string, int64, int) error {
		if !inside && r.inner().mu.TryLock() {
			r.inner().mu.Unlock()
			inside = true
			r.claimBy("other", 2)
			inside = false
		}
		return nil
	}
	got := r.claimBy("c", 2)
	if len(got) == 0 {
		t.Error("the claim got nothing although there were messages")
	}
	mustHaveBodies(t, got)
}

// A repeated claim has the answer of the first, read from files.
func TestClaim_RepeatedOnAColdStore(t *testing.T) {
	t.Parallel()
	r, d := coldRig(t, 5)
	request := store.ClaimRequest{Consumer: "c", Number: r.next(), Max: 5, Lease: 30_000}
	first, err := r.Claim(t.Context(), r.p, request)
	r.must(err)
	mustClose(t, r.Store)
	r.Store = diskRig(t, d).Store
	again, err := r.Claim(t.Context(), r.p, request)
	r.must(err)
	if !slices.Equal(numbers(again.Deliveries), numbers(first.Deliveries)) {
		t.Errorf("again %v, first %v", numbers(again.Deliveries), numbers(first.Deliveries))
	}
	mustHaveBodies(t, again.Deliveries)
}

// AckOnClaim remembers nothing that a second run of the step could hand out again.
func TestClaim_AckOnClaimOnAColdStore(t *testing.T) {
	t.Parallel()
	r, _ := coldRig(t, 5)
	got, err := r.Claim(t.Context(), r.p, store.ClaimRequest{Consumer: "c", Number: r.next(), Max: 3, Lease: 1000, AckOnClaim: true})
	r.must(err)
	if ns := numbers(got.Deliveries); !slices.Equal(ns, upTo(3)) {
		t.Errorf("claimed %v", ns)
	}
	mustHaveBodies(t, got.Deliveries)
}

// A page or a step of an audit ends before it keeps more than store.MaxBatchBytes.
func TestReads_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := diskRig(t, d)
	const size = store.MaxBatchBytes / 4
	largest := size
	r.configure(store.Change{MaxBody: &largest})
	for i := range 10 {
		m := message(i + 1)
		m.Body = make([]byte, size)
		r.push(m)
	}
	mustClose(t, r.Store)
	r.Store = diskRig(t, d).Store
	page, err := r.List(t.Context(), r.p, store.ListRequest{State: store.Ready, Limit: 10, BodyLimit: 1})
	r.must(err)
	if len(page.Records) != 4 || page.Next == "" {
		t.Errorf("%d records, next %q; want 4 and a cursor", len(page.Records), page.Next)
	}
	got, err := r.Check(t.Context(), r.p, store.CheckRequest{Limit: 10})
	r.must(err)
	if got.Examined != 4 || got.Next == "" {
		t.Errorf("examined %d, next %q; want 4 and a cursor", got.Examined, got.Next)
	}
}
