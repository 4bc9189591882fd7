package embedded_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store/embedded"
	"github.com/dueq-dev/dueq/store/storetest"
)

// handClock is a clock that only the test moves.
type handClock struct{ micros atomic.Int64 }

func (c *handClock) now() time.Time { return time.UnixMicro(c.micros.Load()) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		clock := &handClock{}
		clock.micros.Store(time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC).UnixMicro())
		s := embedded.NewMemory(embedded.Config{Now: clock.now})
		t.Cleanup(func() { _ = s.Close() })
		return storetest.Harness{
			Store: s,
			Now:   clock.now,
			Advance: func(d time.Duration) {
				clock.micros.Add(d.Microseconds())
				s.ClockMoved()
			},
			ModelSteps: 100,
		}
	})
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	s := embedded.NewMemory(embedded.Config{})
	t.Cleanup(func() { _ = s.Close() })
	storetest.Concurrent(t, storetest.Harness{Store: s})
}
