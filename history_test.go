package dueq_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// ended makes a queue with a history and two partitions, and n messages that are acked in it.
func (r *rig) ended(n int) []string {
	r.Helper()
	r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: 2, History: 24 * time.Hour}))
	var ids []string
	for i := range n {
		ids = append(ids, r.send(dueq.Message{Key: fmt.Sprint("order-", i), Body: []byte("what ran")}))
	}
	for left := n; left > 0; {
		held, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 500})
		r.must(err)
		for _, d := range held {
			r.must(d.Ack(r.Context()))
		}
		if left -= len(held); len(held) == 0 {
			r.Fatalf("%d messages were not received", left)
		}
	}
	return ids
}

func TestHistory_DoneMessagesAreFoundAndListed(t *testing.T) {
	inBubble(t, func(r *rig) {
		ids := r.ended(20)
		cancelled := r.send(dueq.Message{Delay: time.Hour})
		r.must(r.q.Cancel(r.Context(), dueq.ID(cancelled)))
		r.send(dueq.Message{Delay: time.Hour})
		for _, ref := range []dueq.Ref{dueq.ID(ids[3]), dueq.Key("order-3")} {
			got, err := r.q.Get(r.Context(), ref)
			r.must(err)
			if got.ID != ids[3] || got.State != dueq.Done || got.Ending != dueq.EndingAcked || got.Attempt != 1 || string(got.Body) != "what ran" || got.At.IsZero() {
				r.Errorf("%s: %+v", ref, got)
			}
		}
		count := func(f dueq.Filter) map[dueq.Ending]int {
			r.Helper()
			n := map[dueq.Ending]int{}
			for m, err := range r.q.Messages(r.Context(), dueq.ListOptions{Filter: f, Limit: 6}) {
				r.must(err)
				n[m.Ending]++
			}
			return n
		}
		for name, f := range map[string]dueq.Filter{
			"state": {State: dueq.Done}, "ended": {Ended: dueq.TimeRange{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}},
		} {
			if n := count(f); n[dueq.EndingAcked] != 20 || n[dueq.EndingCancelled] != 1 || n[""] != 0 {
				r.Errorf("%s: %v", name, n)
			}
		}
		if n := count(dueq.Filter{}); n[dueq.EndingAcked] != 20 || n[""] != 1 {
			r.Errorf("all messages: %v", n)
		}
		if n := count(dueq.Filter{Ended: dueq.TimeRange{From: time.Now().Add(time.Hour)}}); len(n) != 0 {
			r.Errorf("that will end later: %v", n)
		}
		if s := r.stats(); s.Done != 21 || s.Scheduled != 1 {
			r.Errorf("stats: %+v", s)
		}
	})
}

func TestHistory_DoneMessagesCannotBeChanged(t *testing.T) {
	inBubble(t, func(r *rig) {
		ids := r.ended(2)
		notFound := func(what string, err error) {
			r.Helper()
			if !errors.Is(err, dueq.ErrNotFound) {
				r.Errorf("%s: %v, want ErrNotFound", what, err)
			}
		}
		ref := dueq.ID(ids[0])
		notFound("cancel", r.q.Cancel(r.Context(), ref))
		notFound("reschedule", r.q.Reschedule(r.Context(), ref, dueq.Schedule{}))
		_, err := r.q.Redrive(r.Context(), ref)
		notFound("redrive", err)
		_, err = r.q.Delete(r.Context(), ref, dueq.Key("order-1"))
		notFound("delete", err)
		r.send(dueq.Message{ID: ids[0], Body: []byte("anew")})
		if got, err := r.q.Get(r.Context(), ref); err != nil || got.State != dueq.Ready {
			r.Errorf("sent again: %+v, %v", got, err)
		}
	})
}

func TestPurge_DoneMessages(t *testing.T) {
	inBubble(t, func(r *rig) {
		ids := r.ended(12)
		if n, err := r.q.Purge(r.Context(), dueq.Filter{State: dueq.Done, Key: "order-[3-5]"}, nil); n != 3 || err != nil {
			r.Errorf("purged %d, %v, want 3", n, err)
		}
		if _, err := r.q.Get(r.Context(), dueq.ID(ids[4])); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("a purged one: %v", err)
		}
		if n, err := r.q.Purge(r.Context(), dueq.Filter{State: dueq.Done}, nil); n != 9 || err != nil {
			r.Errorf("purged %d, %v, want 9", n, err)
		}
		if s := r.stats(); s.Done != 0 || s.Counters.Acked != 12 || s.Counters.Purged != 0 {
			r.Errorf("stats: %+v", s)
		}
	})
}
