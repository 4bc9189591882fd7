package dueqtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAdvance_DeliversWhenDue(t *testing.T) {
	t.Parallel()
	q := dueqtest.New(t)
	id := q.Send("orders", dueq.Message{Key: "order-42", Body: []byte("42"), Delay: 30 * time.Minute})
	q.AssertScheduled("orders", dueq.ID(id), 30*time.Minute)
	q.AssertScheduled("orders", dueq.Key("order-42"), 30*time.Minute)

	q.Advance(30*time.Minute - time.Millisecond)
	q.AssertNothingDue("orders")
	q.AssertDelivered("orders")
	q.Advance(time.Millisecond)
	q.AssertDelivered("orders", "42")
	q.AssertNothingDue("orders")
	if _, err := q.Queue("orders").Get(t.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrNotFound) {
		t.Fatalf("after delivery: %v, want ErrNotFound", err)
	}
}

func TestDeliver_SettlesLikeConsume(t *testing.T) {
	t.Parallel()
	fault := errors.New("no luck")
	tests := []struct {
		name  string
		err   error
		state dueq.State
		delay time.Duration
	}{
		{"nil acks", nil, "", 0},
		{"an error is retried after 16 seconds", fault, dueq.Scheduled, 16 * time.Second},
		{"retry after", dueq.RetryAfter(time.Minute, fault), dueq.Scheduled, time.Minute},
		{"snooze", dueq.Snooze(time.Minute, "busy"), dueq.Scheduled, time.Minute},
		{"again", dueq.Again(dueq.Schedule{Delay: time.Hour}, nil), dueq.Scheduled, time.Hour},
		{"reject", dueq.Reject(fault), dueq.Dead, 0},
		{"a panic is a failure", nil, dueq.Scheduled, 16 * time.Second},
		{"drop", dueq.Drop(fault), "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q := dueqtest.New(t)
			id := q.Send("work", dueq.Message{})
			n := q.Deliver("work", func(context.Context, *dueq.Delivery) error {
				if test.err == nil && test.state != "" {
					panic("oh no")
				}
				return test.err
			})
			if n != 1 {
				t.Fatalf("delivered %d, want 1", n)
			}
			r, err := q.Queue("work").Get(t.Context(), dueq.ID(id))
			if test.state == "" {
				if !errors.Is(err, dueq.ErrNotFound) {
					t.Fatalf("get: %v, want ErrNotFound", err)
				}
				return
			}
			if err != nil || r.State != test.state {
				t.Fatalf("state %q, error %v, want %q", r.State, err, test.state)
			}
			if test.state == dueq.Scheduled {
				q.AssertScheduled("work", dueq.ID(id), test.delay)
			}
		})
	}
}

func TestDeliver_NextSends(t *testing.T) {
	t.Parallel()
	q := dueqtest.New(t)
	q.Send("a", dueq.Message{})
	q.Deliver("a", func(context.Context, *dueq.Delivery) error {
		return dueq.Next(dueq.NextMessage{Queue: "b", Message: dueq.Message{Body: []byte("next")}})
	})
	q.AssertNothingDue("a")
	q.AssertDelivered("b", "next")
}

func TestFailSends_FailsWhatIsStoredWithAnAck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want dueq.State
	}{{dueq.ErrUnavailable, dueq.Leased}, {dueq.ErrQueueFull, dueq.Scheduled}} {
		q := dueqtest.New(t)
		id := q.Send("a", dueq.Message{})
		q.FailSends(test.err)
		q.Deliver("a", func(context.Context, *dueq.Delivery) error { return dueq.Next(dueq.NextMessage{}) })
		m, err := q.Queue("a").Get(t.Context(), dueq.ID(id))
		if err != nil || m.State != test.want {
			t.Errorf("after %v: %+v, %v, want it %s", test.err, m, err, test.want)
		}
	}
}

func TestWork_HandsOutWhatIsDueInAllQueues(t *testing.T) {
	t.Parallel()
	q := dueqtest.New(t)
	w, err := dueq.NewWorker(q.Client, dueq.WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pattern := range []string{"orders", "mail.*"} {
		err := w.Handle(pattern, func(_ context.Context, d *dueq.Delivery) error {
			got = append(got, d.Queue+" "+pattern)
			if d.Queue == "mail.a" {
				return dueq.Next(dueq.NextMessage{Queue: "orders", Message: dueq.Message{}})
			}
			return nil
		}, dueq.HandleOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, queue := range []string{"orders", "mail.b", "mail.a", "other"} {
		q.Send(queue, dueq.Message{})
	}
	if n := q.Work(w); n != 3 || fmt.Sprint(got) != "[mail.a mail.* mail.b mail.* orders orders]" {
		t.Errorf("%d messages, %v", n, got)
	}
	q.AssertEmpty("mail.a")
	if n := q.Work(w); n != 1 || got[3] != "orders orders" {
		t.Errorf("%d messages, %v, want what the first one has sent", n, got)
	}
	if n := q.Work(w); n != 0 {
		t.Errorf("%d messages, want none", n)
	}
}

func TestAssert_Fails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		assert func(q *dueqtest.Client, id string)
		want   string
	}{
		{"wrong body", func(q *dueqtest.Client, _ string) { q.AssertDelivered("work", "other") }, `delivered ["body"], want ["other"]`},
		{"too few", func(q *dueqtest.Client, _ string) { q.AssertDelivered("work", "body", "more") }, `want ["body" "more"]`},
		{"something is due", func(q *dueqtest.Client, _ string) { q.AssertNothingDue("work") }, `a message that is due`},
		{"not empty", func(q *dueqtest.Client, _ string) { q.AssertEmpty("work") }, "holds messages: 0 scheduled, 1 ready, 0 leased, 0 dead"},
		{"not dead", func(q *dueqtest.Client, id string) { q.AssertDead("work", dueq.ID(id), "") }, "is ready, want dead"},
		{"unknown", func(q *dueqtest.Client, _ string) { q.AssertDead("work", dueq.Key("other"), "") }, "not found"},
		{"dead of something else", func(q *dueqtest.Client, id string) {
			q.Deliver("work", func(context.Context, *dueq.Delivery) error { return dueq.Reject(errors.New("no luck")) })
			q.AssertDead("work", dueq.ID(id), "bad body")
		}, `died of "no luck", want "bad body"`},
		{"due at another time", func(q *dueqtest.Client, id string) {
			q.Deliver("work", func(context.Context, *dueq.Delivery) error { return dueq.RetryAfter(time.Hour, nil) })
			q.AssertScheduled("work", dueq.ID(id), time.Minute)
		}, "is due in 1h0m0s, want 1m0s"},
		{"not scheduled", func(q *dueqtest.Client, id string) { q.AssertScheduled("work", dueq.ID(id), 0) }, "is ready, want scheduled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			watched := &recorder{TB: t}
			q := dueqtest.New(watched)
			id := q.Send("work", dueq.Message{Body: []byte("body")})
			test.assert(q, id)
			if got := strings.Join(watched.errors, "\n"); !strings.Contains(got, test.want) {
				t.Fatalf("errors %q, want one with %q", got, test.want)
			}
		})
	}
}

