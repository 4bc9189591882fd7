package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata" // Europe/Berlin below

	"github.com/dueq-dev/dueq"
)

// The clock of a bubble begins at 2000-01-01 00:00 UTC.

var hourly = dueq.Repeat{Cron: "0 * * * *"}

// seen records when its handler was called.
type seen struct {
	start time.Time
	at    []string
}

func newSeen() *seen { return &seen{start: time.Now()} }

func (s *seen) note(context.Context, *dueq.Delivery) error {
	s.at = append(s.at, time.Since(s.start).Round(time.Second).String())
	return nil
}

func (s *seen) want(r *rig, want ...string) {
	r.Helper()
	if fmt.Sprint(s.at) != fmt.Sprint(want) {
		r.Errorf("handled at %v, want %v", s.at, want)
	}
}

func TestRepeat_EachOccurrenceRunsOnce(t *testing.T) {
	faults := map[string]func(op string) fault{"no faults": nil, "every second call fails": every(2)}
	for name, faulty := range faults {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				id := r.send(dueq.Message{Key: "report", Repeat: hourly, Body: []byte("b"), Headers: map[string]string{"h": "v"}})
				r.net.set(faulty)
				s := newSeen()
				consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
					if d.ID != id || d.Key != "report" || string(d.Body) != "b" || d.Headers["h"] != "v" || d.Attempt != 1 || d.Token != int64(len(s.at)+1) {
						r.Errorf("delivered %+v", d)
					}
					return s.note(ctx, d)
				}, dueq.ConsumeOptions{})
				r.sleep(5*time.Hour + time.Minute)
				_, err := consumer.end()
				r.must(err)
				s.want(r, "1h0m0s", "2h0m0s", "3h0m0s", "4h0m0s", "5h0m0s")
				m := r.get(id)
				if m.State != dueq.Scheduled || !m.At.Equal(s.start.Add(6*time.Hour)) || m.Repeat != (dueq.Repeat{Cron: "0 * * * *", Zone: "UTC"}) {
					r.Errorf("%+v, want it scheduled for 06:00", m)
				}
				if c := r.stats().Counters; c.Sent != 1 || c.Repeated != 5 || c.Acked != 0 {
					r.Errorf("%+v, want 1 message sent and 5 occurrences done", c)
				}
			})
		})
	}
}

func TestRepeat_FirstDueTime(t *testing.T) {
	tests := []struct {
		name string
		m    dueq.Message
		want time.Duration
	}{
		{"cron", dueq.Message{Repeat: dueq.Repeat{Cron: "0 9 * * *", Zone: "Europe/Berlin"}}, 8 * time.Hour},
		{"every", dueq.Message{Repeat: dueq.Repeat{Every: 10 * time.Minute}}, 10 * time.Minute},
		{"a delay", dueq.Message{Repeat: dueq.Repeat{Every: 10 * time.Minute}, Delay: time.Minute}, time.Minute},
		{"an instant in the past", dueq.Message{Repeat: hourly, Due: time.Unix(1, 0)}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				start := time.Now()
				test.m.Key = "k"
				r.send(test.m)
				test.m.Key = "in a batch"
				results, err := r.direct.SendBatch(r.Context(), []dueq.Message{test.m})
				r.must(errors.Join(err, results.FirstErr()))
				for _, key := range []string{"k", "in a batch"} {
					if m := r.find(dueq.Key(key)); m.At.Sub(start) != test.want {
						r.Errorf("%s: due after %s, want %s", key, m.At.Sub(start), test.want)
					}
				}
			})
		})
	}
}

