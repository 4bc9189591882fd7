package embedded

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

func TestNew_WorksInASynctestBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewMemory(Config{})
		p := store.Partition{Queue: "q"}
		m := message(1)
		m.Delay = 1800_000
		if _, err := s.Push(t.Context(), p, store.PushRequest{Producer: "p", Number: 1, Messages: []store.Message{m}}); err != nil {
			t.Fatal(err)
		}
		for number := uint64(1); ; number++ {
			got, err := s.Claim(t.Context(), p, store.ClaimRequest{Consumer: "c", Number: number, Max: 1, Lease: 1000})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Deliveries) == 1 {
				break
			}
			<-time.After(got.Wait) // fake: as long as the store says, to the nanosecond
			if number > 1 {
				t.Fatalf("claim %d came too early", number)
			}
		}
	})
}

func TestClose_LaterCallsReturnErrClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := r.Stats(t.Context(), ""); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v, want closed", err)
	}
}

func TestConfigure_NumberOfPartitionsGrowsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(message(1)) // makes the queue with one partition
	n := 4
	s, err := r.Configure(t.Context(), r.p.Queue, store.Change{Create: true, Partitions: &n})
	r.must(err)
	if s.Partitions != 4 || s.From != 1 {
		t.Errorf("%+v", s)
	}
	n = 1
	_, err = r.Configure(t.Context(), r.p.Queue, store.Change{Partitions: &n})
	wantInvalid(t, err, "partitions")
}

func TestPartition_EmptyFreesItsMaps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 10 {
		ms := messages(500)
		for j := range ms {
			ms[j].ID = id(i*500 + j + 1)
			ms[j].Key = fmt.Sprint(i, "-", j)
		}
		r.push(ms...)
	}
	part := r.inner()
	if part.most != 5000 {
		t.Fatalf("most %d, want 5000", part.most)
	}
	for range 10 {
		result, err := r.Purge(t.Context(), r.p, r.purgeRequest(store.Ready, 500))
		r.must(err)
		if result.Removed != 500 {
			t.Fatalf("purged %d", result.Removed)
		}
	}
	if part.most != 0 || len(part.byKey) != 0 {
		t.Errorf("most %d, %d keys: the maps were kept", part.most, len(part.byKey))
	}
}

func TestPurge_IDGivenTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(message(1), message(2))
	result, err := r.Purge(t.Context(), r.p, store.PurgeRequest{
		Caller: "m", Number: r.next(), State: store.Ready, IDs: []store.ID{id(1), id(1), id(3)}, Limit: 9,
	})
	r.must(err)
	if result.Removed != 1 || r.stats().Ready != 1 {
		t.Errorf("purged %d, %d left", result.Removed, r.stats().Ready)
	}
}

// Many goroutines do everything at once on two partitions; what was sent is acked
// or still there, and the audit is clean throughout.
func TestStore_ConcurrentUse(t *testing.T) {
	t.Parallel()
	s := NewMemory(Config{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() { useEverything(t, s, worker) })
	}
	wg.Wait()
	all, err := s.Stats(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	st := all[0]
	live := st.Scheduled + st.Ready + st.Leased + st.Dead
	if st.Counters.Sent != 8*50*5 || st.Counters.Sent != st.Counters.Gone()+live {
		t.Errorf("sent %d, gone %d, live %d", st.Counters.Sent, st.Counters.Gone(), live)
	}
}

func useEverything(t *testing.T, s *Store, worker int) {
	t.Helper()
	ctx, p := t.Context(), store.Partition{Queue: "q", Index: worker % 2}
	name := fmt.Sprint("w", worker)
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for i := range uint64(50) {
		ms := make([]store.Message, 5)
		for j := range ms {
			ms[j] = store.Message{ID: route.NewID(p.Index), Body: []byte("b"), MaxAttempts: 2, Delay: int64(j)}
		}
		_, err := s.Push(ctx, p, store.PushRequest{Producer: name, Number: i, Messages: ms})
		must(err)
		got, err := s.Claim(ctx, p, store.ClaimRequest{Consumer: name, Number: i, Max: 4, Lease: 1000})
		must(err)
		for j, d := range got.Deliveries {
			v := []store.Verdict{store.Ack, store.Nack, store.Reject, storetest.Extend}[j]
			_, err = storetest.Settle(ctx, s, p, store.SettleRequest{Verdict: v, Items: []store.Settlement{{Receipt: d.Receipt, Delay: 1000}}})
			must(err)
		}
		_, err = s.Cancel(ctx, p, store.CancelRequest{Caller: name, Number: i, Refs: []store.Ref{{ID: ms[4].ID}}})
		must(err)
		result, err := s.Check(ctx, p, store.CheckRequest{Limit: 1000})
		must(err)
		if len(result.Problems) > 0 {
			t.Errorf("check: %v", result.Problems)
		}
		_, err = s.Stats(ctx, "q")
		must(err)
	}
}
