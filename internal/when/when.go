// Package when parses spans and instants of flags and of files to import. Its errors do not have
// the text: the caller adds it, with its position.
package when

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Errors of Span, Instant and Range. All mean that the text is invalid.
var (
	errSpan     = errors.New("want a duration such as 30s, 1h30m or 2d")
	errNegative = errors.New("is negative, want 0 or more")
	errInstant  = errors.New("want a time in RFC 3339 between the years 1970 and 9999, such as 2030-01-31T18:00:00Z")
	errRange    = errors.New("want FROM..TO, each a time in RFC 3339 or a duration before or after now, such as -2h..30m; one of the two may be missing")
)

// Day is the value of "d" in a span: 24 hours, also on days with a change of the clock.
const Day = 24 * time.Hour

// Span parses a Go duration of 0 or more that may begin with days: "90s", "1h30m", "2d", "1.5d",
// "1d12h".
func Span(text string) (time.Duration, error) {
	if strings.HasPrefix(text, "-") {
		return 0, errNegative
	}
	days, rest, err := cutDays(text)
	if err != nil || rest == "" {
		return days, err
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-days {
		return 0, errSpan
	}
	return days + d, nil
}

// cutDays parses the days at the start of text, if there are any. It returns an error for an
// empty text, so that an empty rest means that the whole text was parsed.
func cutDays(text string) (time.Duration, string, error) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		if text == "" {
			return 0, "", errSpan
		}
		return 0, text, nil
	}
	if strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "-") || strings.Trim(number, "0123456789.") != "" {
		return 0, "", errSpan
	}
	days, err := strconv.ParseFloat(number, 64)
	if err != nil || days > float64(math.MaxInt64/Day) {
		return 0, "", errSpan
	}
	return time.Duration(days * float64(Day)), rest, nil
}

// Range parses two instants with ".." between them. Each is an instant in RFC 3339, a span from
// now or, with a minus, a span before now. One may be missing and is then the zero time.
func Range(text string, now time.Time) (from, to time.Time, err error) {
	first, last, ok := strings.Cut(text, "..")
	if !ok || first == "" && last == "" {
		return from, to, errRange
	}
	if from, err = bound(first, now); err == nil {
		to, err = bound(last, now)
	}
	if err != nil {
		return time.Time{}, time.Time{}, errRange
	}
	return from, to, nil
}

func bound(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	span, past := strings.CutPrefix(text, "-")
	d, err := Span(span)
	switch {
	case err != nil:
		return Instant(text)
	case past:
		return now.Add(-d), nil
	}
	return now.Add(d), nil
}

// Instant parses an instant in RFC 3339, from the year 1970 to 9999.
func Instant(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Unix() < 0 {
		return time.Time{}, errInstant
	}
	return t, nil
}
