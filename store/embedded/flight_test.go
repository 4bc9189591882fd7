package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// While a sync hangs, only a limited number of bytes is taken; the rest waits without having changed
// anything, and continue in order when the disk does.
func TestPush_SlowDiskBoundsBytesInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls, most = 20, 40_000
		d := faultdisk.New()
		s, err := openOn(t.Context(), d, Config{Logger: quiet}, tuning{byHand: true, inFlight: most})
		if err != nil {
			t.Fatal(err)
		}
		hang := make(chan struct{})
		d.Before = func(op faultdisk.Op) error {
			if op.Kind == "sync" {
				<-hang
			}
			return nil
		}
		p := store.Partition{Queue: "q"}
		push := func(ctx context.Context, n int) error {
			m := message(n)
			m.Body = make([]byte, 10_000)
			_, err := s.Push(ctx, p, store.PushRequest{Producer: fmt.Sprint("p", n), Number: 1, Messages: []store.Message{m}})
			return err
		}
		before := s.log.Size()
		var wg sync.WaitGroup
		for n := range calls {
			wg.Go(func() {
				if err := push(t.Context(), n+1); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if written := s.log.Size() - before; written > most || written < most/2 {
			t.Errorf("%d bytes in flight, the bound is %d", written, most)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var left error
		wg.Go(func() { left = push(ctx, 99) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(left, context.Canceled) {
			t.Errorf("a waiting call whose context ended: %v", left)
		}
		close(hang)
		wg.Wait()
		if _, err := s.Get(t.Context(), p, store.Ref{ID: id(99)}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a call that never began has stored its message: %v", err)
		}
		if s.flight.used != 0 || s.flight.waiting.Len() != 0 {
			t.Errorf("%d bytes are never given back, %d calls wait", s.flight.used, s.flight.waiting.Len())
		}
		stats, err := s.Stats(t.Context(), "q")
		if err != nil || stats[0].Ready != calls {
			t.Errorf("stats %+v, %v", stats, err)
		}
		mustClose(t, s)
	})
}

// A call larger than the bound is not refused: it goes alone.
func TestPush_BytesInFlightLargerThanTheBound(t *testing.T) {
	t.Parallel()
	f := flight{most: 10}
	for range 2 {
		if err := f.enter(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		f.leave(100)
	}
	if f.used != 0 {
		t.Errorf("used %d", f.used)
	}
}
