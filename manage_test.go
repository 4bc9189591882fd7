package dueq_test

import (
	"context"
	"errors"
	"fmt"
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

func TestReschedule_ByIDAndKey(t *testing.T) {
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

func TestManage_BadInputIsRefused(t *testing.T) {
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
		{"redrive a malformed id", errOf(q.Redrive(ctx, dueq.Key("k"), dueq.ID("42"))), "id"},
		{"delete a malformed id", errOf(q.Delete(ctx, dueq.ID("42"))), "id"},
		{"purge what is held", errOf(q.Purge(ctx, dueq.Filter{State: dueq.Leased}, nil)), "state"},
		{"list an unknown state", errOf(q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: "gone"}})), "state"},
		{"list too many", errOf(q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, Limit: 1001})), "limit"},
		{"list a negative number", errOf(q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, Limit: -1})), "limit"},
		{"list negative bodies", errOf(q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, BodyLimit: -1})), "body limit"},
		{"forged cursor", errOf(q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, Cursor: "what"})), "cursor"},
		{"forged cursor inside", errOf(q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, Cursor: "r0.what"})), "cursor"},
		{"cursor of no partition", errOf(q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, Cursor: "r7."})), "cursor"},
		{"excessive partitions", errOf(q.Update(ctx, func(s *dueq.Settings) { s.Partitions = 1025 })), "partitions"},
		{"no partitions", q.Create(ctx, dueq.Settings{Partitions: -1}), "partitions"},
		{"excessive body", errOf(q.Update(ctx, func(s *dueq.Settings) { s.MaxBody = 5 << 20 })), "max body"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantInvalid(t, test.err, test.field)
		})
	}
}

func TestManage_UnknownQueueIsNotFound(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	q, ctx := client.Queue("unknown"), t.Context()
	errOf := func(_ any, err error) error { return err }
	for i, err := range []error{
		errOf(q.Stats(ctx)), errOf(q.Check(ctx)), errOf(q.Settings(ctx)), q.Pause(ctx), q.Resume(ctx),
		errOf(q.List(ctx, dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}})), errOf(q.RedriveAll(ctx, dueq.Filter{}, nil)),
		errOf(q.Purge(ctx, dueq.Filter{State: dueq.Dead}, nil)), errOf(q.RescheduleAll(ctx, dueq.Filter{}, dueq.Schedule{}, nil)),
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

func TestClient_EndedContextMakesNoCall(t *testing.T) {
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

func TestClose_LaterCallsReturnErrClosed(t *testing.T) {
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
