package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

func TestClaim_OrderIsDueTimeThenID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ms := messages(400)
	for i := range ms {
		ms[i].Due = epoch + 10 + int64(i/100) // four due times of 100 messages
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	r.push(ms...)
	r.clock.move(time.Second)
	if got := numbers(r.claimN(400).Deliveries); !slices.Equal(got, upTo(400)) {
		t.Errorf("got %v", got)
	}
}

func TestClaim_SweepsAtMostAHundredLeases(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(messages(250)...)
	r.claimN(250)
	r.clock.move(30 * time.Second) // the lease runs out in this millisecond
	for _, want := range []struct{ leased, lost int64 }{{150, 100}, {50, 200}, {0, 250}, {0, 250}} {
		paused := true
		r.configure(store.Change{Paused: &paused}) // so that claims only sweep
		got := r.claimN(1)
		if wait := time.Duration(0); want.leased > 0 && got.Wait != wait {
			t.Errorf("wait %v although leases have run out", got.Wait)
		}
		if s := r.stats(); s.Leased != want.leased || s.Counters.LeaseLost != want.lost {
			t.Errorf("leased %d, lost %d, want %+v", s.Leased, s.Counters.LeaseLost, want)
		}
	}
	if got := r.record(1); got.State != store.Ready || got.Failures != 0 || got.LastFailure != "lease ran out" {
		t.Errorf("got %+v", got)
	}
}

func TestClaim_ExpiredLeaseIsClaimedByTheSameCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(message(1))
	first := r.claimN(1).Deliveries[0].Receipt
	r.clock.move(30*time.Second - time.Microsecond)
	if got := r.claimN(1); len(got.Deliveries) != 0 || got.Wait != time.Microsecond {
		t.Fatalf("a µs before the end of the lease: %+v", got)
	}
	r.clock.move(time.Microsecond)
	second := r.claimN(1).Deliveries[0].Receipt
	if second.ID != first.ID || second.Attempt != 2 {
		t.Errorf("got receipt %v after %v", second, first)
	}
	if got := r.settle(store.Ack, store.Settlement{Receipt: first}); got[0] != store.CodeLeaseLost {
		t.Errorf("ack with the first receipt: %v, want lease_lost", got[0])
	}
}

func TestClaim_ReplyIsBoundedInBytesButNeverEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n, size := range []int{store.MaxBatchBytes / 2, store.MaxBatchBytes/2 + 100, 2 * store.MaxBatchBytes, 1} {
		m := message(n + 1)
		m.Body = make([]byte, size)
		r.push(m)
	}
	for i, want := range [][]int{{1}, {2}, {3}, {4}} {
		if got := r.claimN(10); !slices.Equal(numbers(got.Deliveries), want) {
			t.Errorf("claim %d: got %v, want %v", i, numbers(got.Deliveries), want)
		} else if i < 3 && got.Wait != 0 {
			t.Errorf("claim %d: wait %v although more is due", i, got.Wait)
		}
	}
}

func TestClaim_RemovesExpiredMessagesUpToItsLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ms := messages(store.MaxExpired + 20)
	for i := range ms[:store.MaxExpired+10] {
		ms[i].TTL = 1000
	}
	for batch := range slices.Chunk(ms, store.MaxBatch) {
		r.push(batch...)
	}
	r.clock.move(time.Second)
	if got := r.claimN(10); len(got.Deliveries) != 0 || got.Wait != 0 {
		t.Fatalf("got %v, wait %v, want only expired ones, and to ask again at once", numbers(got.Deliveries), got.Wait)
	}
	if got := r.stats().Counters.Expired; got != store.MaxExpired {
		t.Errorf("expired %d, want %d", got, store.MaxExpired)
	}
	if got := r.claimN(10); len(got.Deliveries) != 10 {
		t.Errorf("got %d deliveries behind 10 expired ones, want 10", len(got.Deliveries))
	}
}

func TestClaim_RepeatedReturnsWhatIsStillHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := message(2)
	m.Due = epoch - 500
	r.push(message(1), m, message(3))
	first := r.claimN(3)
	r.settle(store.Ack, store.Settlement{Receipt: first.Deliveries[0].Receipt})
	r.number-- // the same number again
	again := r.claimN(1)
	if !slices.Equal(numbers(again.Deliveries), []int{2, 3}) || again.Deliveries[0].Due != first.Deliveries[1].Due {
		t.Errorf("got %+v, want 2 and 3 as they were", again.Deliveries)
	}
	r.number -= 2
	if got := r.claimN(1); !got.Stale || len(got.Deliveries) != 0 {
		t.Errorf("got %+v, want stale", got)
	}
}

func TestClaim_ClockThatIsSetBackLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(message(1), message(2))
	held := r.claimN(1).Deliveries[0]
	r.clock.move(-time.Hour)
	if got := r.claimN(10); len(got.Deliveries) != 0 || got.Wait != time.Hour {
		t.Fatalf("an hour back: %d deliveries, wait %v", len(got.Deliveries), got.Wait)
	}
	if s := r.stats(); s.Scheduled != 1 || s.Ready != 0 || s.Leased != 1 {
		t.Errorf("an hour back: %+v", s)
	}
	early := message(3) // pushed by the new clock, it comes before what the old one made due
	r.push(early)
	if got := numbers(r.claimN(10).Deliveries); !slices.Equal(got, []int{3}) {
		t.Errorf("got %v, want 3", got)
	}
	if got := r.settle(store.Ack, store.Settlement{Receipt: held.Receipt}); got[0] != store.CodeOK {
		t.Errorf("ack: %v", got[0])
	}
	r.clock.move(time.Hour)
	if got := r.claimN(10); !slices.Equal(numbers(got.Deliveries), []int{2, 3}) {
		t.Errorf("got %v, want 2 and, its lease having run out, 3", numbers(got.Deliveries))
	}
}

func TestExtend_NeverShortens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(message(1))
	d := r.claimN(1).Deliveries[0]
	r.clock.move(time.Microsecond)
	for _, tt := range []struct{ span, want int64 }{{1000, 30_000}, {40_000, 40_001}} {
		r.settle(storetest.Extend, store.Settlement{Receipt: d.Receipt, Delay: tt.span})
		if got := r.record(1).At - epoch; got != tt.want {
			t.Errorf("after extending by %d: ends in %d ms, want %d", tt.span, got, tt.want)
		}
	}
}

func TestSettle_ReceiptOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(message(1))
	receipt := r.claimN(1).Deliveries[0].Receipt
	receipt.Keyed = true
	if got := r.settle(store.Ack, store.Settlement{Receipt: receipt}); got[0] != store.CodeLeaseLost {
		t.Errorf("got %v, want lease_lost", got[0])
	}
}
