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

func TestNext_SendsAndAcks(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "order-42"})
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			return fmt.Errorf("paid: %w", dueq.Next(
				dueq.NextMessage{Queue: "mail", Message: dueq.Message{Key: "mail-42", Body: []byte("m"), Delay: time.Hour}},
				dueq.NextMessage{Message: dueq.Message{Body: []byte("w"), Delay: time.Hour}},
				dueq.NextMessage{Queue: "mail", Message: dueq.Message{Body: []byte("m2")}},
			))
		}, dueq.ConsumeOptions{})
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		mail, err := r.spared.Queue("mail").Stats(r.Context())
		r.must(err)
		if s := r.stats(); s.Counters.Acked != 1 || s.Scheduled != 1 || mail.Scheduled != 1 || mail.Ready != 1 {
			r.Errorf("%+v and %+v, want one acked and three sent", s, mail)
		}
		if m, err := r.spared.Queue("mail").Get(r.Context(), dueq.Key("mail-42")); err != nil || string(m.Body) != "m" {
			r.Errorf("%+v, %v", m, err)
		}
	})
}

// The process dies after the messages were sent and before the ack.
func TestNext_CrashBeforeTheAckSendsNothingTwice(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages, following = 10, 3
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, messages))
		r.must(err)
		var runs atomic.Int64
		handler := func(_ context.Context, d *dueq.Delivery) error {
			run := runs.Add(1)
			var next []dueq.NextMessage
			for i := range following {
				next = append(next, dueq.NextMessage{Queue: "b", Message: dueq.Message{
					Body: fmt.Appendf(nil, "%s %d of run %d", d.ID, i, run), Delay: 24 * time.Hour,
				}})
			}
			return dueq.Next(next...)
		}
		r.net.set(always(refused, "ack"))
		dying := r.consume(r.q, handler, dueq.ConsumeOptions{Lease: time.Second, Grace: time.Second})
		r.sleep(100 * time.Millisecond)
		r.net.set(everything(refused))
		r.sleep(time.Minute) // the leases run out while the store cannot be reached
		_, _ = dying.end()
		r.net.set(nil)
		other := r.consume(r.direct, handler, dueq.ConsumeOptions{})
		r.sleep(time.Minute)
		_, err = other.end()
		r.must(err)
		if n := runs.Load(); n <= messages {
			r.Errorf("%d runs of the handler, want more than %d", n, messages)
		}
		b, err := r.spared.Queue("b").Stats(r.Context())
		r.must(err)
		if c := r.stats().Counters; c.Acked != messages || b.Scheduled != messages*following || b.Counters.Sent != messages*following {
			r.Errorf("%+v and %+v, want %d acked, %d sent", c, b, messages, messages*following)
		}
	})
}

// The process dies after the messages were sent and before the ack, and they are consumed
// before the handler runs again.
func TestNext_CrashBeforeTheAckDoublesNothingThatWasConsumed(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, again := range []time.Duration{time.Minute, 59 * time.Minute, 2 * time.Hour} {
			r.send(dueq.Message{})
			all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Lease: time.Second})
			r.must(err)
			next := []dueq.NextMessage{{Queue: "b"}, {Queue: "b", Message: dueq.Message{Key: "k"}}}
			r.net.set(always(refused, "ack"))
			if err := all[0].Next(r.Context(), next...); !errors.Is(err, dueq.ErrUnavailable) {
				r.Fatalf("%v, want ErrUnavailable", err)
			}
			r.net.set(nil)
			b := r.spared.Queue("b")
			following, err := b.Receive(r.Context(), dueq.ReceiveOptions{Max: 10})
			r.must(err)
			r.must(dueq.AckAll(r.Context(), following))
			r.sleep(again)
			all, err = r.q.Receive(r.Context(), dueq.ReceiveOptions{})
			r.must(err)
			r.must(all[0].Next(r.Context(), next...))
			s, err := b.Stats(r.Context())
			r.must(err)
			want := int64(0)
			if again > time.Hour { // they are not remembered any more
				want = 2
			}
			if len(following) != 2 || s.Ready != want {
				r.Errorf("after %s: %d, then %d, want 2, then %d", again, len(following), s.Ready, want)
			}
		}
	})
}

func TestNext_EachOccurrenceSendsItsOwn(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		for i := range 3 {
			all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
			r.must(err)
			message := dueq.NextMessage{Queue: "b", Message: dueq.Message{Delay: time.Hour}}
			r.net.set(always(refused, "ack"))
			for range 2 {
				if err := all[0].Next(r.Context(), message); !errors.Is(err, dueq.ErrUnavailable) {
					r.Errorf("%v, want ErrUnavailable", err)
				}
			}
			r.net.set(nil)
			r.must(all[0].Again(r.Context(), dueq.Schedule{}, nil))
			b, err := r.spared.Queue("b").Stats(r.Context())
			r.must(err)
			if b.Counters.Sent != int64(i+1) {
				r.Errorf("%d sent after %d occurrences", b.Counters.Sent, i+1)
			}
		}
	})
}

func TestNext_RefusedSendIsAFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		next dueq.NextMessage
		kind error
	}{
		{"key taken", dueq.NextMessage{Queue: "b", Message: dueq.Message{Key: "taken"}}, dueq.ErrDuplicate},
		{"body too large", dueq.NextMessage{Queue: "b", Message: dueq.Message{Body: make([]byte, 257<<10)}}, dueq.ErrTooLarge},
		{"id given", dueq.NextMessage{Queue: "b", Message: dueq.Message{ID: "06h01xdqzxyp54vcznntg6g000"}}, dueq.ErrInvalid},
		{"bad queue", dueq.NextMessage{Queue: "b b"}, dueq.ErrInvalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				_, err := r.spared.Queue("b").Send(r.Context(), dueq.Message{Key: "taken"})
				r.must(err)
				id := r.send(dueq.Message{})
				all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
				r.must(err)
				if err := all[0].Next(r.Context(), test.next); !errors.Is(err, test.kind) {
					r.Errorf("%v, want %v", err, test.kind)
				}
				if m := r.get(id); m.State != dueq.Leased {
					r.Errorf("%+v, want it held still", m)
				}
				r.must(all[0].Settle(r.Context(), dueq.Next(test.next)))
				if m := r.get(id); m.State != dueq.Scheduled || m.Failures != 1 || m.LastFailure == "" {
					r.Errorf("%+v, want one failure with its reason", m)
				}
			})
		})
	}
}
