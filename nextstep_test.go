package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// wantCalls fails unless the store got these calls over the network since before.
func (r *rig) wantCalls(before map[string]int, want map[string]int) {
	r.Helper()
	for op, n := range want {
		if got := r.net.count(op) - before[op]; got != n {
			r.Errorf("%d calls of %s, want %d", got, op, n)
		}
	}
}

func (r *rig) callsOf(ops ...string) map[string]int {
	calls := map[string]int{}
	for _, op := range ops {
		calls[op] = r.net.count(op)
	}
	return calls
}

func TestNext_OwnPartitionIsOneStep(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "order-42"})
		all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		before := r.callsOf("push", "next", "ack")
		r.must(all[0].Next(r.Context(),
			dueq.NextMessage{Message: dueq.Message{Key: "order-42", Body: []byte("paid")}},
			dueq.NextMessage{Queue: "work", Message: dueq.Message{Delay: time.Hour}},
		))
		r.wantCalls(before, map[string]int{"next": 1, "push": 0, "ack": 0})
		if m := r.find(dueq.Key("order-42")); string(m.Body) != "paid" || m.State != dueq.Ready {
			r.Errorf("%+v, want the message that follows", m)
		}
		if s := r.stats(); s.Counters.Acked != 1 || s.Counters.Sent != 3 || s.Scheduled != 1 {
			r.Errorf("%+v", s)
		}
		r.must(all[0].Next(r.Context(), dueq.NextMessage{Message: dueq.Message{Key: "order-42", Body: []byte("again")}}))
		if s := r.stats(); s.Counters.Sent != 3 {
			r.Errorf("%+v, want nothing sent twice", s)
		}
	})
}

// Whatever fault happens to the calls, each message that follows a delivery is stored once.
func TestNext_LostRepliesLoseAndDoubleNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 50
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, messages))
		r.must(err)
		r.net.set(every(3))
		var runs, following atomic.Int64
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			if len(d.Body) > 0 {
				following.Add(1)
				return nil
			}
			runs.Add(1)
			return dueq.Next(dueq.NextMessage{Message: dueq.Message{Body: []byte("a")}}, dueq.NextMessage{Message: dueq.Message{Body: []byte("b")}})
		}, dueq.ConsumeOptions{})
		r.sleep(time.Hour)
		r.net.set(nil)
		_, err = consumer.end()
		r.must(err)
		c := r.stats().Counters
		if c.Sent != 3*messages || c.Acked != 3*messages || following.Load() != c.Delivered-runs.Load() || c.LeaseLost == 0 && runs.Load() != messages {
			r.Errorf("%+v, %d runs, %d following", c, runs.Load(), following.Load())
		}
	})
}

func TestNext_RefusedInTheStepIsAFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		next []dueq.NextMessage
		kind error
	}{
		{"key taken", []dueq.NextMessage{{}, {Message: dueq.Message{Key: "taken"}}}, dueq.ErrDuplicate},
		{"body too large", []dueq.NextMessage{{}, {Message: dueq.Message{Body: make([]byte, 257<<10)}}}, dueq.ErrTooLarge},
		{"queue full", []dueq.NextMessage{{}, {}}, dueq.ErrQueueFull},
		{"due too late", []dueq.NextMessage{{}, {Message: dueq.Message{Due: time.Now().AddDate(30, 0, 0)}}}, dueq.ErrInvalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.send(dueq.Message{Key: "taken", Delay: time.Hour})
				id := r.send(dueq.Message{})
				if errors.Is(test.kind, dueq.ErrQueueFull) {
					_, err := r.direct.Update(r.Context(), func(s *dueq.Settings) { s.MaxMessages = 2 })
					r.must(err)
				}
				all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
				r.must(err)
				if err := all[0].Next(r.Context(), test.next...); !errors.Is(err, test.kind) {
					r.Errorf("%v, want %v", err, test.kind)
				}
				if m := r.get(id); m.State != dueq.Leased {
					r.Errorf("%+v, want it held still", m)
				}
				r.must(all[0].Settle(r.Context(), dueq.Next(test.next...)))
				if m := r.get(id); m.State != dueq.Scheduled || m.Failures != 1 || m.LastFailure == "" {
					r.Errorf("%+v, want one failure with its reason", m)
				}
				r.must(r.direct.Reschedule(r.Context(), dueq.ID(id), dueq.Schedule{}))
				consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error { return dueq.Next(test.next...) }, dueq.ConsumeOptions{})
				r.sleep(time.Second)
				_, err = consumer.end()
				r.must(err)
				if m := r.get(id); m.State != dueq.Scheduled || m.Failures != 2 {
					r.Errorf("%+v, want a second failure", m)
				}
				if c := r.stats().Counters; c.Sent != 2 {
					r.Errorf("%d sent, want none that follows", c.Sent)
				}
			})
		})
	}
}

func TestNext_WithoutTheLeaseSendsNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{})
		old, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Lease: time.Second})
		r.must(err)
		r.sleep(time.Minute)
		current, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		if err := old[0].Next(r.Context(), dueq.NextMessage{}); !errors.Is(err, dueq.ErrLeaseLost) {
			r.Errorf("%v, want ErrLeaseLost", err)
		}
		r.must(current[0].Next(r.Context(), dueq.NextMessage{Message: dueq.Message{Body: []byte("by the current holder"), Delay: time.Hour}}))
		r.must(old[0].Next(r.Context(), dueq.NextMessage{})) // its message is gone
		if c := r.stats().Counters; c.Sent != 2 || c.Acked != 1 {
			r.Errorf("%+v, want one message that follows %s", c, id)
		}
	})
}

func TestConsumeBatch_NextSharesCalls(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 100
		r.sendMany(messages)
		var before map[string]int
		consumer := r.consumeBatch(r.q, func(_ context.Context, batch []*dueq.Delivery) error {
			if len(batch) != messages {
				r.Errorf("%d in a batch", len(batch))
			}
			before = r.callsOf("push", "next", "ack", "nack")
			for i, d := range batch[:10] {
				d.Fail(dueq.Next(dueq.NextMessage{Message: dueq.Message{Key: fmt.Sprint("k", i/2), Delay: time.Hour}}))
			}
			return dueq.Next(dueq.NextMessage{Message: dueq.Message{Delay: time.Hour}}, dueq.NextMessage{Queue: "b"})
		}, dueq.BatchOptions{Max: messages})
		r.sleep(time.Second)
		r.wantCalls(before, map[string]int{"push": 1, "next": 1, "ack": 0, "nack": 1})
		_, err := consumer.end()
		r.must(err)
		b, err := r.spared.Queue("b").Stats(r.Context())
		r.must(err)
		// Of two with the same key, one has failed.
		if s := r.stats(); s.Counters.Acked != messages-5 || s.Counters.Nacked != 5 || s.Scheduled != messages || b.Ready != messages-10 {
			r.Errorf("%+v and %+v", s, b)
		}
	})
}

// A call has at most 500 messages and 1 MiB, whatever the number of deliveries.
func TestConsumeBatch_NextFillsCalls(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 300
		r.sendMany(messages)
		before := r.callsOf("next", "nack")
		consumer := r.consumeBatch(r.q, func(context.Context, []*dueq.Delivery) error {
			short, long := dueq.Message{Delay: time.Hour}, dueq.Message{Delay: time.Hour, Body: make([]byte, 3<<10)}
			return dueq.Next(dueq.NextMessage{Message: short}, dueq.NextMessage{Message: long})
		}, dueq.BatchOptions{Max: messages})
		r.sleep(time.Second)
		_, err := consumer.end()
		r.must(err)
		r.wantCalls(before, map[string]int{"next": 2, "nack": 0})
		if s := r.stats(); s.Counters.Acked != messages || s.Scheduled != 2*messages {
			r.Errorf("%+v", s)
		}
	})
}

