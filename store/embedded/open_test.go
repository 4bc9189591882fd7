package embedded_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
	"github.com/dueq-dev/dueq/store/storetest"
)

// latestStore is the store that was opened last: the suite still uses the first.
type latestStore struct{ store.Store }

// fileHarness is a store in a directory of its own, with a clock moved by hand.
func fileHarness(t *testing.T) storetest.Harness {
	clock := &handClock{}
	clock.micros.Store(time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC).UnixMicro())
	dir := t.TempDir()
	var s *embedded.Store
	latest := &latestStore{}
	open := func(t testing.TB) store.Store {
		var err error
		// Sync is left out: the disk is not what this suite is about.
		s, err = embedded.Open(t.Context(), dir, embedded.Config{Now: clock.now, NeverSync: true, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		latest.Store = s
		return s
	}
	open(t)
	h := storetest.Harness{
		Store: latest,
		Now:   clock.now,
		Advance: func(d time.Duration) {
			clock.micros.Add(d.Microseconds())
			s.ClockMoved()
		},
		Reopen: func(t testing.TB) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t)
		},
		ModelSteps: 60,
	}
	t.Cleanup(func() { _ = s.Close() })
	return h
}

func TestFileConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, fileHarness)
}
