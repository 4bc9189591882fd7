package embedded

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// onDisk opens a store whose caretaker is called by hand.
func onDisk(t *testing.T, d *faultdisk.Disk) *Store {
	t.Helper()
	s, err := openOn(t.Context(), d, Config{Logger: quiet}, tuning{segmentSize: smallSegments, byHand: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// pushSome stores n messages of a kilobyte, one in each call.
func pushSome(t *testing.T, s *Store, p store.Partition, producer string, n int) {
	t.Helper()
	for i := range n {
		m := message(i + 1)
		m.Body = make([]byte, 1<<10)
		_, err := s.Push(t.Context(), p, store.PushRequest{Producer: producer, Number: uint64(i + 1), Messages: []store.Message{m}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ackAll claims n messages and acks them.
func ackAll(t *testing.T, s *Store, p store.Partition, n int) {
	t.Helper()
	result, err := s.Claim(t.Context(), p, store.ClaimRequest{Consumer: "c", Number: 1, Max: n, Lease: 1000})
	if err != nil || len(result.Deliveries) != n {
		t.Fatalf("claimed %d, %v, want %d", len(result.Deliveries), err, n)
	}
	r := store.SettleRequest{Verdict: store.Ack}
	for _, d := range result.Deliveries {
		r.Items = append(r.Items, store.Settlement{Receipt: d.Receipt})
	}
	if _, err := s.Settle(t.Context(), p, r); err != nil {
		t.Fatal(err)
	}
}

// A merge has chosen what to write down again when the queue is deleted: none of that may be
// in the log behind the deletion.
func TestDeleteQueue_MergeUnderWay(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	s := onDisk(t, d)
	p := store.Partition{Queue: "orders"}
	pushSome(t, s, p, "p", 5)
	old := s.partition(p)
	if err := s.DeleteQueue(t.Context(), p.Queue, store.DeleteRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	oldest, _ := s.log.Ends()
	m := merging{caretaker: s.care, ctx: t.Context()}
	if err := m.summarize(old, oldest); err != nil {
		t.Fatal(err)
	}
	s.repeatSettings(p.Queue, oldest)
	result, err := s.claimDurably(t.Context(), old, store.ClaimRequest{Consumer: "c", Number: 1, Max: 5, Lease: 1000})
	if err != nil || len(result.Deliveries) > 0 {
		t.Fatalf("claimed %v, %v", result, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = onDisk(t, d)
	if !s.missing(p.Queue) {
		t.Error("the queue is back")
	}
	if n := s.live.messages.Load(); n != 0 {
		t.Errorf("%d messages are counted, want 0", n)
	}
}

func TestDeleteQueue_OutlivesAPowerCut(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	s := onDisk(t, d)
	p := store.Partition{Queue: "orders"}
	pushSome(t, s, p, "p", 3)
	if err := s.DeleteQueue(t.Context(), p.Queue, store.DeleteRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	if after := onDisk(t, d.Cut(faultdisk.Lost, rand.New(rand.NewPCG(1, 1)))); !after.missing(p.Queue) {
		t.Error("the queue is back")
	}
}

// A push has looked up a partition when its queue is deleted: it is stored in a new queue.
func TestPush_QueueIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	s := onDisk(t, faultdisk.New())
	p := store.Partition{Queue: "orders"}
	old := s.makePartition(p)
	if err := s.DeleteQueue(t.Context(), p.Queue, store.DeleteRequest{Force: false}); err != nil {
		t.Fatal(err)
	}
	r := store.PushRequest{Producer: "p", Number: 1, Messages: []store.Message{message(1)}}
	if _, err := s.pushTo(t.Context(), old, r); !errors.Is(err, errVanished) {
		t.Fatalf("push to the old partition: %v, want errVanished", err)
	}
	if n := old.byID.len(); n != 0 {
		t.Errorf("the old partition has %d messages, want 0", n)
	}
}

// The space of a deleted queue is given back, also after the store was opened again, and what
// it needs is not counted any more.
func TestDeleteQueue_MergesGiveBackItsSpace(t *testing.T) {
	t.Parallel()
	for _, reopened := range []bool{false, true} {
		d := faultdisk.New()
		s := onDisk(t, d)
		kept := store.Partition{Queue: "kept"}
		pushSome(t, s, kept, "p", 10)
		needed := s.live.bytes.Load()
		p, history := store.Partition{Queue: "orders"}, int64(3_600_000)
		if _, err := s.Configure(t.Context(), p.Queue, store.Change{Create: true, History: &history}); err != nil {
			t.Fatal(err)
		}
		pushSome(t, s, p, "p", 200)
		ackAll(t, s, p, 100) // which become done
		if err := s.DeleteQueue(t.Context(), "orders", store.DeleteRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		if reopened {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = onDisk(t, d)
		}
		if got := s.live.bytes.Load(); got != needed {
			t.Errorf("reopened %v: %d bytes are needed, want %d", reopened, got, needed)
		}
		before := s.log.Size()
		if err := s.care.mergeDownTo(t.Context(), 0, 1<<30); err != nil {
			t.Fatal(err)
		}
		if after := s.log.Size(); after > before/4 {
			t.Errorf("reopened %v: the log has %d bytes, %d before", reopened, after, before)
		}
		if err := audit(s); err != nil {
			t.Error(err)
		}
		if s.missing("kept") || !s.missing("orders") || s.partition(kept).byID.len() != 10 {
			t.Errorf("reopened %v: the wrong queue is gone", reopened)
		}
	}
}
