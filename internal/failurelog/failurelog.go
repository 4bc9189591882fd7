// Package failurelog holds the failure texts of a message's last deliveries in one text, in the
// form in which both stores keep them.
//
// A log has "AT ATTEMPT SIZE TEXT" of each delivery, one behind the other, the newest first: when it
// ended, in unix ms, its number, the bytes of the text, and the text. The newest text is whole, the
// others are cut. The scripts of the Redis store write the same form.
package failurelog

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dueq-dev/dueq/store"
)

// MaxHead is the maximum number of bytes that a delivery takes besides its text.
const MaxHead = len("253402300799999 2147483647 1024 ")

// With returns a log with one more delivery, its newest.
func With(log string, f store.Failure) string {
	var b strings.Builder
	b.Grow(MaxHead + len(f.Text) + len(log))
	write(&b, f, len(f.Text))
	for range store.MaxRecentFailures - 1 {
		older, rest, ok := next(log)
		if !ok {
			break
		}
		write(&b, older, store.MaxOlderFailure)
		log = rest
	}
	return strings.Clone(b.String()) // without the room for what was cut
}

// Alone returns a log without all deliveries but the newest.
func Alone(log string) string {
	newest, alone := Newest(log)
	if alone {
		return log
	}
	return With("", newest)
}

// Of returns the log of a message that is restored. Of a last failure alone it is not known when it was,
// or of which delivery.
func Of(r *store.Record) string {
	if len(r.RecentFailures) == 0 && r.LastFailure != "" {
		return With("", store.Failure{Text: r.LastFailure})
	}
	var b strings.Builder
	for i, f := range r.RecentFailures {
		size := store.MaxOlderFailure
		if i == 0 {
			size = len(f.Text)
		}
		write(&b, f, size)
	}
	return b.String()
}

// Parse returns the failures of a log, the newest first. Of a text that is no log it returns those before
// the first thing that cannot be read, and false.
func Parse(log string) (failures []store.Failure, ok bool) {
	for log != "" {
		f, rest, ok := next(log)
		if !ok {
			return failures, false
		}
		failures, log = append(failures, f), rest
	}
	return failures, true
}

// Newest returns the newest delivery of a log, and whether it is the only one. The zero Failure: there is
// none.
func Newest(log string) (newest store.Failure, alone bool) {
	newest, rest, _ := next(log)
	return newest, rest == ""
}

// write adds a delivery with a text of at most size bytes, and no part of a character.
func write(b *strings.Builder, f store.Failure, size int) {
	text := f.Text
	if len(text) > size {
		for size > 0 && !utf8.RuneStart(text[size]) {
			size--
		}
		text = text[:size]
	}
	var head [MaxHead]byte
	h := strconv.AppendInt(head[:0], f.At, 10)
	h = strconv.AppendInt(append(h, ' '), int64(f.Attempt), 10)
	h = strconv.AppendInt(append(h, ' '), int64(len(text)), 10)
	b.Write(append(h, ' '))
	b.WriteString(text)
}

// next returns the first delivery of a log, and what is behind it.
func next(log string) (f store.Failure, rest string, ok bool) {
	at, rest, _ := strings.Cut(log, " ")
	attempt, rest, _ := strings.Cut(rest, " ")
	length, rest, found := strings.Cut(rest, " ")
	size, err := strconv.Atoi(length)
	if !found || err != nil || size < 0 || size > len(rest) {
		return store.Failure{}, "", false
	}
	if f.At, err = strconv.ParseInt(at, 10, 64); err != nil {
		return store.Failure{}, "", false
	}
	if f.Attempt, err = strconv.Atoi(attempt); err != nil {
		return store.Failure{}, "", false
	}
	f.Text = rest[:size]
	return f, rest[size:], true
}
