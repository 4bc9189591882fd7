package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestSnooze_PostponesWithoutAFailure(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{MaxAttempts: 1})
		start := time.Now()
		var at []time.Duration
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			at = append(at, time.Since(start))
			if d.Snoozes != len(at)-1 || d.Failures != 0 || !d.LastAttempt() {
				r.Errorf("delivery %d has %d snoozes and %d failures", len(at), d.Snoozes, d.Failures)
			}
			if len(at) <= 3 {
				return fmt.Errorf("not yet: %w", dueq.Snooze(time.Duration(len(at))*time.Hour, "rate limited"))
			}
			return errNoLuck
		}, dueq.ConsumeOptions{})
		r.sleep(2 * time.Hour)
		if m := r.get(id); m.State != dueq.Scheduled || m.Snoozes != 2 || m.LastFailure != "snoozed: rate limited" {
			r.Errorf("%+v, want it scheduled after two snoozes, with the reason", m)
		}
		r.sleep(22 * time.Hour)
		_, err := consumer.end()
		r.must(err)
		if want := "[0s 1h0m0s 3h0m0s 6h0m0s]"; fmt.Sprint(at) != want {
			r.Errorf("delivered at %v, want %v", at, want)
		}
		if m := r.get(id); m.State != dueq.Dead || m.Failures != 1 || m.Snoozes != 3 || m.LastFailure != "no luck" {
			r.Errorf("%+v, want it dead after one failure", m)
		}
		recent := ""
		for _, f := range r.get(id).RecentFailures {
			recent += fmt.Sprintf("%d %v %s; ", f.Attempt, f.At.Sub(start), f.Text)
		}
		if want := "4 6h0m0s no luck; 3 3h0m0s snoozed: rate limited; 2 1h0m0s snoozed: rate limited; 1 0s snoozed: rate limited; "; recent != want {
			r.Errorf("recent failures %q, want %q", recent, want)
		}
		if c := r.stats().Counters; c.Snoozed != 3 || c.Nacked != 1 {
			r.Errorf("%+v, want 3 snoozed, 1 nacked", c)
		}
	})
}

func TestSnooze_CancelledMeanwhileIsRemoved(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{})
		all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		if err := r.direct.Cancel(r.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrRunning) {
			r.Errorf("cancel: %v, want ErrRunning", err)
		}
		if err := all[0].Snooze(r.Context(), time.Hour, "busy"); !errors.Is(err, dueq.ErrCancelled) {
			r.Errorf("%v, want ErrCancelled", err)
		}
		if _, err := r.direct.Get(r.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("%v, want the message gone", err)
		}
		if c := r.stats().Counters; c.Snoozed != 0 || c.Cancelled != 1 {
			r.Errorf("%+v, want 1 cancelled", c)
		}
	})
}

func TestSnooze_RepeatedAfterLostReplyCountsOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{})
		all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		r.net.set(always(replyLost, "snooze"))
		if err := all[0].Snooze(r.Context(), time.Hour, ""); !errors.Is(err, dueq.ErrUnavailable) {
			r.Errorf("%v, want ErrUnavailable", err)
		}
		r.net.set(nil)
		r.must(all[0].Snooze(r.Context(), time.Hour, ""))
		if m := r.get(id); m.Snoozes != 1 || m.LastFailure != "snoozed" || time.Until(m.At) != time.Hour {
			r.Errorf("%+v, want one snooze", m)
		}
		if err := all[0].Snooze(r.Context(), -time.Hour, ""); !errors.Is(err, dueq.ErrInvalid) {
			r.Errorf("negative delay: %v, want ErrInvalid", err)
		}
	})
}

func TestSettle_DoesWhatConsumeDoesWithAVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		verdict  error
		state    dueq.State // "": gone
		delay    time.Duration
		failures int
	}{
		{"nil acks", nil, "", 0, 0},
		{"an error nacks with the default backoff", errNoLuck, dueq.Scheduled, 16 * time.Second, 1},
		{"retry after", dueq.RetryAfter(time.Minute, errNoLuck), dueq.Scheduled, time.Minute, 1},
		{"snooze", dueq.Snooze(time.Minute, "busy"), dueq.Scheduled, time.Minute, 0},
		{"a negative snooze is over at once", dueq.Snooze(-time.Minute, "busy"), dueq.Ready, 0, 0},
		{"reject", dueq.Reject(errNoLuck), dueq.Dead, 0, 1},
		{"drop", dueq.Drop(errNoLuck), "", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				id := r.send(dueq.Message{})
				all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
				r.must(err)
				r.must(all[0].Settle(r.Context(), test.verdict))
				m, err := r.direct.Get(r.Context(), dueq.ID(id))
				if test.state == "" {
					if !errors.Is(err, dueq.ErrNotFound) {
						r.Errorf("%+v, %v, want it gone", m, err)
					}
					return
				}
				r.must(err)
				if m.State != test.state || m.Failures != test.failures {
					r.Errorf("%s after %d failures, want %s after %d", m.State, m.Failures, test.state, test.failures)
				}
				if due := time.Until(m.At); due < test.delay*9/10 || due > test.delay*11/10+time.Millisecond {
					r.Errorf("due in %s, want %s and a tenth", due, test.delay)
				}
			})
		})
	}
}
