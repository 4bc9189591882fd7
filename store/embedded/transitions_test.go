package embedded

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

func TestEntry_Has64Bytes(t *testing.T) {
	t.Parallel()
	if got := unsafe.Sizeof(entry{}); got > 64 {
		t.Errorf("%d bytes: there is one for each message", got)
	}
}

// lead brings message 1, which may fail twice, into a state.
func lead(r *rig, to store.State, key string) store.Receipt {
	m := message(1)
	m.Key, m.MaxAttempts = key, 2
	if to == store.Scheduled {
		m.Delay = 1000
	}
	r.push(m)
	if to == store.Scheduled || to == store.Ready {
		return store.Receipt{}
	}
	receipt := r.claimN(1).Deliveries[0].Receipt
	if to == store.Dead {
		r.settle(store.Reject, store.Settlement{Receipt: receipt, Failure: "no"})
	}
	return receipt
}

func TestSettle_Verdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		verdict     store.Verdict
		stop        bool // its cancellation was asked for
		code, again store.Code
		left        store.State // "" is gone
		failures    int
	}{
		{store.Ack, false, store.CodeOK, store.CodeGone, "", 0},
		{store.Ack, true, store.CodeOK, store.CodeGone, "", 0},
		{store.Nack, false, store.CodeOK, store.CodeOK, store.Scheduled, 1},
		{store.Nack, true, store.CodeCancelled, store.CodeGone, "", 0},
		{store.Release, false, store.CodeOK, store.CodeOK, store.Scheduled, 0},
		{store.Release, true, store.CodeCancelled, store.CodeGone, "", 0},
		{store.Snooze, false, store.CodeOK, store.CodeOK, store.Scheduled, 0},
		{store.Snooze, true, store.CodeCancelled, store.CodeGone, "", 0},
		{store.Reject, false, store.CodeOK, store.CodeOK, store.Dead, 1},
		{store.Reject, true, store.CodeCancelled, store.CodeGone, "", 0},
		{storetest.Extend, false, store.CodeOK, store.CodeOK, store.Leased, 0},
		{storetest.Extend, true, store.CodeCancelled, store.CodeCancelled, store.Leased, 0},
		{storetest.Start, false, store.CodeOK, store.CodeOK, store.Leased, 0},
		{storetest.Start, true, store.CodeCancelled, store.CodeCancelled, store.Leased, 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s,stop=%v", tt.verdict, tt.stop), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			item := store.Settlement{Receipt: lead(r, store.Leased, "k"), Delay: 1000}
			if tt.stop {
				_, err := r.Cancel(t.Context(), r.p, r.cancelRequest(store.Ref{Key: "k"}))
				r.must(err)
			}
			if got := r.settle(tt.verdict, item, item); got[0] != tt.code || got[1] != tt.again {
				t.Errorf("got %v, want %v and %v", got, tt.code, tt.again)
			}
			if e := r.inner().byID.get(id(1)); (e == nil) != (tt.left == "") {
				t.Errorf("left: %v, want %q", e, tt.left)
			}
			if tt.left != "" && (r.record(1).State != tt.left || r.record(1).Failures != tt.failures) {
				t.Errorf("left %+v, want %s", r.record(1), tt.left)
			}
		})
	}
}

func TestNack_LastFailureMakesDead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead(r, store.Ready, "k")
	for i, want := range []store.Code{store.CodeOK, store.CodeDead} {
		item := store.Settlement{Receipt: r.claimN(1).Deliveries[0].Receipt, Failure: fmt.Sprint("failure ", i+1)}
		if got := r.settle(store.Nack, item, item); got[0] != want || got[1] != want {
			t.Errorf("nack %d: got %v, want %v twice", i+1, got, want)
		}
	}
	if got := r.record(1); got.State != store.Dead || got.Attempt != 2 || got.Failures != 2 || got.LastFailure != "failure 2" {
		t.Errorf("got %+v", got)
	}
	if got, err := r.Get(t.Context(), r.p, store.Ref{Key: "k"}); err != nil || got.State != store.Dead {
		t.Errorf("%+v, %v, want the dead message to be found by its key", got, err)
	}
	next := messages(2)[1]
	next.Key = "k"
	r.push(next)
	if got, err := r.Get(t.Context(), r.p, store.Ref{Key: "k"}); err != nil || got.ID != next.ID {
		t.Errorf("%+v, %v: the dead letter still has its key", got, err)
	}
}

func TestCancel_MessageOfACrashedHolderIsRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead(r, store.Leased, "")
	_, err := r.Cancel(t.Context(), r.p, r.cancelRequest(store.Ref{ID: id(1)}))
	r.must(err)
	r.clock.move(time.Minute)
	if got := r.claimN(1); len(got.Deliveries) != 0 {
		t.Errorf("delivered again: %+v", got.Deliveries)
	}
	if c := r.stats().Counters; c.Cancelled != 1 || c.LeaseLost != 1 || c.DeadLettered != 0 {
		t.Errorf("got %+v", c)
	}
}

