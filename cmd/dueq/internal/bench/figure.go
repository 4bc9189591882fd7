package bench

import (
	"math"
	"strconv"
)

// Figure is a measured number; NaN means that it is not known, null in JSON.
type Figure float64

// MarshalJSON keeps the significant digits.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.known() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, rounded(float64(f)), 'f', -1, 64), nil
}

// String returns the figure for tables, "" if it is not known.
func (f Figure) String() string {
	if !f.known() {
		return "-"
	}
	return strconv.FormatFloat(rounded(float64(f)), 'f', -1, 64)
}

func (f Figure) known() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// rounded returns v with 4 digits, or all those before the point if there are more.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, max(0, 3-math.Floor(math.Log10(math.Abs(v)))))
	return math.Round(v*unit) / unit
}

func unknown() Figure { return Figure(math.NaN()) }
