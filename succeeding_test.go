package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// consumeWays are the ways to consume a queue with a number of handlers that run at a time.
var consumeWays = map[string]func(r *rig, h dueq.Handler, c dueq.ConsumeOptions) *consuming{
	"Consume": func(r *rig, h dueq.Handler, c dueq.ConsumeOptions) *consuming { return r.consume(r.q, h, c) },
	"ConsumeBatch": func(r *rig, h dueq.Handler, c dueq.ConsumeOptions) *consuming {
		return r.consumeBatch(r.q, func(ctx context.Context, batch []*dueq.Delivery) error { return h(ctx, batch[0]) },
			dueq.BatchOptions{Max: 1, ConsumeOptions: c})
	},
	"Worker": func(r *rig, h dueq.Handler, c dueq.ConsumeOptions) *consuming {
		w, err := dueq.NewWorker(r.client, dueq.WorkerOptions{Concurrency: c.Concurrency, Grace: c.Grace})
		r.must(err)
		r.must(w.Handle("work", h, dueq.HandleOptions{}))
		ctx, stop := context.WithCancel(r.Context())
		running := &consuming{stop: stop, done: make(chan error, 1)}
		go func() { running.done <- w.Run(ctx) }()
		return running
	},
}

// slowly is a handler that handles messages with the body "slow" until release is closed, and all
// others in 0.1 s.
type slowly struct {
	release       chan struct{}
	seen          tally
	running, most atomic.Int64
	ended         atomic.Pointer[error] // why the context of a slow one has ended
}

func newSlowly() *slowly { return &slowly{release: make(chan struct{})} }

func (s *slowly) handle(ctx context.Context, d *dueq.Delivery) error {
	n := s.running.Add(1)
	defer s.running.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	s.seen.add(d.ID)
	if string(d.Body) != "slow" {
		pass(100 * time.Millisecond)
		return nil
	}
	select {
	case <-s.release:
	case <-ctx.Done():
		cause := context.Cause(ctx)
		s.ended.Store(&cause)
	}
	return nil
}

func (s *slowly) interrupted() error {
	if cause := s.ended.Load(); cause != nil {
		return *cause
	}
	return nil
}

// While handlers of a consumer run on after its queue has grown, another consumer uses all partitions,
// with the handlers that are left.
func TestGrowing_HandlersRunOnBesideTheNextConsumer(t *testing.T) {
	for name, consume := range consumeWays {
		for _, slow := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d of 3 are slow", name, slow), func(t *testing.T) {
				inBubble(t, func(r *rig) {
					r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: 2}))
					h := newSlowly()
					n := consume(r, h.handle, dueq.ConsumeOptions{Concurrency: 3, Grace: time.Second})
					const quick = 60
					r.sendMany(quick)
					r.sleep(time.Minute) // the consumer knows now how long they take, and prefetches
					for range slow {
						r.send(dueq.Message{Body: []byte("slow")})
					}
					r.sleep(10 * time.Millisecond)
					r.sendMany(quick)
					r.sleep(10 * time.Millisecond)
					r.grow(8)
					r.sleep(time.Minute)
					want := quick + slow
					if slow < 3 {
						want += quick
					}
					if h.seen.distinct() != want || h.interrupted() != nil {
						t.Errorf("%d messages were delivered while handlers ran on, want %d; one was interrupted: %v", h.seen.distinct(), want, h.interrupted())
					}
					close(h.release)
					r.sleep(time.Minute)
					before := h.most.Swap(0)
					r.sendMany(quick)
					r.sleep(time.Minute)
					if after := h.most.Load(); before != 3 || after != 3 {
						t.Errorf("at most %d handlers ran at a time, and %d after the slow ones had returned; want 3", before, after)
					}
					if s := r.stats(); h.seen.total() != slow+3*quick || s.Counters.Acked != int64(slow+3*quick) || s.Counters.LeaseLost+s.Counters.Nacked != 0 {
						t.Errorf("%d deliveries, want %d; %+v", h.seen.total(), slow+3*quick, s.Counters)
					}
					_, err := n.end()
					r.must(err)
				})
			})
		}
	}
}

// Handlers that run on have Grace when the consumer is stopped, and hear of cancels.
func TestGrowing_HandlersThatRunOnAreStopped(t *testing.T) {
	for name, consume := range consumeWays {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				h := newSlowly()
				n := consume(r, h.handle, dueq.ConsumeOptions{Concurrency: 2, Grace: 7 * time.Second})
				cancelled := r.send(dueq.Message{Body: []byte("slow")})
				r.sleep(time.Second)
				r.grow(2)
				r.sleep(time.Minute)
				if err := r.direct.Cancel(r.Context(), dueq.ID(cancelled)); !errors.Is(err, dueq.ErrRunning) {
					t.Errorf("cancel: %v", err)
				}
				r.sleep(time.Second)
				if why := h.interrupted(); !errors.Is(why, dueq.ErrCancelled) {
					t.Errorf("the handler of the cancelled message ended for %v", why)
				}
				left := r.send(dueq.Message{Body: []byte("slow")})
				r.sleep(time.Second)
				r.grow(4)
				r.sleep(time.Minute)
				took, err := n.end()
				if why := h.interrupted(); err != nil || took < 7*time.Second || took > 9*time.Second || !errors.Is(why, dueq.ErrClosed) {
					t.Errorf("stopped after %s, error %v, the handler ended for %v", took, err, why)
				}
				if s := r.stats(); h.seen.of(left) != 1 || s.Counters.Acked != 2 {
					t.Errorf("%d deliveries, %+v", h.seen.of(left), s.Counters)
				}
			})
		})
	}
}
