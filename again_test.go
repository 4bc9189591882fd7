package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestAgain_RepeatsUnderTheSameKey(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{Key: "reminder-42", Body: []byte("1"), Headers: map[string]string{"h": "v"}, MaxAttempts: 2})
		start := time.Now()
		var seen []string
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen = append(seen, fmt.Sprintf("%s %s/%d/%d %s %s",
				time.Since(start).Round(time.Second), d.Body, d.Attempt, d.Token, d.Headers["h"], strings.Replace(d.IdempotencyKey(), id, "id", 1)))
			switch {
			case d.ID != id || d.Key != "reminder-42":
				r.Errorf("delivery of %s %q", d.ID, d.Key)
			case d.Token == 1:
				return dueq.Again(dueq.Schedule{Delay: time.Hour}, nil)
			case d.Token == 2:
				return errNoLuck
			case d.Token == 3:
				return fmt.Errorf("done: %w", dueq.Again(dueq.Schedule{Due: start.Add(3 * time.Hour)}, &dueq.AgainOptions{Body: []byte("2")}))
			}
			return nil
		}, dueq.ConsumeOptions{Backoff: func(*dueq.Delivery, error) time.Duration { return time.Minute }})
		r.sleep(2 * time.Hour)
		if m, err := r.direct.Get(r.Context(), dueq.Key("reminder-42")); err != nil || m.ID != id || m.Attempt != 0 || m.Token != 3 || m.Failures != 0 {
			r.Errorf("%+v, %v: want the message waiting without a past", m, err)
		}
		r.sleep(24 * time.Hour)
		_, err := consumer.end()
		r.must(err)
		if want := "[0s 1/1/1 v id 1h0m0s 1/1/2 v id.1 1h1m0s 1/2/3 v id.1 3h0m0s 2/1/4 v id.3]"; fmt.Sprint(seen) != want {
			r.Errorf("delivered %v, want %v", seen, want)
		}
		if c := r.stats().Counters; c.Sent != 1 || c.Acked != 1 || c.Repeated != 2 || c.Nacked != 1 {
			r.Errorf("%+v, want 1 sent, 2 repeated, 1 nacked, 1 acked", c)
		}
	})
}

func TestAgain_ExactlyOnceWhenRepliesAreLost(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "series"})
		r.net.set(every(2))
		start := time.Now()
		var at []time.Duration
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			at = append(at, time.Since(start).Round(time.Minute))
			return dueq.Again(dueq.Schedule{Due: start.Add(time.Duration(len(at)) * time.Hour)}, nil)
		}, dueq.ConsumeOptions{})
		r.sleep(5*time.Hour + time.Minute)
		_, err := consumer.end()
		r.must(err)
		if want := "[0s 1h0m0s 2h0m0s 3h0m0s 4h0m0s 5h0m0s]"; fmt.Sprint(at) != want {
			r.Errorf("delivered at %v, want %v", at, want)
		}
		if c := r.stats().Counters; c.Repeated != 6 || c.Acked != 0 || r.stats().Scheduled != 1 {
			r.Errorf("%+v, want 6 occurrences done and one scheduled", c)
		}
	})
}

