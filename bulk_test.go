package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// split makes the queue with several partitions.
func (r *rig) split(partitions int) {
	r.Helper()
	err := r.direct.Create(r.Context(), dueq.Settings{Partitions: partitions})
	r.must(err)
}

// fill sends n messages, each in a call of its own, so that they are in all partitions.
func (r *rig) fill(n int, m dueq.Message) []string {
	r.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = r.send(m)
	}
	return ids
}

// wantLive fails the test unless these are the numbers of scheduled, ready and dead messages.
func (r *rig) wantLive(scheduled, ready, dead int64) {
	r.Helper()
	if s := r.stats(); s.Scheduled != scheduled || s.Ready != ready || s.Dead != dead {
		r.Errorf("%d scheduled, %d ready, %d dead; want %d, %d, %d", s.Scheduled, s.Ready, s.Dead, scheduled, ready, dead)
	}
}

func TestRedrive_NoRefsChangeNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.fill(3, dueq.Message{})
		r.kill()
		r.fill(2, dueq.Message{Delay: time.Hour})
		none := []dueq.Ref{}
		if n, err := r.q.Redrive(r.Context(), none...); n != 0 || err != nil {
			r.Errorf("redrive of none: %d, %v", n, err)
		}
		if n, err := r.q.Delete(r.Context(), none...); n != 0 || err != nil {
			r.Errorf("delete of none: %d, %v", n, err)
		}
		r.wantLive(2, 0, 3)
	})
}

func TestPurge_WithoutAStateDoesNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.fill(2, dueq.Message{Delay: time.Hour})
		_, err := r.q.Purge(r.Context(), dueq.Filter{}, nil)
		wantInvalid(r.T, err, "state")
		_, err = r.q.Purge(r.Context(), dueq.Filter{Key: "*"}, nil)
		wantInvalid(r.T, err, "state")
		r.wantLive(2, 0, 0)
	})
}

func TestDelete_RemovesWhatIsNotRunning(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(3)
		dead := r.send(dueq.Message{})
		r.kill()
		running := r.send(dueq.Message{Key: "running"})
		held, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		ready, scheduled := r.send(dueq.Message{}), r.send(dueq.Message{Key: "scheduled", Delay: time.Hour})

		n, err := r.q.Delete(r.Context(), dueq.ID(dead), dueq.ID(ready), dueq.Key("scheduled"), dueq.ID(scheduled),
			dueq.Key("running"), dueq.Key("unknown"), dueq.ID(dead))
		if n != 3 {
			r.Errorf("deleted %d, want 3", n)
		}
		refused := map[string]error{}
		for _, e := range about(err) {
			refused[e.ID] = e
		}
		if len(refused) != 2 || !errors.Is(refused["key:running"], dueq.ErrRunning) || !errors.Is(refused["key:unknown"], dueq.ErrNotFound) {
			r.Errorf("refusals %v", refused)
		}
		if m := r.get(running); !m.Cancelling {
			r.Errorf("the running one: %+v", m)
		}
		r.must(held[0].Ack(r.Context()))
		r.wantLive(0, 0, 0)
	})
}

func TestRedrive_ByRef(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(2)
		ids := r.fill(1200, dueq.Message{})
		taken := r.send(dueq.Message{Key: "taken"})
		r.kill()
		holder := r.send(dueq.Message{Key: "taken", Delay: time.Hour})
		refs := []dueq.Ref{dueq.ID(taken)}
		for _, id := range ids {
			refs = append(refs, dueq.ID(id))
		}
		n, err := r.q.Redrive(r.Context(), refs...)
		if all := about(err); n != 1200 || len(all) == 0 || all[0].ID != taken || all[0].Holder != holder {
			r.Fatalf("redrove %d, error %v: want 1200 and ErrDuplicate for %s", n, err, taken)
		}
		if n, err := r.q.Redrive(r.Context(), dueq.ID(holder)); n != 0 || !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("redrive of what is not dead: %d, %v", n, err)
		}
		r.must(r.q.Cancel(r.Context(), dueq.ID(holder)))
		if n, err := r.q.Redrive(r.Context(), dueq.ID(taken)); n != 1 || err != nil {
			r.Errorf("redrive once the key is free: %d, %v", n, err)
		}
	})
}

func TestRedriveAll_ChoosesByFilter(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(3)
		for i := range 700 {
			r.send(dueq.Message{Key: fmt.Sprintf("a/%d", i), Headers: map[string]string{"n": fmt.Sprint(i % 7)}})
		}
		r.fill(20, dueq.Message{})
		r.kill()
		filter := dueq.Filter{Key: "a/*", Headers: map[string]string{"n": "3"}, Failure: errNoLuck.Error(), MinAttempts: 1}

		var last dueq.BulkProgress
		steps := 0
		o := &dueq.BulkOptions{DryRun: true, Progress: func(p dueq.BulkProgress) { last, steps = p, steps+1 }}
		if n, err := r.q.RedriveAll(r.Context(), filter, o); n != 100 || err != nil {
			r.Errorf("dry run: %d, %v, want 100", n, err)
		}
		if want := (dueq.BulkProgress{Examined: 720, Matched: 100}); last != want || steps < 3 {
			r.Errorf("progress %+v in %d steps, want %+v", last, steps, want)
		}
		r.wantLive(0, 0, 720)
		o.DryRun = false
		if n, err := r.q.RedriveAll(r.Context(), filter, o); n != 100 || err != nil || last.Done != 100 {
			r.Errorf("redrove %d, %v, progress %+v, want 100", n, err, last)
		}
		r.wantLive(0, 100, 620)
		filter.MinAttempts = 2
		if n, err := r.q.RedriveAll(r.Context(), filter, nil); n != 0 || err != nil {
			r.Errorf("redrove %d, %v, want none with 2 attempts", n, err)
		}
		if n, err := r.q.RedriveAll(r.Context(), dueq.Filter{State: dueq.Dead}, nil); n != 620 || err != nil {
			r.Errorf("redrove %d, %v, want the others", n, err)
		}
		_, err := r.q.RedriveAll(r.Context(), dueq.Filter{State: dueq.Ready}, nil)
		wantInvalid(r.T, err, "state")
	})
}

