package report

import (
	"math"
	"strconv"
	"strings"
)

// number formats a value with three significant digits and commas between thousands.
func number(x float64) string {
	switch a := math.Abs(x); {
	case a == 0 || math.IsNaN(x) || math.IsInf(x, 0):
		return "0"
	case a < 1000:
		digits := 2 - int(math.Floor(math.Log10(a)))
		text := strconv.FormatFloat(x, 'f', min(max(digits, 0), 2), 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	default:
		unit := math.Pow(10, math.Floor(math.Log10(a))-2)
		return thousands(math.Round(x/unit) * unit)
	}
}

// count formats a whole number with all its digits.
func count(x float64) string { return thousands(math.Round(x)) }

func thousands(x float64) string {
	text := strconv.FormatFloat(x, 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}
