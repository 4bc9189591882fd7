package embedded

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/dueq-dev/dueq/store"
)

// take makes a consumer hold the n-th message, which it sends.
func (r *rig) take(n int, consumer string) store.Receipt {
	r.Helper()
	r.push(message(n))
	got, err := r.Claim(r.Context(), r.p, store.ClaimRequest{Consumer: consumer, Number: r.next(), Max: 1, Lease: 30_000})
	r.must(err)
	if len(got.Deliveries) != 1 {
		r.Fatalf("%d deliveries, want message %d", len(got.Deliveries), n)
	}
	return got.Deliveries[0].Receipt
}

func (r *rig) wantHolder(n int, want string) {
	r.Helper()
	if got := r.record(n).Holder; got != want {
		r.Fatalf("message %d is held by %q, want %q", n, got, want)
	}
}

func TestHolders_NumbersAreUsedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.take(1, "first")
	for n := 2; n < 3*holdersMost; n++ {
		by := fmt.Sprintf("consumer-%d", n)
		receipt := r.take(n, by)
		r.wantHolder(n, by)
		r.settle(store.Ack, store.Settlement{Receipt: receipt})
	}
	r.wantHolder(1, "first")
	if got := len(r.inner().holders); got != 3 {
		t.Errorf("the list has space for %d holders, want 2", got-1)
	}
}

func TestHolders_TooManyAreNotShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	receipts := map[int]store.Receipt{}
	for n := 1; n <= holdersMost; n++ {
		receipts[n] = r.take(n, fmt.Sprintf("consumer-%d", n))
	}
	late := holdersMost + 1
	r.take(late, "late")
	r.wantHolder(late, "")
	r.settle(store.Ack, store.Settlement{Receipt: receipts[7]})
	r.take(late+1, "late")
	r.wantHolder(late+1, "late")
	r.take(late+2, "later")
	r.wantHolder(late+2, "")
	for n := 1; n <= holdersMost; n++ {
		if n != 7 {
			r.wantHolder(n, fmt.Sprintf("consumer-%d", n))
		}
	}
	if problems := r.audit(); len(problems) > 0 {
		t.Error(problems)
	}
}

// An entry has one byte for both.
func TestTraits_KeyAndHolderDoNotOverlap(t *testing.T) {
	t.Parallel()
	var e entry
	if most := int(^keyed); most != holdersMost || unsafe.Sizeof(e.traits) != 1 {
		t.Errorf("%d holders fit beside the key in %d bytes, %d can be given out", most, unsafe.Sizeof(e.traits), holdersMost)
	}
	e.setHolder(traits(holdersMost))
	if e.keyed() || int(e.holder()) != holdersMost {
		t.Errorf("%+v, want a holder and no key", e.traits)
	}
	e.setKeyed(true)
	e.setHolder(1)
	if !e.keyed() || e.holder() != 1 {
		t.Errorf("%+v, want a key and holder 1", e.traits)
	}
}
