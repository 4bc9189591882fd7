package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// kill makes a dead message of each id that is ready.
func (r *rig) kill() {
	r.Helper()
	for {
		due, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 500})
		r.must(err)
		if len(due) == 0 {
			return
		}
		for _, d := range due {
			r.must(d.Reject(r.Context(), errNoLuck))
		}
	}
}

func TestListPagesOverAllPartitions(t *testing.T) {
	inBubble(t, func(r *rig) {
		_, err := r.direct.Configure(r.Context(), dueq.Change{Create: true, Partitions: new(3)})
		r.must(err)
		var want []string
		for i := range 250 {
			want = append(want, r.send(dueq.Message{Body: []byte("0123456789"), Delay: time.Duration(i+1) * time.Second}))
		}
		var got []string
		c := dueq.ListOptions{State: dueq.Scheduled, Limit: 40, BodyLimit: 4}
		for {
			page, err := r.q.List(r.Context(), c)
			r.must(err)
			for _, m := range page.Records {
				got = append(got, m.ID)
				if string(m.Body) != "0123" || m.BodySize != 10 || m.State != dueq.Scheduled {
					r.Fatalf("%+v", m)
				}
			}
			if c.Cursor = page.Next; c.Cursor == "" {
				break
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Errorf("listed %d messages, want %d", len(got), len(want))
		}
	})
}

func TestRedrive(t *testing.T) {
	inBubble(t, func(r *rig) {
		_, err := r.direct.Configure(r.Context(), dueq.Change{Create: true, Partitions: new(2)})
		r.must(err)
		for range 1200 {
			_, err := r.direct.SendBatch(r.Context(), []dueq.Message{{}})
			r.must(err)
		}
		taken := r.send(dueq.Message{Key: "taken"})
		r.kill()
		holder := r.send(dueq.Message{Key: "taken", Delay: time.Hour})

		n, err := r.q.Redrive(r.Context())
		var refusal *dueq.Error
		if n != 1200 || !errors.Is(err, dueq.ErrDuplicate) {
			r.Fatalf("redrove %d, error %v: want 1200 and ErrDuplicate for %s", n, err, taken)
		}
		_, err = r.q.Redrive(r.Context(), taken)
		if !errors.As(err, &refusal) || !errors.Is(err, dueq.ErrDuplicate) {
			r.Errorf("%v, want ErrDuplicate naming %s", err, holder)
		}
		if n, err := r.q.Redrive(r.Context(), holder); n != 0 || !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("redrive of what is not dead: %d, %v", n, err)
		}
		r.must(r.q.Cancel(r.Context(), dueq.ID(holder)))
		if n, again := r.q.Redrive(r.Context(), taken); n != 1 || again != nil {
			r.Errorf("redrive once the key is free: %d, %v", n, again)
		}
	})
}

func TestPurge(t *testing.T) {
	inBubble(t, func(r *rig) {
		batch := make([]dueq.Message, 1300)
		_, err := r.direct.SendBatch(r.Context(), batch)
		r.must(err)
		r.kill()
		kept := r.send(dueq.Message{Delay: time.Hour})
		one := r.send(dueq.Message{Delay: time.Hour})
		if n, err := r.q.Purge(r.Context(), dueq.Dead, one); n != 0 || err != nil {
			r.Errorf("purged %d that are in another state, %v", n, err)
		}
		if n, err := r.q.Purge(r.Context(), dueq.Scheduled, one); n != 1 || err != nil {
			r.Errorf("purged %d, %v, want the one", n, err)
		}
		if n, err := r.q.Purge(r.Context(), dueq.Dead); n != 1300 || err != nil {
			r.Errorf("purged %d, %v, want 1300", n, err)
		}
		if m := r.get(kept); m.State != dueq.Scheduled {
			r.Errorf("%+v", m)
		}
	})
}

func TestReschedule(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{Key: "k", Delay: time.Hour})
		now := time.Now()
		tests := []struct {
			to   dueq.Schedule
			want time.Time
		}{
			{dueq.Schedule{Delay: 90 * time.Second}, now.Add(90 * time.Second)},
			{dueq.Schedule{Due: now.Add(2*time.Hour + time.Nanosecond)}, now.Add(2*time.Hour + time.Millisecond)},
			{dueq.Schedule{}, now},
			{dueq.Schedule{Due: now.Add(-time.Hour)}, now},
		}
		for _, test := range tests {
			if err := r.q.Reschedule(r.Context(), dueq.Key("k"), test.to); err != nil {
				r.Fatalf("%+v: %v", test.to, err)
			}
			if m := r.get(id); !m.At.Equal(test.want) {
				r.Errorf("%+v: due %s, want %s", test.to, m.At, test.want)
			}
		}
		wantInvalid(r.T, r.q.Reschedule(r.Context(), dueq.ID(id), dueq.Schedule{Delay: -1}), "delay")
		wantInvalid(r.T, r.q.Reschedule(r.Context(), dueq.ID(id), dueq.Schedule{Delay: 1, Due: now}), "due")
	})
}

