// Package failuregroup finds texts of failures that differ only in numbers and ids.
package failuregroup

import "strings"

// Mark takes the place of what differs between the texts of a group.
const Mark = "#"

// Of returns the text of a group: the text of a failure with a [Mark] for each number, UUID and
// hexadecimal id. Numbers that can be the status of an HTTP answer (of three digits, at the begin
// or after a word such as status or HTTP) stay, because they are what failures differ in.
func Of(failure string) string {
	var b strings.Builder
	before := "" // the last word that is no number
	for at := 0; at < len(failure); {
		if !alphanumeric(failure[at]) {
			b.WriteByte(failure[at])
			at++
			continue
		}
		word := wordAt(failure[at:])
		if n := uuidAt(failure[at:]); n > 0 {
			b.WriteString(Mark)
			at += n
			continue
		}
		if isStatus(word, before) {
			b.WriteString(word)
		} else {
			b.WriteString(marked(word))
		}
		if !all(word, digit) { // else it may be a part of a version: HTTP/1.1 503
			before = word
		}
		at += len(word)
	}
	return b.String()
}

func alphanumeric(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool        { return c >= '0' && c <= '9' }
func hex(c byte) bool          { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// wordAt returns the letters and digits with which a text begins.
func wordAt(text string) string {
	end := 0
	for end < len(text) && alphanumeric(text[end]) {
		end++
	}
	return text[:end]
}

// uuidAt returns the length of the UUID with which a text begins, 0 if it begins with none.
func uuidAt(text string) int {
	at := 0
	for i, length := range []int{8, 4, 4, 4, 12} {
		if i > 0 {
			if at >= len(text) || text[at] != '-' {
				return 0
			}
			at++
		}
		word := wordAt(text[at:])
		if len(word) != length || !all(word, hex) {
			return 0
		}
		at += length
	}
	return at
}

func all(word string, is func(byte) bool) bool {
	for i := range len(word) {
		if !is(word[i]) {
			return false
		}
	}
	return true
}

// isStatus reports whether a word is the status of an HTTP answer.
func isStatus(word, before string) bool {
	if len(word) != 3 || !all(word, digit) || word[0] < '1' || word[0] > '5' {
		return false
	}
	switch strings.ToLower(before) {
	case "", "status", "code", "http", "error", "answered", "returned":
		return true
	}
	return false
}

// marked returns a word with marks: one for the whole if it is an id, otherwise one for each of its
// numbers.
func marked(word string) string {
	const shortestID = 6
	if len(word) >= shortestID && all(word, hex) && strings.ContainsAny(word, "0123456789") {
		return Mark
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(word), "0x"); ok && rest != "" && all(rest, hex) {
		return Mark
	}
	var b strings.Builder
	for i := range len(word) {
		switch {
		case !digit(word[i]):
			b.WriteByte(word[i])
		case i == 0 || !digit(word[i-1]):
			b.WriteString(Mark)
		}
	}
	return b.String()
}