func TestRepeat_Missed(t *testing.T) {
	tests := []struct {
		name   string
		repeat dueq.Repeat
		away   time.Duration
		want   string
	}{
		{"cron, skipped", hourly, 5*time.Hour + 30*time.Minute, "[6h0m0s 7h0m0s]"},
		{"cron, late but not missed", hourly, 90 * time.Minute, "[1h30m0s 2h0m0s 3h0m0s]"},
		{"cron, caught up once", dueq.Repeat{Cron: "0 * * * *", CatchUp: true}, 5*time.Hour + 30*time.Minute, "[5h30m0s 6h0m0s 7h0m0s]"},
		{"every, skipped", dueq.Repeat{Every: time.Hour}, 5*time.Hour + 30*time.Minute, "[6h0m0s 7h0m0s]"},
		{"every, caught up once", dueq.Repeat{Every: time.Hour, CatchUp: true}, 5*time.Hour + 30*time.Minute, "[5h30m0s 6h0m0s 7h0m0s]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				s := newSeen()
				r.send(dueq.Message{Key: "k", Repeat: test.repeat})
				r.sleep(test.away)
				consumer := r.consume(r.q, s.note, dueq.ConsumeOptions{})
				r.sleep(test.away.Round(time.Hour) + 90*time.Minute - test.away)
				_, err := consumer.end()
				r.must(err)
				if fmt.Sprint(s.at) != test.want {
					r.Errorf("handled at %v, want %s", s.at, test.want)
				}
			})
		})
	}
}

func TestRepeat_PausedAndRescheduledLikeAnyMessage(t *testing.T) {
	inBubble(t, func(r *rig) {
		s := newSeen()
		r.send(dueq.Message{Key: "k", Repeat: hourly})
		consumer := r.consume(r.q, s.note, dueq.ConsumeOptions{})
		r.sleep(90 * time.Minute)
		r.must(r.direct.Pause(r.Context()))
		r.sleep(3 * time.Hour)
		r.must(r.direct.Resume(r.Context()))
		r.sleep(time.Hour) // 05:30
		r.must(r.direct.Reschedule(r.Context(), dueq.Key("k"), dueq.Schedule{Delay: 15 * time.Minute}))
		r.sleep(time.Hour)
		_, err := consumer.end()
		r.must(err)
		s.want(r, "1h0m0s", "5h0m0s", "5h45m0s", "6h0m0s")
	})
}

func TestRepeat_LongHandlerLeavesOutWhatItOverran(t *testing.T) {
	inBubble(t, func(r *rig) {
		s := newSeen()
		r.send(dueq.Message{Key: "k", Repeat: dueq.Repeat{Every: 10 * time.Minute, CatchUp: true}})
		var running, most atomic.Int64
		handler := func(ctx context.Context, d *dueq.Delivery) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			_ = s.note(ctx, d)
			pass(25 * time.Minute)
			return nil
		}
		consumers := []*consuming{r.consume(r.q, handler, dueq.ConsumeOptions{}), r.consume(r.direct, handler, dueq.ConsumeOptions{})}
		r.sleep(2*time.Hour + 7*time.Minute)
		for _, c := range consumers {
			_, err := c.end()
			r.must(err)
		}
		s.want(r, "10m0s", "40m0s", "1h10m0s", "1h40m0s")
		if most.Load() != 1 {
			r.Errorf("%d handlers ran at a time, want 1", most.Load())
		}
	})
}

func TestRepeat_FailedForGoodGoesOn(t *testing.T) {
	tests := []struct {
		name     string
		err      error
		attempts int
	}{
		{"rejected", dueq.Reject(errNoLuck), 1},
		{"out of attempts", dueq.RetryAfter(time.Minute, errNoLuck), 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				id := r.send(dueq.Message{Key: "k", Repeat: hourly, Body: []byte("b"), MaxAttempts: 3})
				calls := map[time.Time]int{}
				consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
					calls[d.Due.Truncate(time.Hour)]++
					if d.ID != id {
						return nil // a dead letter, redriven
					}
					return test.err
				}, dueq.ConsumeOptions{})
				r.sleep(3*time.Hour + 30*time.Minute)
				for due, n := range calls {
					if n != test.attempts {
						r.Errorf("%d attempts at %s, want %d", n, due.UTC(), test.attempts)
					}
				}
				s := r.stats()
				if len(calls) != 3 || s.Scheduled != 1 || s.Dead != 3 || s.Counters.Sent != 4 || s.Counters.DeadLettered != 3 {
					r.Fatalf("%d occurrences, %+v: want 3, each a dead letter, and the series scheduled", len(calls), s)
				}
				page, err := r.direct.List(r.Context(), dueq.ListOptions{Filter: dueq.Filter{State: dueq.Dead, Key: "k"}, BodyLimit: 10})
				r.must(err)
				letter := page.Records[0]
				if letter.ID == id || letter.Key != "k" || letter.Repeat != (dueq.Repeat{}) || letter.LastFailure != "no luck" || string(letter.Body) != "b" || letter.Failures != test.attempts {
					r.Errorf("%+v is not what the occurrence was", letter)
				}
				_, err = r.direct.Redrive(r.Context(), dueq.ID(letter.ID))
				r.must(err)
				r.sleep(time.Minute)
				if s := r.stats(); s.Dead != 2 || s.Counters.Acked != 1 || s.Scheduled != 1 {
					r.Errorf("%+v: want one delivered beside its series", s)
				}
				if m := r.find(dueq.Key("k")); m.ID != id || m.Failures != 0 {
					r.Errorf("%+v has the key, want the series", m)
				}
				_, err = consumer.end()
				r.must(err)
			})
		})
	}
}