func TestAssert_Holds(t *testing.T) {
	t.Parallel()
	q := dueqtest.New(t)
	q.AssertEmpty("work")
	at := q.Send("work", dueq.Message{Due: q.Now().Add(time.Hour + time.Second/2)}) // as the clock shows while it runs
	q.AssertScheduled("work", dueq.ID(at), time.Hour)
	q.Advance(time.Hour + time.Second)
	q.Deliver("work", func(context.Context, *dueq.Delivery) error { return dueq.Reject(errors.New("the body is bad")) })
	q.AssertDead("work", dueq.ID(at), "body is bad")
}

func TestNew_ClockStandsAtTheTimeOfTheCall(t *testing.T) {
	t.Parallel()
	before := time.Now().Truncate(time.Millisecond)
	q := dueqtest.New(t)
	if now := q.Now(); now.Before(before) || now.After(time.Now()) || !now.Equal(q.Now()) {
		t.Errorf("the clock stands at %s, it was %s before", now, before)
	}
	at := time.Date(2026, time.March, 29, 1, 59, 0, 999, time.UTC)
	if got, want := dueqtest.NewAt(t, at).Now(), at.Truncate(time.Millisecond); !got.Equal(want) {
		t.Errorf("the clock stands at %s, want %s", got, want)
	}
}

func TestFailSends(t *testing.T) {
	t.Parallel()
	q := dueqtest.New(t)
	q.FailSends(dueq.ErrUnavailable)
	for range 2 {
		if _, err := q.Queue("work").Send(t.Context(), dueq.Message{}); !errors.Is(err, dueq.ErrUnavailable) {
			t.Errorf("%v, want ErrUnavailable", err)
		}
	}
	q.AssertEmpty("work")
	q.FailSends(nil)
	q.Send("work", dueq.Message{})
}

func TestFailSettles(t *testing.T) {
	t.Parallel()
	q := dueqtest.New(t)
	q.Send("work", dueq.Message{})
	q.FailSettles(dueq.ErrUnavailable)
	done := func(context.Context, *dueq.Delivery) error { return nil }
	if n := q.Deliver("work", done); n != 1 {
		t.Errorf("%d delivered", n)
	}
	q.FailSettles(nil)
	q.Advance(time.Minute) // the lease runs out
	if n := q.Deliver("work", done); n != 1 {
		t.Errorf("%d delivered again, want 1", n)
	}
	q.AssertEmpty("work")
}

func TestAdvance_RunningConsumerSeesTheNewTime(t *testing.T) {
	t.Parallel()
	q := dueqtest.New(t)
	q.Send("work", dueq.Message{Delay: time.Hour})
	ctx, stop := context.WithCancel(t.Context())
	started := make(chan struct{})
	go q.Advance(time.Hour)
	err := q.Queue("work").Consume(ctx, func(context.Context, *dueq.Delivery) error {
		close(started)
		stop()
		return nil
	}, dueq.ConsumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-started
}

// With testing/synctest no help is needed at all: NewMemory follows the bubble's clock.
func TestNew_ConsumerInASynctestBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := opened(t)(dueq.NewMemory(nil))
		defer func() { _ = client.Close() }()
		orders, start := client.Queue("orders"), time.Now()
		if _, err := orders.Send(t.Context(), dueq.Message{Delay: 30 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		var after time.Duration
		ctx, stop := context.WithCancel(t.Context())
		err := orders.Consume(ctx, func(context.Context, *dueq.Delivery) error {
			after = time.Since(start)
			stop()
			return nil
		}, dueq.ConsumeOptions{})
		if err != nil || after != 30*time.Minute {
			t.Fatalf("delivered after %s, error %v", after, err)
		}
	})
}

// recorder is a testing.TB that records errors and does not fail.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// opened returns a function that takes the result of a constructor, and fails the test on
// an error.
func opened(tb testing.TB) func(*dueq.Client, error) *dueq.Client {
	tb.Helper()
	return func(c *dueq.Client, err error) *dueq.Client {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return c
	}
}