func TestRedriveAll_ReportsTakenKeys(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range 150 {
			r.send(dueq.Message{Key: fmt.Sprint(i)})
		}
		r.kill()
		for i := range 120 {
			r.send(dueq.Message{Key: fmt.Sprint(i), Delay: time.Hour})
		}
		n, err := r.q.RedriveAll(r.Context(), dueq.Filter{}, nil)
		if n != 30 || !errors.Is(err, dueq.ErrDuplicate) || len(about(err)) != 100 {
			r.Errorf("redrove %d with %d refusals, want 30 and the first 100: %.200v", n, len(about(err)), err)
		}
		r.wantLive(120, 30, 120)
	})
}

func TestRedriveAll_SpreadsInTheOrderOfDeath(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(3)
		var ids []string
		for range 30 {
			ids = append(ids, r.send(dueq.Message{}))
			r.kill()
			r.sleep(time.Second)
		}
		now := time.Now()
		if n, err := r.q.RedriveAll(r.Context(), dueq.Filter{}, &dueq.BulkOptions{Spread: time.Hour}); n != 30 || err != nil {
			r.Fatalf("redrove %d, %v", n, err)
		}
		for i, id := range ids {
			if m, want := r.get(id), now.Add(time.Duration(i)*2*time.Minute); !m.At.Equal(want) {
				r.Errorf("message %d is due in %s, want %s", i, m.At.Sub(now), want.Sub(now))
			}
		}
		_, err := r.q.RedriveAll(r.Context(), dueq.Filter{}, &dueq.BulkOptions{Spread: -1})
		wantInvalid(r.T, err, "spread")
	})
}

func TestRescheduleAll_MovesEachMessageOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(2)
		now := time.Now()
		var ids []string
		for i := range 1500 {
			ids = append(ids, r.send(dueq.Message{Due: now.Add(time.Duration(i) * time.Minute)}))
		}
		var last dueq.BulkProgress
		o := &dueq.BulkOptions{Spread: 150 * time.Minute, Progress: func(p dueq.BulkProgress) { last = p }}
		to := dueq.Schedule{Due: now.Add(2 * time.Hour)}
		if n, err := r.q.RescheduleAll(r.Context(), dueq.Filter{}, to, o); n != 1500 || err != nil {
			r.Fatalf("rescheduled %d, %v", n, err)
		}
		if want := (dueq.BulkProgress{Examined: 1500, Matched: 1500, Done: 1500}); last != want {
			r.Errorf("progress %+v, want %+v", last, want)
		}
		for _, i := range []int{0, 1, 777, 1499} {
			if m, want := r.get(ids[i]), to.Due.Add(time.Duration(i)*6*time.Second); !m.At.Equal(want) {
				r.Errorf("message %d is due at %s, want %s", i, m.At, want)
			}
		}
		some := dueq.Filter{State: dueq.Scheduled, Due: dueq.TimeRange{From: to.Due, To: to.Due.Add(time.Minute)}}
		if n, err := r.q.RescheduleAll(r.Context(), some, dueq.Schedule{}, nil); n != 10 || err != nil {
			r.Errorf("made %d due now, %v, want 10", n, err)
		}
		r.wantLive(1490, 10, 0)
	})
}

func TestPurge_ChoosesByFilter(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(2)
		r.fill(1300, dueq.Message{})
		r.kill()
		died := time.Now()
		r.sleep(time.Minute)
		r.fill(5, dueq.Message{})
		r.kill()
		kept := r.send(dueq.Message{Key: "kept", Delay: time.Hour})
		for _, test := range []struct {
			filter dueq.Filter
			want   int
		}{
			{dueq.Filter{State: dueq.Dead, Died: dueq.TimeRange{From: died.Add(time.Millisecond)}}, 5},
			{dueq.Filter{State: dueq.Dead, Died: dueq.TimeRange{To: died}}, 0},
			{dueq.Filter{State: dueq.Dead, Sent: dueq.TimeRange{From: died.AddDate(200, 0, 0)}}, 0},
			{dueq.Filter{State: dueq.Scheduled, Key: "kep"}, 0},
			{dueq.Filter{State: dueq.Dead}, 1300},
		} {
			for _, dry := range []bool{true, false} {
				n, err := r.q.Purge(r.Context(), test.filter, &dueq.BulkOptions{DryRun: dry})
				if n != test.want || err != nil {
					r.Errorf("%+v, dry run %t: %d, %v, want %d", test.filter, dry, n, err, test.want)
				}
			}
		}
		if m := r.get(kept); m.State != dueq.Scheduled {
			r.Errorf("%+v", m)
		}
	})
}

func TestBulk_CountsWhatSucceededBeforeAnError(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.fill(1200, dueq.Message{Delay: time.Hour})
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		filter := dueq.Filter{State: dueq.Scheduled, Due: dueq.TimeRange{From: time.Now()}}
		o := &dueq.BulkOptions{Progress: func(p dueq.BulkProgress) {
			if p.Done > 0 {
				cancel()
			}
		}}
		n, err := r.q.Purge(ctx, filter, o)
		if n != 500 || !errors.Is(err, context.Canceled) {
			r.Errorf("purged %d, %v, want 500 and the error of the context", n, err)
		}
		r.wantLive(700, 0, 0)
	})
}