func TestRepeat_RetriedOccurrenceIsFollowedByTheNextTime(t *testing.T) {
	inBubble(t, func(r *rig) {
		s := newSeen()
		r.send(dueq.Message{Key: "k", Repeat: hourly})
		consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
			_ = s.note(ctx, d)
			if d.Attempt < 3 {
				return dueq.RetryAfter(40*time.Minute, errNoLuck)
			}
			return dueq.Drop(errNoLuck)
		}, dueq.ConsumeOptions{})
		r.sleep(4 * time.Hour)
		_, err := consumer.end()
		r.must(err)
		s.want(r, "1h0m0s", "1h40m0s", "2h20m0s", "3h0m0s", "3h40m0s")
	})
}

// The handler ends its process each time, also on the last attempt. A script cannot compute the
// next occurrence, so the message is delivered once more.
func TestRepeat_HandlerThatEndsItsProcessNeverEndsTheSeries(t *testing.T) {
	inBubble(t, func(r *rig) {
		s := newSeen()
		id := r.send(dueq.Message{Key: "k", Repeat: hourly, MaxAttempts: 2})
		c := dueq.ConsumeOptions{Lease: 2 * time.Second}
		for range 3 { // the first is not counted, because its start was not recorded
			p := r.newProcess()
			r.run(p, 2*time.Hour, c, func(ctx context.Context, d *dueq.Delivery) error {
				_ = s.note(ctx, d)
				p.die(ctx)
				return nil
			})
		}
		living := r.consume(r.q, s.note, c)
		r.sleep(90 * time.Minute)
		_, err := living.end()
		r.must(err)
		if len(s.at) != 4 || s.at[3] != "2h0m0s" {
			r.Errorf("handled at %v, want three times from 01:00 on, then at 02:00", s.at)
		}
		page, err := r.direct.List(r.Context(), dueq.ListOptions{Filter: dueq.Filter{State: dueq.Dead}})
		r.must(err)
		if len(page.Records) != 1 || page.Records[0].LastFailure != "lease ran out" || page.Records[0].Failures != 2 || page.Records[0].ID == id {
			r.Errorf("dead: %+v, want the occurrence", page.Records)
		}
	})
}

func TestRepeat_CancelEndsTheSeries(t *testing.T) {
	inBubble(t, func(r *rig) {
		s := newSeen()
		id := r.send(dueq.Message{Key: "k", Repeat: hourly})
		consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
			_ = s.note(ctx, d)
			if len(s.at) == 2 {
				if err := r.direct.Cancel(ctx, dueq.Key("k")); !errors.Is(err, dueq.ErrRunning) {
					r.Errorf("cancel while running: %v, want ErrRunning", err)
				}
			}
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(5 * time.Hour)
		s.want(r, "1h0m0s", "2h0m0s")
		if _, err := r.direct.Get(r.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("after the cancel: %v, want ErrNotFound", err)
		}
		second := r.send(dueq.Message{Key: "k", Repeat: hourly})
		r.must(r.direct.Cancel(r.Context(), dueq.ID(second)))
		r.sleep(2 * time.Hour)
		_, err := consumer.end()
		r.must(err)
		s.want(r, "1h0m0s", "2h0m0s")
	})
}

