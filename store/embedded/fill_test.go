package embedded

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
	"github.com/dueq-dev/dueq/store/storetest"
)

// latestStore is the store that was opened last: the suite still uses the first.
type latestStore struct{ store.Store }

// The suite once more, every change synced, on a disk that can be filled.
func TestConformance_DiskThatFills(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		d, clock := faultdisk.New(), &handClock{now: time.UnixMilli(epoch)}
		latest := &latestStore{}
		open := func(tb testing.TB) *Store {
			tb.Helper()
			s, err := openOn(tb.Context(), d, Config{Now: clock.Now, Logger: quiet}, tuning{segmentSize: smallSegments, byHand: true})
			if err != nil {
				tb.Fatal(err)
			}
			latest.Store = s
			return s
		}
		s := open(t)
		t.Cleanup(func() { _ = latest.Close() })
		return storetest.Harness{
			Store: latest,
			Now:   clock.Now,
			Advance: func(by time.Duration) {
				clock.move(by)
				s.ClockMoved()
			},
			Reopen: func(tb testing.TB) store.Store {
				tb.Helper()
				if err := latest.Close(); err != nil {
					tb.Fatal(err)
				}
				s = open(tb)
				return latest
			},
			FillUp: func(testing.TB) func() {
				// What was allocated ahead is given back first: it can be used up.
				if err := s.care.log.Roll(); err != nil {
					t.Fatal(err)
				}
				d.SetCapacity(d.Used())
				fillDisk(t, s)
				return func() { d.SetCapacity(0) }
			},
		}
	})
}

// fillDisk pushes to another queue until the store says that it is full.
func fillDisk(t *testing.T, s *Store) {
	t.Helper()
	for n := 1; ; n++ {
		m := message(n)
		m.Body = make([]byte, 512)
		_, err := s.Push(t.Context(), store.Partition{Queue: "filling"}, store.PushRequest{Producer: "p", Number: uint64(n), Messages: []store.Message{m}})
		if err != nil {
			return
		}
	}
}
