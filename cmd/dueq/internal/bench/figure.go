package bench

import (
	"math"
	"slices"
	"strconv"
)

// Figure is a measured number; NaN means that it is not known, null in JSON.
type Figure float64

// MarshalJSON keeps as many digits as mean something.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.known() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, rounded(float64(f)), 'f', -1, 64), nil
}

// String is for people: "" when it is not known.
func (f Figure) String() string {
	if !f.known() {
		return "-"
	}
	return strconv.FormatFloat(rounded(float64(f)), 'f', -1, 64)
}

func (f Figure) known() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// rounded returns v with 4 digits, but all those in front of the point.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, max(0, 3-math.Floor(math.Log10(math.Abs(v)))))
	return math.Round(v*unit) / unit
}

func unknown() Figure { return Figure(math.NaN()) }

// median of figures, unknown if one of them is.
func median(all []Figure) Figure {
	if len(all) == 0 || slices.ContainsFunc(all, func(f Figure) bool { return !f.known() }) {
		return unknown()
	}
	sorted := slices.Sorted(slices.Values(all))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// quantile of figures in ascending order: the smallest that a share q does not exceed.
func quantile(sorted []Figure, q float64) Figure {
	if len(sorted) == 0 {
		return unknown()
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
