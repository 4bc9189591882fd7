package consumer

import (
	"context"
	"errors"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

func TestGroup_EndsWithTheLastOfItsDeliveries(t *testing.T) {
	t.Parallel()
	g := newGroup(t.Context())
	first := g.join()
	first(store.ErrCancelled) // while others are still to join
	second, third := g.join(), g.join()
	g.leave(nil)
	second(store.ErrCancelled)
	second(store.ErrCancelled)
	if err := g.ctx.Err(); err != nil {
		t.Fatalf("%v while a delivery is worked on", err)
	}
	third(store.ErrLeaseLost)
	if cause := context.Cause(g.ctx); !errors.Is(cause, store.ErrLeaseLost) {
		t.Errorf("the context ended with %v, want the cause of the last", cause)
	}
}

func TestGroup_WithoutDeliveriesEnds(t *testing.T) {
	t.Parallel()
	g := newGroup(t.Context())
	g.join()(store.ErrCancelled)
	g.leave(nil)
	if g.ctx.Err() == nil {
		t.Error("the context lives on")
	}
}