func TestAgain_WhatIsWrongIsAFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		verdict func() error
		kind    error
		text    string
	}{
		{"negative delay", func() error { return dueq.Again(dueq.Schedule{Delay: -time.Second}, nil) }, dueq.ErrInvalid, "again: delay: -1s is negative: invalid argument"},
		{"delay and due", func() error { return dueq.Again(dueq.Schedule{Delay: time.Second, Due: time.Now()}, nil) }, dueq.ErrInvalid, "again: due: "},
		{"TTL before the delay", func() error {
			return dueq.Again(dueq.Schedule{Delay: time.Hour}, &dueq.AgainOptions{TTL: time.Minute})
		}, dueq.ErrInvalid, "again: ttl: 1m ends before"},
		{"TTL before the instant", func() error {
			return dueq.Again(dueq.Schedule{Due: time.Now().Add(time.Hour)}, &dueq.AgainOptions{TTL: time.Minute})
		}, dueq.ErrInvalid, "ttl: ends before the message is due: invalid argument"},
		{"too far ahead", func() error { return dueq.Again(dueq.Schedule{Due: time.Now().AddDate(20, 0, 0)}, nil) }, dueq.ErrInvalid, "due: is more than 10 years ahead: invalid argument"},
		{"body too large", func() error {
			return dueq.Again(dueq.Schedule{}, &dueq.AgainOptions{Body: make([]byte, 257<<10)})
		}, dueq.ErrTooLarge, "body: 263168 bytes, the limit is 262144: too large"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				id := r.send(dueq.Message{Body: []byte("b")})
				consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error { return test.verdict() },
					dueq.ConsumeOptions{Backoff: inAnHour})
				r.sleep(time.Minute)
				_, err := consumer.end()
				r.must(err)
				if m := r.get(id); m.State != dueq.Scheduled || m.Failures != 1 || len(m.LastFailure) < len(test.text) || m.LastFailure[:len(test.text)] != test.text {
					r.Errorf("%+v, want one failure %q", m, test.text)
				}
				r.must(r.direct.Reschedule(r.Context(), dueq.ID(id), dueq.Schedule{}))
				all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
				r.must(err)
				if err := all[0].Settle(r.Context(), test.verdict()); err != nil {
					r.Errorf("settled by it: %v, want it taken for a failure", err)
				}
				if n := r.get(id).Failures; n != 2 {
					r.Errorf("%d failures, want 2", n)
				}
			})
		})
	}
}

func TestDeliveryAgain_RefusedLeavesItHeld(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{Body: []byte("b")})
		all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		for _, to := range []dueq.Schedule{{Delay: -1}, {Due: time.Now().AddDate(20, 0, 0)}} {
			if err := all[0].Again(r.Context(), to, nil); !errors.Is(err, dueq.ErrInvalid) {
				r.Errorf("%+v: %v, want ErrInvalid", to, err)
			}
		}
		if err := all[0].Again(r.Context(), dueq.Schedule{}, &dueq.AgainOptions{Body: make([]byte, 257<<10)}); !errors.Is(err, dueq.ErrTooLarge) {
			r.Errorf("%v, want ErrTooLarge", err)
		}
		if m := r.get(id); m.State != dueq.Leased {
			r.Errorf("%+v, want it leased", m)
		}
		r.must(all[0].Again(r.Context(), dueq.Schedule{Delay: time.Hour}, &dueq.AgainOptions{Body: []byte{}, TTL: 2 * time.Hour}))
		m := r.get(id)
		if m.State != dueq.Scheduled || len(m.Body) != 0 || time.Until(m.At) != time.Hour || time.Until(m.ExpiresAt) != 2*time.Hour {
			r.Errorf("%+v, want it due in an hour, without a body, for another hour", m)
		}
	})
}

func TestAgain_CancelledMeanwhileIsRemoved(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{Key: "k"})
		consumer := r.consume(r.q, func(ctx context.Context, _ *dueq.Delivery) error {
			if err := r.direct.Cancel(ctx, dueq.Key("k")); !errors.Is(err, dueq.ErrRunning) {
				r.Errorf("cancel: %v, want ErrRunning", err)
			}
			return dueq.Again(dueq.Schedule{Delay: time.Hour}, nil)
		}, dueq.ConsumeOptions{})
		r.sleep(2 * time.Hour)
		_, err := consumer.end()
		r.must(err)
		if _, err := r.direct.Get(r.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("%v, want the message gone", err)
		}
	})
}

func TestAgain_HolderThatDiesRepeatsTheOccurrence(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "k"})
		for i := range 3 {
			all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Lease: time.Second})
			r.must(err)
			if len(all) != 1 || all[0].Token != int64(3*i+1) {
				r.Fatalf("%+v, want the delivery %d", all, 3*i+1)
			}
			r.sleep(time.Minute) // nothing was settled: the process has died
			all, err = r.q.Receive(r.Context(), dueq.ReceiveOptions{Lease: time.Minute})
			r.must(err)
			if all[0].Attempt != 2 || all[0].Token != int64(3*i+2) {
				r.Fatalf("attempt %d, token %d, want the same occurrence again", all[0].Attempt, all[0].Token)
			}
			r.must(all[0].Release(r.Context(), 0))
			all, err = r.q.Receive(r.Context(), dueq.ReceiveOptions{Lease: time.Minute})
			r.must(err)
			r.must(all[0].Again(r.Context(), dueq.Schedule{}, nil))
		}
	})
}