func TestRepeat_DeclaredAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		s, bodies := newSeen(), []string{}
		first := dueq.Message{Key: "k", Repeat: hourly, Body: []byte("1")}
		id := r.send(first)
		declare := func(m dueq.Message) {
			r.Helper()
			if again := r.send(m); again != id {
				r.Errorf("declared: %s, want %s", again, id)
			}
		}
		consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
			_ = s.note(ctx, d)
			bodies = append(bodies, string(d.Body))
			if len(s.at) == 4 { // while it is running
				declare(dueq.Message{Key: "k", Repeat: dueq.Repeat{Cron: "10 * * * *"}, Body: []byte("3")})
			}
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(90 * time.Minute)
		declare(dueq.Message{Key: "k", Repeat: hourly, Body: []byte("ignored")})
		r.sleep(time.Hour) // 02:30
		declare(dueq.Message{Key: "k", Repeat: dueq.Repeat{Every: time.Hour}, Body: []byte("2")})
		r.sleep(4 * time.Hour)
		_, err := consumer.end()
		r.must(err)
		s.want(r, "1h0m0s", "2h0m0s", "3h30m0s", "4h30m0s", "5h10m0s", "6h10m0s")
		if got := fmt.Sprint(bodies); got != "[1 1 2 2 3 3]" {
			r.Errorf("bodies %s, want [1 1 2 2 3 3]", got)
		}
		if c := r.stats().Counters; c.Sent != 1 || c.Duplicates != 0 {
			r.Errorf("%+v, want 1 sent", c)
		}
		_, err = r.direct.Send(r.Context(), dueq.Message{Key: "k"})
		if !errors.Is(err, dueq.ErrDuplicate) {
			r.Errorf("send of a message without Repeat: %v, want ErrDuplicate", err)
		}
	})
}

func TestRepeat_DeclarationWithoutAnswerIsRepeated(t *testing.T) {
	inBubble(t, func(r *rig) {
		m := dueq.Message{Key: "k", Repeat: hourly}
		id := r.send(m)
		r.net.set(func(op string) fault {
			if op == "push" {
				return replyLost
			}
			return works
		})
		m.Repeat = dueq.Repeat{Every: time.Hour}
		unknown, err := r.q.Send(r.Context(), m)
		if !errors.Is(err, dueq.ErrUnavailable) || unknown == "" {
			r.Fatalf("%q, %v, want ErrUnavailable and an id", unknown, err)
		}
		r.net.set(nil)
		m.ID = unknown
		if again, err := r.q.Send(r.Context(), m); again != id || err != nil {
			r.Errorf("sent again: %s, %v, want %s", again, err, id)
		}
		if got := r.get(id).Repeat; got != m.Repeat {
			r.Errorf("%+v, want %+v", got, m.Repeat)
		}
	})
}

func TestRepeat_ReceivedAndAcked(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "a", Repeat: hourly})
		r.send(dueq.Message{Key: "b", Repeat: dueq.Repeat{Every: 50 * time.Minute}})
		r.send(dueq.Message{Key: "plain", Delay: time.Hour})
		var got []string
		settle := []func(all []*dueq.Delivery) error{
			func(all []*dueq.Delivery) error { return dueq.AckAll(r.Context(), all) },
			func(all []*dueq.Delivery) error {
				for _, d := range all {
					r.must(d.Settle(r.Context(), nil))
				}
				return nil
			},
			func(all []*dueq.Delivery) error { return dueq.NackAll(r.Context(), all, 0, errNoLuck) },
			func(all []*dueq.Delivery) error { return dueq.AckAll(r.Context(), all) },
		}
		for i := range settle {
			r.sleep(time.Hour)
			all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 10})
			r.must(err)
			for _, d := range all {
				got = append(got, fmt.Sprintf("%d:%s/%d", i+1, d.Key, d.Attempt))
			}
			r.must(settle[i](all))
		}
		// At 03:00 they are nacked, due at once, and at 04:00 the next times have come.
		if want := "1:b/1 1:a/1 1:plain/1 2:b/1 2:a/1 3:b/1 3:a/1"; strings.Join(got, " ") != want {
			r.Errorf("received %s, want %s", strings.Join(got, " "), want)
		}
		for _, key := range []string{"a", "b"} {
			if m := r.find(dueq.Key(key)); m.State != dueq.Scheduled || m.Failures != 0 {
				r.Errorf("%+v, want its next occurrence", m)
			}
		}
	})
}