func TestReschedule_ByState(t *testing.T) {
	t.Parallel()
	for state, want := range map[store.State]store.Code{
		store.Scheduled: store.CodeOK, store.Ready: store.CodeOK, store.Leased: store.CodeRunning, store.Dead: store.CodeDead,
	} {
		r := newRig(t)
		lead(r, state, "")
		got, err := r.Reschedule(t.Context(), r.p, r.rescheduleRequest(
			store.Move{Ref: store.Ref{ID: id(1)}, Delay: 77}, store.Move{Ref: store.Ref{ID: id(2)}},
			store.Move{Ref: store.Ref{ID: id(1)}, Due: epoch + store.MaxDelay + 1},
		))
		r.must(err)
		last := want // of the third: too far where it could be moved
		if want == store.CodeOK {
			last = store.CodeTooFar
		}
		if !slices.Equal(got, []store.Code{want, store.CodeNotFound, last}) {
			t.Errorf("%s: got %v", state, got)
		}
		if moved := r.record(1).At == epoch+77; moved != (want == store.CodeOK) {
			t.Errorf("%s: moved: %v", state, moved)
		}
	}
}

func TestRedrive_TakesItsKeyAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := lead(r, store.Dead, "k")
	redrive := func(want store.PushResult) {
		t.Helper()
		got, err := r.Redrive(t.Context(), r.p, r.redriveRequest(id(1)))
		r.must(err)
		if got[0] != want {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
	}
	other := message(2)
	other.Key = "k"
	r.push(other)
	redrive(store.PushResult{Code: store.CodeDuplicate, Holder: id(2)})
	r.settle(store.Ack, store.Settlement{Receipt: r.claimN(1).Deliveries[0].Receipt})
	redrive(store.PushResult{Code: store.CodeOK})
	redrive(store.PushResult{Code: store.CodeNotFound})
	if got := r.push(other); got[0].Holder != id(1) {
		t.Errorf("the key is free: %+v", got[0])
	}
	d := r.claimN(1).Deliveries[0]
	if d.Failures != 0 || d.Receipt.Attempt != old.Attempt+1 {
		t.Errorf("got %+v, want no failures and the attempt after %d", d, old.Attempt)
	}
}

func TestPush_ReplacesMessageWithItsKeyByState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		state   store.State
		ttl     int64
		replace bool
		want    store.Code
	}{
		{"ready", store.Ready, 0, false, store.CodeDuplicate},
		{"ready, replaced", store.Ready, 0, true, store.CodeOK},
		{"scheduled, replaced", store.Scheduled, 0, true, store.CodeOK},
		{"expired", store.Ready, 1, false, store.CodeOK},
		{"leased", store.Leased, 0, true, store.CodeDuplicate},
		{"leased, expired meanwhile", store.Leased, 1, true, store.CodeDuplicate},
		{"dead", store.Dead, 0, false, store.CodeOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			lead(r, tt.state, "k")
			if tt.ttl > 0 {
				r.inner().byID.get(id(1)).extra().expiry = epoch + tt.ttl
			}
			r.clock.move(time.Millisecond)
			m := message(2)
			m.Key, m.Replace = "k", tt.replace
			if got := r.push(m); got[0].Code != tt.want {
				t.Errorf("got %+v, want %v", got[0], tt.want)
			}
		})
	}
}

func TestPush_SameMessageAgain(t *testing.T) {
	t.Parallel()
	for _, state := range []store.State{store.Scheduled, store.Ready, store.Leased, store.Dead} {
		r := newRig(t)
		lead(r, state, "")
		m := message(1)
		m.MaxAttempts = 2
		body, attempts, key := m, m, m
		body.Body, attempts.MaxAttempts, key.Key = []byte("other"), 3, "k"
		if got := r.push(m); got[0].Code != store.CodeOK {
			t.Errorf("%s: the same: %v", state, got[0].Code)
		}
		for i, got := range r.push(body, attempts, key) {
			if got.Code != store.CodeConflict {
				t.Errorf("%s: another one (%d): %v", state, i, got.Code)
			}
		}
		if sent := r.stats().Counters.Sent; sent != 1 {
			t.Errorf("%s: %d are stored", state, sent)
		}
		r.number -= 2 // a delayed duplicate of an older push
		if got := r.push(message(9)); got[0].Code != store.CodeStale {
			t.Errorf("%s: an old number: %v", state, got[0].Code)
		}
	}
}

func TestPush_FullPartitionRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	most := int64(2)
	r.configure(store.Change{MaxMessages: &most})
	if got := r.push(messages(3)...); got[1].Code != store.CodeOK || got[2].Code != store.CodeFull {
		t.Errorf("got %v", got)
	}
}

func TestClaim_AtMostOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := message(1)
	m.Key = "k"
	r.push(m)
	claim := store.ClaimRequest{Consumer: "c", Number: 1, Max: 5, Lease: 1000, AckOnClaim: true}
	for i, want := range [][]int{{1}, {}} {
		got, err := r.Claim(t.Context(), r.p, claim)
		r.must(err)
		if !slices.Equal(numbers(got.Deliveries), want) || got.Wait != store.MaxWait {
			t.Errorf("claim %d: got %v, wait %v, want %v", i+1, numbers(got.Deliveries), got.Wait, want)
		}
	}
	if c := r.stats().Counters; c.Delivered != 1 || c.Acked != 1 {
		t.Errorf("got %+v", c)
	}
}

// The counters of a partition are those of the port, in the same order.
func TestStats_HasACounterForEachOfThePort(t *testing.T) {
	t.Parallel()
	if n := len(new(store.Counters).All()); n != int(counters) {
		t.Errorf("%d counters, want %d", counters, n)
	}
}
