package dueqhttp

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/when"
)

// span parses a span such as "90s" or "2d"; "" is 0.
func span(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := when.Span(text)
	if err != nil {
		return 0, unfit(field, text, ": %w", err)
	}
	return d, nil
}

// instant parses an instant in RFC 3339; "" is the zero time.
func instant(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := when.Instant(text)
	if err != nil {
		return t, unfit(field, text, ": %w", err)
	}
	return t, nil
}

// schedule parses a new due time.
func schedule(delay, due string) (s dueq.Schedule, err error) {
	if delay != "" && due != "" {
		return s, invalid("due", "is given together with a delay, want one of them")
	}
	if s.Delay, err = span("delay", delay); err == nil {
		s.Due, err = instant("due", due)
	}
	return s, err
}

// timestamp formats an instant as all answers have it: UTC, to the millisecond. The zero time is
// "".
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// parseQuery parses the parameters of a request.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("", "the query cannot be read")
	}
	return values, nil
}

// allowed returns an error for a parameter that is not among names, or is given twice. A name
// that ends with "..." may be given several times.
func allowed(name string, given, names []string) error {
	switch {
	case slices.Contains(names, name+"..."):
		return nil
	case !slices.Contains(names, name):
		return invalid(cutText(name), "is not a parameter of this request")
	case len(given) > 1:
		return invalid(name, "is given twice")
	}
	return nil
}

// number parses a number of a query; "" is 0.
func number(field, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || strings.HasPrefix(text, "+") {
		return 0, unfit(field, text, " is not a whole number in range")
	}
	return n, nil
}

// yes parses a parameter that is true or false; "" is false.
func yes(field, text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, unfit(field, text, ": want true or false")
}
