package idle_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq/internal/idle"
)

const period = time.Minute

func size(m *idle.Map[string, *int]) (n int) {
	m.All(func(string, *int) { n++ })
	return n
}

func makeInt(string) *int { return new(int) }

func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // takes no time in a bubble
	synctest.Wait()
}

func TestMap_DropsWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := new(int)
		m := idle.NewMap[string](period, func(v *int) bool { return v == kept })
		defer m.Stop()
		m.Get("kept", func(string) *int { return kept })
		used, unused := m.Get("used", makeInt), m.Get("unused", makeInt)
		for range 5 {
			pass(period)
			if m.Get("used", makeInt) != used {
				t.Fatal("a value in use was dropped")
			}
		}
		if n := size(m); n != 2 {
			t.Fatalf("%d values, want 2", n)
		}
		if m.Get("unused", makeInt) == unused {
			t.Error("a value was kept that was never used")
		}
		if m.Get("kept", makeInt) != kept {
			t.Error("a value was dropped that was to be kept")
		}
		m.Drop(func(key string) bool { return strings.HasSuffix(key, "used") })
		if n := size(m); n != 1 {
			t.Errorf("%d values after the drop, want 1", n)
		}
	})
}

func TestMap_DropTakesUsedAndUnusedButNotTheKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := new(int)
		m := idle.NewMap[string](period, func(v *int) bool { return v == kept })
		defer m.Stop()
		m.Get("kept", func(string) *int { return kept })
		m.Get("old", makeInt)
		pass(period)
		m.Get("young", makeInt)
		m.Get("other", makeInt)
		m.Drop(func(key string) bool { return key != "other" })
		var left []string
		m.All(func(key string, _ *int) { left = append(left, key) })
		slices.Sort(left)
		if want := []string{"kept", "other"}; !slices.Equal(left, want) {
			t.Errorf("%q are left, want %q", left, want)
		}
	})
}

func TestTicker_StopEndsTheTickThatIsToCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ticks := 0
		ticker := idle.NewTicker(period, func() int { ticks++; return 1 })
		ticker.Start()
		pass(period)
		ticker.Stop()
		pass(10 * period)
		if ticks != 1 {
			t.Errorf("%d ticks, want the one before Stop", ticks)
		}
	})
}

func TestTicker_RestsWhenNothingRemains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ticks := 0
		ticker := idle.NewTicker(period, func() int { ticks++; return 2 - ticks })
		ticker.Start()
		ticker.Start()
		pass(10 * period)
		if ticks != 2 {
			t.Errorf("%d ticks, want 2: the second found nothing left", ticks)
		}
		ticker.Stop()
		ticker.Start()
		pass(10 * period)
		if ticks != 2 {
			t.Errorf("%d ticks after Stop, want 2", ticks)
		}
	})
}