func TestDelivery_HasTheScheduleOfItsMessage(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "recurs", Repeat: hourly, Body: []byte("1")})
		r.send(dueq.Message{Key: "plain", Delay: time.Hour})
		want := func(d *dueq.Delivery) {
			if want := map[string]dueq.Repeat{"recurs": hourly}[d.Key]; d.Repeat().String() != want.String() {
				r.Errorf("%s repeats %q, want %q", d.Key, d.Repeat(), want)
			}
		}
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			want(d)
			return errNoLuck
		}, dueq.ConsumeOptions{Backoff: func(d *dueq.Delivery, _ error) time.Duration {
			want(d)
			for _, err := range []error{d.Ack(r.Context()), d.Settle(r.Context(), dueq.Next(dueq.NextMessage{}))} {
				if !errors.Is(err, dueq.ErrInvalid) {
					r.Errorf("settled by Backoff: %v, want ErrInvalid", err)
				}
			}
			return time.Minute
		}})
		r.sleep(time.Hour + time.Second)
		_, err := consumer.end()
		r.must(err)
		r.sleep(time.Minute)
		all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 2})
		r.must(err)
		if len(all) != 2 {
			r.Fatalf("received %+v, want both again", all)
		}
		for _, d := range all {
			want(d)
		}
		if repeat := new(dueq.Delivery).Repeat(); repeat != (dueq.Repeat{}) {
			r.Errorf("a delivery without a message repeats %q", repeat)
		}
	})
}

// Receive skips occurrences that were missed, although they are due earlier, and returns the
// message that is behind them.
func TestReceive_MissedOccurrencesAreNotReceived(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range 5 {
			r.send(dueq.Message{Key: fmt.Sprint("missed", i), Repeat: hourly})
		}
		r.sleep(2*time.Hour + time.Minute)
		id := r.send(dueq.Message{})
		all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		if len(all) != 1 || all[0].ID != id {
			r.Fatalf("received %+v, want the message that is not missed", all)
		}
		if s := r.stats(); s.Scheduled != 5 || s.Counters.Repeated != 5 {
			r.Errorf("%+v, want the series scheduled", s)
		}
		r.must(all[0].Ack(r.Context()))
	})
}

func TestRepeat_InBatches(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, key := range []string{"a", "b", "c"} {
			r.send(dueq.Message{Key: key, Repeat: hourly})
		}
		s := newSeen()
		consumer := r.consumeBatch(r.q, func(_ context.Context, batch []*dueq.Delivery) error {
			at := time.Since(s.start).Round(time.Second).String()
			for _, d := range batch {
				switch {
				case d.Key == "b" && d.Token == 1:
					d.Fail(dueq.Reject(errNoLuck))
				case d.Key == "c" && d.Token == 1:
					d.Fail(dueq.Again(dueq.Schedule{Delay: 90 * time.Minute}, nil))
				}
				at += d.Key
			}
			s.at = append(s.at, at)
			return nil
		}, dueq.BatchOptions{Linger: time.Second})
		r.sleep(3*time.Hour + time.Minute)
		_, err := consumer.end()
		r.must(err)
		s.want(r, "1h0m1sabc", "2h0m1sab", "2h30m2sc", "3h0m1sabc")
		if st := r.stats(); st.Dead != 1 || st.Counters.Rejected != 1 {
			r.Errorf("%+v, want one dead letter", st)
		}
	})
}

func TestRepeat_AtMostOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "k", Repeat: hourly})
		s := newSeen()
		consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
			if m, err := r.direct.Get(ctx, dueq.Key("k")); m.State != dueq.Scheduled || err != nil {
				r.Errorf("while the handler runs: %s, %v, want the next occurrence scheduled", m.State, err)
			}
			_ = s.note(ctx, d)
			return errNoLuck
		}, dueq.ConsumeOptions{AtMostOnce: true})
		r.sleep(150 * time.Minute)
		r.net.set(func(op string) fault {
			if op == "again" {
				return refused
			}
			return works
		})
		r.sleep(time.Hour) // at 03:00 the next one cannot be scheduled
		r.net.set(nil)
		r.sleep(time.Hour)
		_, err := consumer.end()
		r.must(err)
		if len(s.at) != 4 || s.at[0] != "1h0m0s" || s.at[1] != "2h0m0s" || s.at[3] != "4h0m0s" {
			r.Errorf("handled at %v, want once an hour", s.at)
		}
	})
}