func TestHooks_SeeWhatIsStoredWithAnAck(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "taken", Delay: time.Hour})
		var seen events
		q := r.hooked(dueq.Options{Hooks: seen.hooks()})
		r.send(dueq.Message{Key: "k"})
		next := []dueq.NextMessage{{Message: dueq.Message{Key: "k", Delay: time.Hour}}, {Message: dueq.Message{Key: "taken"}}}
		consumer := r.consume(q, func(_ context.Context, d *dueq.Delivery) error {
			return dueq.Next(next[:3-d.Attempt]...)
		}, dueq.ConsumeOptions{Backoff: func(*dueq.Delivery, error) time.Duration { return time.Minute }})
		r.sleep(time.Second)
		refused := `key: duplicate`
		got := seen.take()
		for i, want := range []string{"deliver work k 1/25", "send work k false: ", "send work taken false: ", "failure k, again after 1m0s: ", "settle k nack after 0s: "} {
			if i >= len(got) || !strings.HasPrefix(got[i], want) || i > 0 && !strings.Contains(got[i], "duplicate") {
				r.Fatalf("%q, want %q with %q", got, want, refused)
			}
		}
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		want := []string{"deliver work k 2/25 late 0s", "send work k true: <nil>", "settle k ack after 0s: <nil>, <nil>"}
		if got := seen.take(); !slices.Equal(got, want) {
			r.Errorf("%q, want %q", got, want)
		}
	})
}

func TestNext_SendMiddlewareSeesAllMessagesBeforeTheAck(t *testing.T) {
	inBubble(t, func(r *rig) {
		var mu sync.Mutex
		var seen []string
		r.send(dueq.Message{})
		q := r.hooked(dueq.Options{SendMiddleware: []dueq.SendMiddleware{func(next dueq.SendFunc) dueq.SendFunc {
			return func(ctx context.Context, queue string, messages []dueq.Message) (dueq.SendResults, error) {
				mu.Lock()
				defer mu.Unlock()
				s, err := r.direct.Stats(ctx)
				seen = append(seen, fmt.Sprintf("%s %d, %d acked, %v", queue, len(messages), s.Counters.Acked, err))
				messages[0].Headers = map[string]string{"trace": "1"}
				return next(ctx, queue, messages)
			}
		}}})
		all, err := q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		r.must(all[0].Next(r.Context(), dueq.NextMessage{}, dueq.NextMessage{Message: dueq.Message{Delay: time.Hour}}))
		if !slices.Equal(seen, []string{"work 2, 0 acked, <nil>"}) {
			r.Errorf("%q, want both messages in one call", seen)
		}
		all, err = q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		if len(all) != 1 || all[0].Headers["trace"] != "1" {
			r.Errorf("%+v, want the header that the middleware has set", all)
		}
	})
}

// Where a delivery is not settled by an ack in the store, the messages are sent before.
func TestNext_InTwoSteps(t *testing.T) {
	t.Parallel()
	many := make([]dueq.NextMessage, store.MaxBatch+1)
	large := dueq.NextMessage{Message: dueq.Message{Body: make([]byte, 200<<10)}}
	tests := []struct {
		name    string
		message dueq.Message
		options dueq.ConsumeOptions
		next    []dueq.NextMessage
		want    map[string]int
		stored  int
	}{
		{"recurring", dueq.Message{Key: "k", Repeat: dueq.Repeat{Every: time.Hour}, Due: time.UnixMilli(1)}, dueq.ConsumeOptions{}, make([]dueq.NextMessage, 1), map[string]int{"push": 1, "again": 1, "next": 0}, 1},
		{"at most once", dueq.Message{}, dueq.ConsumeOptions{AtMostOnce: true}, make([]dueq.NextMessage, 1), map[string]int{"push": 1, "ack": 0, "next": 0}, 1},
		{"more than a call holds", dueq.Message{}, dueq.ConsumeOptions{}, many, map[string]int{"push": 2, "ack": 1, "next": 0}, len(many)},
		{"larger than a call", dueq.Message{}, dueq.ConsumeOptions{}, []dueq.NextMessage{large, large, large, large, large, large}, map[string]int{"push": 2, "ack": 1, "next": 0}, 6},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.send(test.message)
				before := r.callsOf("push", "ack", "again", "next")
				var runs atomic.Int64
				consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
					if runs.Add(1) > 1 {
						return dueq.Snooze(time.Hour, "")
					}
					return dueq.Next(test.next...)
				}, test.options)
				r.sleep(time.Second)
				_, err := consumer.end()
				r.must(err)
				r.wantCalls(before, test.want)
				if c := r.stats().Counters; c.Sent != int64(test.stored+1) {
					r.Errorf("%+v, want %d sent", c, test.stored+1)
				}
			})
		})
	}
}
