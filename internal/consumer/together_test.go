package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

func TestGroup_EndsWithTheLastOfItsDeliveries(t *testing.T) {
	t.Parallel()
	g := newGroup(t.Context(), 3)
	var first, second, third Held
	begin := func(h *Held) {
		h.claimed, h.deadline = &claimed{began: time.Now()}, time.Minute
		if err := h.beginIn(g, time.Now(), 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	begin(&first)
	first.stop(store.ErrCancelled) // while other deliveries have not begun yet
	begin(&second)
	begin(&third)
	second.stop(store.ErrCancelled)
	second.stop(store.ErrCancelled)
	if err := g.ctx.Err(); err != nil {
		t.Fatalf("%v while a delivery is worked on", err)
	}
	third.stop(store.ErrLeaseLost)
	if cause := context.Cause(g.ctx); !errors.Is(cause, store.ErrLeaseLost) {
		t.Errorf("the context ended with %v, want the cause of the last", cause)
	}
}

func TestGroup_EndsIfNoDeliveryIsStarted(t *testing.T) {
	t.Parallel()
	g := newGroup(t.Context(), 2)
	g.leave(store.ErrCancelled)
	if err := g.ctx.Err(); err != nil {
		t.Fatalf("%v while a delivery can be started", err)
	}
	g.leave(store.ErrCancelled)
	if g.ctx.Err() == nil {
		t.Error("the context lives on")
	}
}