func TestRepeat_AgainAndNextApplyToOneOccurrence(t *testing.T) {
	inBubble(t, func(r *rig) {
		s := newSeen()
		r.send(dueq.Message{Key: "k", Repeat: hourly})
		consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
			_ = s.note(ctx, d)
			switch len(s.at) {
			case 1:
				return dueq.Again(dueq.Schedule{Delay: 20 * time.Minute}, nil)
			case 3:
				return dueq.Next(dueq.NextMessage{Message: dueq.Message{Delay: 100 * time.Hour}})
			case 4:
				return dueq.Again(dueq.Schedule{}, &dueq.AgainOptions{TTL: time.Hour})
			}
			return nil
		}, dueq.ConsumeOptions{Backoff: func(*dueq.Delivery, error) time.Duration { return time.Minute }})
		r.sleep(4*time.Hour + 30*time.Minute)
		m := r.find(dueq.Key("k"))
		_, err := consumer.end()
		r.must(err)
		s.want(r, "1h0m0s", "1h20m0s", "2h0m0s", "3h0m0s", "3h1m0s", "4h0m0s")
		if c := r.stats().Counters; c.Sent != 2 || c.Nacked != 1 || m.ExpiresAt != (time.Time{}) {
			r.Errorf("%+v, %+v: want one message sent by Next, and the TTL refused", c, m)
		}
	})
}

func TestRepeat_WhatIsWrongIsNamed(t *testing.T) {
	inBubble(t, func(r *rig) {
		tests := []struct {
			m     dueq.Message
			field string
			has   string
		}{
			{dueq.Message{Repeat: hourly}, "repeat", "needs a key"},
			{dueq.Message{Key: "k", Repeat: hourly, TTL: time.Hour}, "ttl", "1h"},
			{dueq.Message{Key: "k", Repeat: dueq.Repeat{Every: time.Millisecond}}, "every", "1ms"},
			{dueq.Message{Key: "k", Repeat: dueq.Repeat{Cron: "0 25 * * *"}}, "cron", "25"},
			{dueq.Message{Key: "k", Repeat: dueq.Repeat{Cron: "0 9 * * *", Zone: "Europe/Bernau"}}, "zone", "time/tzdata"},
			{dueq.Message{Key: "k", Repeat: dueq.Repeat{Cron: "0 0 30 2 *"}}, "repeat", "10 years"},
			{dueq.Message{Key: "k", Repeat: dueq.Repeat{CatchUp: true}}, "repeat", "neither"},
		}
		for _, test := range tests {
			_, err := r.q.Send(r.Context(), test.m)
			results, whole := r.q.SendBatch(r.Context(), []dueq.Message{test.m})
			r.must(whole)
			for _, err := range []error{err, results.FirstErr()} {
				e, ok := errors.AsType[*dueq.Error](err)
				if !ok || !errors.Is(err, dueq.ErrInvalid) || e.Field != test.field && !strings.Contains(err.Error(), test.field+": ") || !strings.Contains(err.Error(), test.has) {
					r.Errorf("%+v: %v, want ErrInvalid of field %q that contains %q", test.m.Repeat, err, test.field, test.has)
				}
			}
		}
	})
}

func TestParseRepeat(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"every 10m0s", "cron 0 9 * * 1-5 Europe/Berlin catch-up"} {
		if r, err := dueq.ParseRepeat(text); err != nil || r.String() != text {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "every", "every soon", "10m", "cron 0 9 * *", "cron 0 9 * * * Europe/Bernau", "cron 0 9 * * * UTC now"} {
		if r, err := dueq.ParseRepeat(text); !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("%q: %+v, %v, want ErrInvalid", text, r, err)
		}
	}
	next, err := dueq.Repeat{Cron: "30 9 * * *", Zone: "Europe/Berlin"}.Next(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
	if want := time.Date(2026, 6, 2, 7, 30, 0, 0, time.UTC); err != nil || !next.Equal(want) {
		t.Errorf("%s, %v, want %s", next, err, want)
	}
}
