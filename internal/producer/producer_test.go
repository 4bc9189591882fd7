package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/internal/producer"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var to = store.Partition{Queue: "work"}

// recorder is a store that records pushes; its other methods must not be called.
type recorder struct {
	store.Store
	mu       sync.Mutex
	answer   func() error
	requests []store.PushRequest
	busy     map[string]bool
	overlaps []string
}

func (r *recorder) Push(_ context.Context, _ store.Partition, p store.PushRequest) ([]store.PushResult, error) {
	r.mu.Lock()
	if r.busy[p.Producer] {
		r.overlaps = append(r.overlaps, p.Producer)
	}
	r.busy[p.Producer] = true
	r.requests = append(r.requests, p)
	answer := r.answer
	r.mu.Unlock()
	err := answer()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[p.Producer] = false
	return make([]store.PushResult, len(p.Messages)), err
}

func newRecorder(answer func() error) *recorder {
	return &recorder{answer: answer, busy: map[string]bool{}}
}

func messages(n int) []store.Message {
	all := make([]store.Message, n)
	for i := range all {
		all[i] = store.Message{ID: route.NewID(0), Body: fmt.Append(nil, i), MaxAttempts: 1, New: true}
	}
	return all
}

func TestPush_OneCallPerLaneAndNumbersGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newRecorder(func() error { <-release; return nil })
		p := producer.New(s, "p", time.Minute)
		var pushing sync.WaitGroup
		for range 100 {
			pushing.Go(func() {
				if _, err := p.Push(t.Context(), to, messages(1)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(s.requests); n != producer.Lanes {
			t.Errorf("%d pushes under way, want %d", n, producer.Lanes)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Push(ctx, to, messages(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want not to wait for a lane with an ended ctx", err)
		}
		close(release)
		pushing.Wait()
		last := map[string]uint64{}
		for _, r := range s.requests {
			if r.Number <= last[r.Producer] {
				t.Errorf("%s went from %d to %d", r.Producer, last[r.Producer], r.Number)
			}
			last[r.Producer] = r.Number
		}
		if len(s.overlaps) > 0 {
			t.Errorf("overlapping pushes of %v", s.overlaps)
		}
	})
}

func TestPush_SequentialPushesShareOneLane(t *testing.T) {
	t.Parallel()
	s := newRecorder(func() error { return nil })
	p := producer.New(s, "p", time.Minute)
	for want := range uint64(5) {
		if _, err := p.Push(t.Context(), to, messages(1)); err != nil {
			t.Fatal(err)
		}
		if r := s.requests[want]; r.Producer != s.requests[0].Producer || r.Number != want+1 {
			t.Errorf("push %d went as %s %d", want, r.Producer, r.Number)
		}
	}
}

func TestRecall_RepeatsUnderTheOldNumber(t *testing.T) {
	t.Parallel()
	fault := fmt.Errorf("reply lost: %w", store.ErrUnavailable)
	sent := messages(3)
	changed := slices.Clone(sent)
	changed[1].Body = []byte("something else")
	tests := []struct {
		name   string
		err    error
		again  []store.Message
		repeat bool
	}{
		{"all of them", fault, sent, true},
		{"among others, in another order", fault, []store.Message{sent[2], messages(1)[0], sent[1], sent[0]}, true},
		{"only some", fault, sent[1:2], true},
		{"one with other content", fault, changed, true},
		{"other messages", fault, messages(3), false},
		{"nothing was stored for certain", store.ErrQueueFull, sent, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.err
			s := newRecorder(func() error { return err })
			p := producer.New(s, "p", time.Minute)
			if _, got := p.Push(t.Context(), to, sent); !errors.Is(got, test.err) {
				t.Fatal(got)
			}
			err = nil
			outcomes := p.Recall(t.Context(), to, test.again)
			if !test.repeat {
				if len(outcomes) != 0 || len(s.requests) != 1 {
					t.Errorf("repeated: %v", outcomes)
				}
				return
			}
			if len(s.requests) != 2 || len(s.requests[1].Messages) != len(sent) {
				t.Fatalf("%d pushes, want 2 of %d messages", len(s.requests), len(sent))
			}
			if a, b := s.requests[0], s.requests[1]; a.Producer != b.Producer || a.Number != b.Number {
				t.Errorf("pushed as %s %d, repeated as %s %d", a.Producer, a.Number, b.Producer, b.Number)
			}
			for i, m := range s.requests[1].Messages {
				if m.New {
					t.Errorf("message %d is repeated as new", i)
				}
				_, known := outcomes[m.ID]
				if stored := bytes.Equal(m.Body, sent[i].Body) && m.Due == 0; m.ID != sent[i].ID || stored != known {
					t.Errorf("message %d: %+v, outcome known: %t", i, m, known)
				}
			}
			again := p.Recall(t.Context(), to, test.again)
			if len(s.requests) != 2 || len(again) != 0 && len(outcomes) == len(sent) {
				t.Errorf("repeated once more: %v", again)
			}
		})
	}
}

func TestPush_UnknownOutcomesAreBounded(t *testing.T) {
	t.Parallel()
	s := newRecorder(func() error { return store.ErrUnavailable })
	p := producer.New(s, "p", time.Minute)
	for range 1000 {
		_, err := p.Push(t.Context(), to, messages(1))
		if !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	for _, r := range s.requests {
		names[r.Producer] = true
	}
	if limit := 4*producer.Lanes + 1; len(names) > limit {
		t.Errorf("%d names used, want at most %d", len(names), limit)
	}
}

// A push of unknown outcome is repeated when the queue has grown since then: if it was not executed,
// its messages may belong to another partition, and are stored only in the place of others.
func TestRecall_AfterAGrowthStoresOnlyInThePlaceOfOthers(t *testing.T) {
	t.Parallel()
	errs := []error{store.ErrUnavailable, store.ErrRepartitioned, nil}
	s := newRecorder(func() error {
		err := errs[0]
		errs = errs[1:]
		return err
	})
	p := producer.New(s, "p", time.Minute)
	sent := messages(2)
	for i := range sent {
		sent[i].Of = 2
	}
	if _, err := p.Push(t.Context(), to, sent); !errors.Is(err, store.ErrUnavailable) {
		t.Fatal(err)
	}
	outcomes := p.Recall(t.Context(), to, sent)
	if len(outcomes) != 2 || len(s.requests) != 3 || s.requests[2].Number != s.requests[0].Number {
		t.Fatalf("%v after %d pushes", outcomes, len(s.requests))
	}
	for i, m := range s.requests[2].Messages {
		if !m.OnlyHeld || m.Of != 0 || m.ID != sent[i].ID {
			t.Errorf("message %d is repeated as %+v", i, m)
		}
	}
}
