package dueq_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// A worker sends a message, gets no answer and dies. The message is consumed. Then another worker
// sends it again.
func TestSend_AgainByIDFromAnotherClientStoresNothingTwice(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, m := range []dueq.Message{{}, {DedupFor: time.Hour}} {
			r.net.set(once(replyLost, "push"))
			if m.DedupFor == 0 {
				r.must(r.q.Create(r.Context(), dueq.Settings{DedupFor: time.Hour}))
			}
			id, err := r.q.Send(r.Context(), m)
			if !errors.Is(err, dueq.ErrUnavailable) || id == "" {
				r.Fatalf("%q, %v, want ErrUnavailable and an id", id, err)
			}
			r.ackOne()
			again, err := r.direct.Send(r.Context(), dueq.Message{ID: id})
			r.must(err)
			if s := r.stats(); again != id || s.Ready != 0 {
				r.Errorf("sent again as %s, %+v", again, s)
			}
			_, err = r.direct.Update(r.Context(), func(s *dueq.Settings) { s.DedupFor = 0 })
			r.must(err)
		}
		r.sleep(time.Hour + time.Second)
		id := r.send(dueq.Message{})
		r.ackOne()
		_, err := r.direct.Send(r.Context(), dueq.Message{ID: id})
		r.must(err)
		if s := r.stats(); s.Ready != 1 {
			r.Errorf("%+v, want it stored anew, as it was not remembered", s)
		}
	})
}

func (r *rig) ackOne() {
	r.Helper()
	all, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{})
	r.must(err)
	r.must(all[0].Ack(r.Context()))
}

func TestSend_DedupIDReturnsTheFirstID(t *testing.T) {
	inBubble(t, func(r *rig) {
		var seen []string
		q := r.hooked(dueq.Options{Hooks: dueq.Hooks{OnSend: func(e dueq.SendEvent) {
			seen = append(seen, fmt.Sprint(e.ID, e.Deduplicated, e.Err))
		}}})
		r.must(q.Create(r.Context(), dueq.Settings{Partitions: 16}))
		m := dueq.Message{DedupID: "payment-7:email", DedupFor: time.Hour, Body: []byte("first")}
		first, err := q.Send(r.Context(), m)
		r.must(err)
		m.Body = []byte("second")
		again := func(when string) {
			r.Helper()
			seen = nil
			id, err := q.Send(r.Context(), m)
			r.must(err)
			results, err := q.SendBatch(r.Context(), []dueq.Message{m, m})
			r.must(err)
			for result := range q.SendSeq(r.Context(), slices.Values([]dueq.Message{m})) {
				results = append(results, result)
			}
			for _, result := range results {
				if result != (dueq.SendResult{ID: first, Deduplicated: true}) || id != first {
					r.Errorf("%s: %+v and %s, want %s", when, result, id, first)
				}
			}
			want := fmt.Sprint(first, true, nil)
			if !slices.Equal(seen, []string{want, want, want, want}) {
				r.Errorf("%s: hooks saw %q", when, seen)
			}
		}
		again("live")
		r.must(q.Cancel(r.Context(), dueq.ID(first)))
		again("gone")
		s, err := q.Stats(r.Context())
		r.must(err)
		if s.Counters.Sent != 1 || s.Counters.Deduplicated != 8 || s.Remembered != 1 {
			r.Errorf("%+v", s)
		}
		r.sleep(time.Hour)
		id, err := q.Send(r.Context(), m)
		if err != nil || id == first {
			r.Errorf("%s, %v, want it sent anew", id, err)
		}
	})
}

func TestSend_DedupIDBesideAKeyOrAnID(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.q.Create(r.Context(), dueq.Settings{Partitions: 64}))
		id := r.send(dueq.Message{Key: "order-42", DedupID: "a"})
		again, err := r.q.Send(r.Context(), dueq.Message{Key: "order-42", DedupID: "a"})
		if err != nil || again != id {
			r.Errorf("%s, %v, want the first id instead of a duplicate key", again, err)
		}
		_, err = r.q.Send(r.Context(), dueq.Message{Key: "order-42", DedupID: "b"})
		if !errors.Is(err, dueq.ErrDuplicate) {
			r.Errorf("%v, want ErrDuplicate", err)
		}
		plain := r.send(dueq.Message{DedupID: "c"})
		again, err = r.q.Send(r.Context(), dueq.Message{ID: plain, DedupID: "c"})
		if err != nil || again != plain {
			r.Errorf("%s, %v, want %s", again, err, plain)
		}
		_, err = r.q.Send(r.Context(), dueq.Message{ID: plain, DedupID: "of another partition"})
		wantInvalid(r.T, err, "id")
	})
}