func TestManagingRefusesBadInput(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	q, ctx := client.Queue("work"), t.Context()
	if _, err := q.Send(ctx, dueq.Message{}); err != nil {
		t.Fatal(err)
	}
	errOf := func(_ any, err error) error { return err }
	tests := []struct {
		name  string
		err   error
		field string
	}{
		{"cancel a malformed id", q.Cancel(ctx, dueq.ID("42")), "id"},
		{"cancel nothing", q.Cancel(ctx, dueq.ID("")), "id"},
		{"cancel the zero ref", q.Cancel(ctx, dueq.Ref{}), "ref"},
		{"cancel the zero id", q.Cancel(ctx, dueq.ID("00000000000000000000000000")), "id"},
		{"cancel an empty key", q.Cancel(ctx, dueq.Key("")), "key"},
		{"get a malformed id", errOf(q.Get(ctx, dueq.ID("03E6NKXC01R01C3TGWJQ1G0000"))), "id"},
		{"redrive a malformed id", errOf(q.Redrive(ctx, "42")), "id"},
		{"purge a malformed id", errOf(q.Purge(ctx, dueq.Dead, "42")), "id"},
		{"purge what is held", errOf(q.Purge(ctx, dueq.Leased)), "state"},
		{"list no state", errOf(q.List(ctx, dueq.ListOptions{})), "state"},
		{"list an unknown state", errOf(q.List(ctx, dueq.ListOptions{State: "done"})), "state"},
		{"list too many", errOf(q.List(ctx, dueq.ListOptions{State: dueq.Ready, Limit: 1001})), "limit"},
		{"list a negative number", errOf(q.List(ctx, dueq.ListOptions{State: dueq.Ready, Limit: -1})), "limit"},
		{"list negative bodies", errOf(q.List(ctx, dueq.ListOptions{State: dueq.Ready, BodyLimit: -1})), "body limit"},
		{"forged cursor", errOf(q.List(ctx, dueq.ListOptions{State: dueq.Ready, Cursor: "what"})), "cursor"},
		{"forged cursor inside", errOf(q.List(ctx, dueq.ListOptions{State: dueq.Ready, Cursor: "0.what"})), "cursor"},
		{"cursor of no partition", errOf(q.List(ctx, dueq.ListOptions{State: dueq.Ready, Cursor: "7."})), "cursor"},
		{"other partitions", errOf(q.Configure(ctx, dueq.Change{Partitions: new(2)})), "partitions"},
		{"no partitions", errOf(q.Configure(ctx, dueq.Change{Partitions: new(0)})), "partitions"},
		{"excessive body", errOf(q.Configure(ctx, dueq.Change{MaxBody: new(5 << 20)})), "max body"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantInvalid(t, test.err, test.field)
		})
	}
}

func TestUnknownQueueIsNotFound(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	q, ctx := client.Queue("unknown"), t.Context()
	errOf := func(_ any, err error) error { return err }
	for i, err := range []error{
		errOf(q.Stats(ctx)), errOf(q.Check(ctx)), errOf(q.Configure(ctx, dueq.Change{})), q.Pause(ctx), q.Resume(ctx),
		errOf(q.List(ctx, dueq.ListOptions{State: dueq.Ready})), errOf(q.Redrive(ctx)), errOf(q.Purge(ctx, dueq.Dead)),
		q.Cancel(ctx, dueq.Key("k")), q.Cancel(ctx, dueq.ID("03e6nkxc01r01c3tgwjq1g0000")),
	} {
		if !errors.Is(err, dueq.ErrNotFound) {
			t.Errorf("call %d: %v, want ErrNotFound", i, err)
		}
	}
	if all, err := client.Stats(ctx); err != nil || len(all) != 0 {
		t.Errorf("queues were made: %v, %v", all, err)
	}
}

func TestEndedContextMakesNoCall(t *testing.T) {
	inBubble(t, func(r *rig) {
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		errOf := func(_ any, err error) error { return err }
		for i, err := range []error{
			errOf(r.q.Send(ctx, dueq.Message{})), errOf(r.q.SendBatch(ctx, []dueq.Message{{}})),
			errOf(r.q.Receive(ctx, dueq.ReceiveOptions{})), r.q.Consume(ctx, nil, dueq.ConsumeOptions{}),
			r.q.Cancel(ctx, dueq.Ref{}), errOf(r.q.Stats(ctx)), r.q.Pause(ctx), errOf(r.q.Get(ctx, dueq.Ref{})),
			errOf(r.client.Stats(ctx)),
		} {
			if !errors.Is(err, context.Canceled) {
				r.Errorf("call %d: %v, want the error of ctx", i, err)
			}
		}
		if n := fmt.Sprint(r.net.calls); n != "map[]" {
			r.Errorf("calls were made: %s", n)
		}
	})
}

func TestClosedClientRefusesEverything(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	q, ctx := client.Queue("work"), t.Context()
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	errOf := func(_ any, err error) error { return err }
	for i, err := range []error{
		errOf(q.Send(ctx, dueq.Message{})), errOf(q.SendBatch(ctx, []dueq.Message{{}})), errOf(q.Receive(ctx, dueq.ReceiveOptions{})),
		q.Cancel(ctx, dueq.Ref{}), errOf(q.Stats(ctx)), errOf(client.Stats(ctx)),
	} {
		if !errors.Is(err, dueq.ErrClosed) {
			t.Errorf("call %d: %v, want ErrClosed", i, err)
		}
	}
}
