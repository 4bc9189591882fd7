package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSummarize(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []float64
		want   Stat
	}{
		"odd":  {[]float64{5, 1, 3}, Stat{Median: 3, Min: 1, Max: 5, Rounds: 3}},
		"even": {[]float64{4, 1, 3, 2}, Stat{Median: 2.5, Min: 1, Max: 4, Rounds: 4}},
		"one":  {[]float64{7}, Stat{Median: 7, Min: 7, Max: 7, Rounds: 1}},
		"none": {nil, Stat{}},
	} {
		given := slices.Clone(test.values)
		if got := Summarize(test.values); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if !slices.Equal(given, test.values) {
			t.Errorf("%s: the values were changed to %v", name, test.values)
		}
	}
	if got := Summarize([]float64{1, math.NaN(), 3}); !math.IsNaN(got.Median) || !math.IsNaN(got.Min) || !math.IsNaN(got.Max) || got.Rounds != 3 {
		t.Errorf("with one that is not known: %+v", got)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	for _, n := range []int{200, 1000} {
		sorted := make([]int, n)
		for i := range sorted {
			sorted[i] = i + 1
		}
		for q, want := range map[float64]int{0: 1, 0.5: n / 2, 0.99: n * 99 / 100, 0.999: (n*999 + 999) / 1000, 1: n} {
			if got := Quantile(sorted, q); got != want {
				t.Errorf("quantile %v of 1 to %d is %d, want %d", q, n, got, want)
			}
		}
	}
	if got := Quantile([]int(nil), 0.5); got != 0 {
		t.Errorf("quantile of nothing is %d", got)
	}
}

func TestSpreadOf(t *testing.T) {
	t.Parallel()
	all := make([]time.Duration, 1000)
	for i := range all {
		all[i] = time.Duration(1000-i) * time.Millisecond
	}
	if got, want := SpreadOf(all), (Spread{Min: 1, P50: 500, P99: 990, P999: 999, Max: 1000}); got != want {
		t.Errorf("spread is %+v, want %+v", got, want)
	}
	if got, want := SpreadOf(all).String(), "p50 500.00 ms, p99 990.00 ms, max 1000.00 ms"; got != want {
		t.Errorf("spread is written %q, want %q", got, want)
	}
	if got := SpreadOf(nil); got != (Spread{}) {
		t.Errorf("spread of nothing is %+v", got)
	}
}

func TestShare_EachIsDoneOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ n, size, goroutines int }{{100, 7, 4}, {3, 1, 10}, {5, 100, 2}, {0, 1, 3}} {
		var mu sync.Mutex
		done := make([]int, test.n)
		err := Share(t.Context(), test.n, test.size, test.goroutines, func(_ context.Context, from, n int) error {
			mu.Lock()
			defer mu.Unlock()
			if n > test.size {
				t.Errorf("%d at a time, want %d at most", n, test.size)
			}
			for i := from; i < from+n; i++ {
				done[i]++
			}
			return nil
		})
		if err != nil || slices.ContainsFunc(done, func(times int) bool { return times != 1 }) {
			t.Errorf("%+v: %v, %v", test, done, err)
		}
	}
}

func TestShare_FailureStopsAll(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	var mu sync.Mutex
	calls := 0
	err := Share(t.Context(), 1_000_000, 1, 3, func(context.Context, int, int) error {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return failure
	})
	if !errors.Is(err, failure) || calls > 3 {
		t.Errorf("%d calls, %v: want one for each goroutine at most, and the failure", calls, err)
	}
}

func TestShare_EndOfContextInterruptsNoCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := Share(ctx, 10, 1, 1, func(call context.Context, _, _ int) error {
		calls++
		cancel()
		return call.Err()
	})
	if err != nil || calls != 1 {
		t.Errorf("%d calls, %v: want one, which succeeds", calls, err)
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	subjects := []string{"a", "b", "c"}
	for round, want := range []string{"0a1b2c", "1b2c0a", "2c0a1b", "0a1b2c"} {
		got := ""
		for i, s := range Rotate(round, subjects) {
			got += fmt.Sprint(i, s)
		}
		if got != want {
			t.Errorf("round %d has %s, want %s", round, got, want)
		}
	}
	for range Rotate(1, subjects) {
		break // an iterator that continued would panic
	}
}

func TestHeap_CountsWhatIsInUse(t *testing.T) { //nolint:paralleltest // it looks at the heap
	before := Heap()
	held := make([]byte, 8<<20)
	with := Heap()
	if grown := with - before; grown < int64(len(held))*9/10 { // the runtime may free something meanwhile
		t.Errorf("grew by %d bytes, want about %d", grown, len(held))
	}
	held[0] = 1
}

func TestCPU_Grows(t *testing.T) {
	t.Parallel()
	before, err := CPU()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("SKIPPED: the processor time of a process is not known on this system")
	}
	if err != nil {
		t.Fatal(err)
	}
	for x := 1.0; ; x = math.Sqrt(x + 1) {
		if now, err := CPU(); err != nil || now > before {
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}
