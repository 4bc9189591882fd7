package embedded

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// countedContext ends after it has been asked n times whether it has.
type countedContext struct {
	context.Context
	left atomic.Int64
}

func (c *countedContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A store that takes long to read stops reading when its caller gives up, and nothing is wrong
// with it.
func TestOpen_ContextEndsWhileReading(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := diskRig(t, d)
	for n := range 50 {
		r.push(message(n + 1))
	}
	r.must(r.Close())
	ctx := &countedContext{Context: t.Context()}
	ctx.left.Store(20)
	_, err := openOn(ctx, d, Config{Logger: quiet}, tuning{byHand: true, segmentSize: smallSegments})
	if !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if left := ctx.left.Load(); left < -2 {
		t.Errorf("asked %d times more after the end", -left)
	}
	*r = *diskRig(t, d)
	if got := r.stats(); got.Ready != 50 {
		t.Errorf("%d messages, want 50", got.Ready)
	}
}
