package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Invalid returns an *Error with ErrInvalid for a field, with a text that says what is wrong with
// it. It is for what has no value to name: one of the functions below sets Value and Limit, too.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Field: field, Err: fmt.Errorf(format+": %w", append(args, ErrInvalid)...)}
}

// Outside is Invalid for a value that is not in a range; limit and args say which, as "1 to %d".
func Outside(field string, value any, limit string, args ...any) *Error {
	given, limit := fmt.Sprint(value), fmt.Sprintf(limit, args...)
	return Invalid(field, "%s is outside %s", given, limit).naming(given, limit)
}

// Over is Invalid for a number of something, such as "bytes", that is above a limit.
func Over(field, unit string, n, limit int) *Error { return over(field, unit, n, limit, ErrInvalid) }

func tooLarge(field string, n, limit int) *Error { return over(field, "bytes", n, limit, ErrTooLarge) }

func over(field, unit string, n, limit int, kind error) *Error {
	e := &Error{Field: field, Err: fmt.Errorf("%d %s, the limit is %d: %w", n, unit, limit, kind)}
	return e.naming(fmt.Sprintf("%d %s", n, unit), fmt.Sprintf("%d %s", limit, unit))
}

// TooLarge is Over with ErrTooLarge, for a body that has more than limit bytes.
func TooLarge(n, limit int) *Error { return tooLarge("body", n, limit) }

// Negative is Invalid for a value below 0.
func Negative(field string, value any) *Error {
	given := fmt.Sprint(value)
	return Invalid(field, "%s is negative", given).naming(given, "0 or more")
}

// NoneOf is Invalid for a text that is none of those that are allowed, such as "asc, desc".
func NoneOf(field, value, allowed string) *Error {
	return Invalid(field, "%s is none of %s", quote(value), allowed).naming(value, allowed)
}

// Unfit is Invalid for a text with which something is wrong that format and args say, such as "is
// not a cursor". The text of the error begins with the value.
func Unfit(field, value, format string, args ...any) *Error {
	return Invalid(field, "%s"+format, append([]any{quote(value)}, args...)...).naming(value, "")
}

// maxValue is how many bytes of a value an Error has.
const maxValue = 64

// naming sets the value and the limit.
func (e *Error) naming(value, limit string) *Error {
	if len(value) > maxValue {
		value = value[:maxValue]
		for !utf8.ValidString(value) && len(value) > maxValue-utf8.UTFMax {
			value = value[:len(value)-1]
		}
	}
	e.Value, e.Limit = strings.ToValidUTF8(value, "\ufffd"), limit
	return e
}

// quote returns s escaped for terminals and logs, cut to maxValue bytes.
func quote(s string) string {
	if len(s) > maxValue {
		return fmt.Sprintf("%+q...", s[:maxValue])
	}
	return fmt.Sprintf("%+q", s)
}
