package dueq_test

import (
	"errors"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestKey_NamesTheLastDeadWhenNoneIsLive(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(3)
		k := dueq.Key("order-42")
		first := r.send(dueq.Message{Key: "order-42"})
		r.kill()
		r.sleep(time.Second)
		second := r.send(dueq.Message{Key: "order-42"})
		r.kill()
		if m := r.find(k); m.ID != second || m.State != dueq.Dead || m.LastFailure == "" {
			r.Errorf("%+v, want the dead %s", m, second)
		}
		for op, err := range map[string]error{"cancel": r.q.Cancel(r.Context(), k), "reschedule": r.q.Reschedule(r.Context(), k, dueq.Schedule{})} {
			if !errors.Is(err, dueq.ErrDead) {
				r.Errorf("%s: %v, want ErrDead", op, err)
			}
		}
		if n, err := r.q.Redrive(r.Context(), k); n != 1 || err != nil {
			r.Errorf("redrove %d, %v", n, err)
		}
		if m := r.find(k); m.ID != second || m.State != dueq.Ready {
			r.Errorf("%+v, want the ready %s", m, second)
		}
		if n, err := r.q.Redrive(r.Context(), k); n != 0 || !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("redrive of a live message: %d, %v, want ErrNotFound", n, err)
		}
		for _, id := range []string{second, first} {
			if m := r.find(k); m.ID != id {
				r.Errorf("%+v, want %s", m, id)
			}
			if n, err := r.q.Delete(r.Context(), k); n != 1 || err != nil {
				r.Errorf("deleted %d, %v", n, err)
			}
		}
		if _, err := r.q.Get(r.Context(), k); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("%v, want ErrNotFound", err)
		}
	})
}
