package dueq_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestCreate_AgainWithTheSameSettingsChangesNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		s := dueq.Settings{
			Partitions: 3, MaxBody: 1000, MaxMessages: 50, MaxAttempts: 4, Lease: time.Minute, DeadRetention: 48 * time.Hour, MaxDead: 1000, DedupFor: time.Hour,
			History: 24 * time.Hour, MaxHistory: 5000,
			Backoff: dueq.BackoffSettings{Base: time.Second, Most: time.Hour},
		}
		r.must(r.q.Create(r.Context(), s))
		r.must(r.q.Pause(r.Context()))
		r.must(r.direct.Create(r.Context(), s))
		other := s
		other.Lease = time.Hour
		err := r.direct.Create(r.Context(), other)
		var e *dueq.Error
		if !errors.Is(err, dueq.ErrExists) || !errors.As(err, &e) || e.Field != "lease" {
			r.Errorf("with another lease: %v, want ErrExists of lease", err)
		}
		s.Paused = true
		if got, err := r.q.Settings(r.Context()); err != nil || got != s {
			r.Errorf("%+v, %v, want %+v", got, err, s)
		}
		wantInvalid(r.T, r.q.Create(r.Context(), s), "paused")
	})
}

// The reply of Create is lost: the call that is repeated succeeds.
func TestCreate_RepeatedAfterLostReplySucceeds(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.net.set(once(replyLost, "configure"))
		if err := r.q.Create(r.Context(), dueq.Settings{MaxBody: 7}); err == nil {
			r.Fatal("the reply was not lost")
		}
		r.must(r.q.Create(r.Context(), dueq.Settings{MaxBody: 7}))
	})
}

func TestUpdate_NothingIsOverwritten(t *testing.T) {
	inBubble(t, func(r *rig) {
		if _, err := r.q.Update(r.Context(), func(*dueq.Settings) {}); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("of an unknown queue: %v, want ErrNotFound", err)
		}
		r.must(r.q.Create(r.Context(), dueq.Settings{}))
		const clients = 10
		var updating sync.WaitGroup
		for range clients {
			updating.Go(func() {
				if _, err := r.q.Update(r.Context(), func(s *dueq.Settings) { s.MaxMessages++ }); err != nil {
					r.Error(err)
				}
			})
		}
		updating.Wait()
		got, err := r.q.Update(r.Context(), func(s *dueq.Settings) { s.MaxAttempts = 3 })
		r.must(err)
		if want := (dueq.Settings{Partitions: 1, MaxBody: 256 << 10, MaxMessages: clients, MaxAttempts: 3}); got != want {
			r.Errorf("%+v, want %+v", got, want)
		}
	})
}

// Another client changes the settings between the read and the write.
func TestUpdate_IsRepeatedAfterAConflict(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.q.Create(r.Context(), dueq.Settings{}))
		calls := 0
		got, err := r.q.Update(r.Context(), func(s *dueq.Settings) {
			if calls++; calls == 1 {
				_, err := r.direct.Update(r.Context(), func(s *dueq.Settings) { s.MaxBody = 77 })
				r.must(err)
			}
			s.MaxMessages = int64(s.MaxBody)
		})
		r.must(err)
		if calls != 2 || got.MaxMessages != 77 || got.MaxBody != 77 {
			r.Errorf("%d calls, %+v, want it made twice, the second time to 77", calls, got)
		}
	})
}

func TestReceive_UnknownQueueIsNotCreated(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, wait := range []time.Duration{0, time.Minute} {
			if _, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Wait: wait}); !errors.Is(err, dueq.ErrNotFound) {
				r.Errorf("wait %s: %v, want ErrNotFound", wait, err)
			}
		}
		if _, err := r.direct.Settings(r.Context()); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("the queue was made: %v", err)
		}
	})
}

func TestSettings_AreTheDefaultsOfSendAndConsume(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{
			MaxAttempts: 2, Lease: 5 * time.Minute, Backoff: dueq.BackoffSettings{Base: time.Millisecond, Most: time.Millisecond},
		}))
		for range 2 {
			_, err := r.q.Send(r.Context(), dueq.Message{})
			r.must(err)
			results, err := r.q.SendBatch(r.Context(), make([]dueq.Message, 1))
			r.must(err)
			r.must(results[0].Err)
			_, err = r.direct.Update(r.Context(), func(s *dueq.Settings) { s.MaxAttempts = 3 })
			r.must(err)
		}
		start := time.Now()
		deliveries, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 10})
		r.must(err)
		attempts := map[int]int{}
		for _, d := range deliveries {
			attempts[d.MaxAttempts]++
			record := r.get(d.ID)
			if lease := record.At.Sub(start); lease < 5*time.Minute {
				r.Errorf("received for %s, want 5m", lease)
			}
		}
		if attempts[2] != 2 || attempts[3] != 2 {
			r.Errorf("max attempts %v, want two with 2 and, after the change, two with 3", attempts)
		}
		for _, d := range deliveries {
			r.must(d.Release(r.Context(), 0))
		}
		failed := errors.New("failed")
		consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
			record, err := r.direct.Get(ctx, dueq.ID(d.ID))
			if left := time.Until(record.At); err != nil || left < 4*time.Minute {
				r.Errorf("consumed for %s, %v, want 5m", left, err)
			}
			return failed
		}, dueq.ConsumeOptions{Concurrency: 4})
		r.sleep(time.Second)
		_, err = consumer.end()
		r.must(err)
		if s := r.stats(); s.Dead != 4 {
			r.Errorf("%d dead, want all 4 within a second, as the backoff is 1 ms", s.Dead)
		}
	})
}
