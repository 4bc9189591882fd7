// Package measure has what every benchmark of this repository computes with: statistics,
// what this process has used, and the loops that spread work. `dueq bench`, the module
// bench/ and the benchmarks beside tests use it, so that a figure means the same in each.
package measure

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Stat is a value over several rounds.
type Stat struct {
	Median, Min, Max float64
	Rounds           int // 0: there is no value
}

// Summarize returns the Stat of the values of all rounds. With an even number of rounds the
// median is the mean of the two in the middle. If one of the values is not known (NaN),
// neither are the results; without values, the Stat is the zero value.
func Summarize[F ~float64](values []F) Stat {
	n := len(values)
	if n == 0 {
		return Stat{}
	}
	sorted := slices.Sorted(slices.Values(values)) // NaN is first
	if unknown := float64(sorted[0]); math.IsNaN(unknown) {
		return Stat{Median: unknown, Min: unknown, Max: unknown, Rounds: n}
	}
	return Stat{
		Median: float64(sorted[(n-1)/2]+sorted[n/2]) / 2,
		Min:    float64(sorted[0]), Max: float64(sorted[n-1]), Rounds: n,
	}
}

// Quantile returns the smallest of sorted values that a share q of them does not exceed:
// the nearest rank. Of no values it is the zero value.
func Quantile[T any](sorted []T, q float64) T {
	if len(sorted) == 0 {
		var none T
		return none
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// Spread is how durations are spread, in milliseconds.
type Spread struct {
	Min, P50, P99, P999, Max float64
}

// SpreadOf sorts durations and returns their Spread, the zero value if there are none.
func SpreadOf(all []time.Duration) Spread {
	slices.Sort(all)
	at := func(q float64) float64 { return Milliseconds(Quantile(all, q)) }
	return Spread{Min: at(0), P50: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1)}
}

// String has what people look at first.
func (s Spread) String() string {
	return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, max %.2f ms", s.P50, s.P99, s.Max)
}

// Milliseconds returns a duration in milliseconds, with what is below them.
func Milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
