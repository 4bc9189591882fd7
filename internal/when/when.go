// Package when parses spans, instants and rates of flags and of files to import. Its errors do not have
// the text: the caller adds it, with its position.
package when

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Errors of Span, Instant, Range and Rate. All mean that the text is invalid.
var (
	errSpan     = errors.New("want a duration such as 30s, 1h30m, 2d or 1w")
	errNegative = errors.New("is negative, want 0 or more")
	errInstant  = errors.New("want a time in RFC 3339 between the years 1970 and 9999, such as 2030-01-31T18:00:00Z")
	errRate     = errors.New("want requests per second, minute or hour, such as 20/s, 90/m, 100/h")
	errRange    = errors.New("want FROM..TO, each a time in RFC 3339 or a duration before or after now, such as -2h..30m; one of the two may be missing")
)

// Day is the value of "d" in a span: 24 hours, also on days with a change of the clock.
const Day = 24 * time.Hour

// Week is the value of "w" in a span.
const Week = 7 * Day

// Span parses a Go duration of 0 or more that may begin with weeks and days: "90s", "1h30m", "2d",
// "1.5d", "1d12h", "1w", "1w2d".
func Span(text string) (time.Duration, error) {
	if strings.HasPrefix(text, "-") {
		return 0, errNegative
	}
	if text == "" {
		return 0, errSpan
	}
	weeks, rest, err := cut(text, "w", Week)
	if err != nil || rest == "" {
		return weeks, err
	}
	days, rest, err := cut(rest, "d", Day)
	if err != nil || days > math.MaxInt64-weeks || rest == "" {
		return sum(weeks, days, err)
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-weeks-days {
		return 0, errSpan
	}
	return weeks + days + d, nil
}

// sum returns the sum of two spans, unless it is too large or there is an error.
func sum(a, b time.Duration, err error) (time.Duration, error) {
	if err != nil || b > math.MaxInt64-a {
		return 0, errSpan
	}
	return a + b, nil
}

// cut parses the number of a unit at the start of text, if there is one.
func cut(text, unit string, value time.Duration) (span time.Duration, rest string, err error) {
	number, rest, found := strings.Cut(text, unit)
	if !found {
		return 0, text, nil
	}
	if strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "-") || strings.Trim(number, "0123456789.") != "" {
		return 0, "", errSpan
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n > float64(math.MaxInt64/value) {
		return 0, "", errSpan
	}
	return time.Duration(n * float64(value)), rest, nil
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

// Rate parses a number of requests per second, minute or hour, such as "90/m", and returns the
// requests per second.
func Rate(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 32)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[strings.TrimSpace(unit)]
	if err != nil || n == 0 || per == 0 {
		return 0, errRate
	}
	return float64(n) / per.Seconds(), nil
}
