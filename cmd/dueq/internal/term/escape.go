// Package term writes to terminals: escaped text, tables, and lines that are redrawn in place.
package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns s with control characters, line breaks and marks that reorder text written as
// \n, \x1b or \u202e. Printable characters stay, including the backslash.
func Escape(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		writeRune(&b, s[i:i+size], r)
		i += size
	}
	return b.String()
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func writeRune(b *strings.Builder, text string, r rune) {
	switch {
	case r == utf8.RuneError && len(text) == 1:
		fmt.Fprintf(b, `\x%02x`, text[0])
	case unicode.IsPrint(r):
		b.WriteString(text)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\r':
		b.WriteString(`\r`)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// Cut returns s in at most width characters; if s is longer, the last one is "…".
func Cut(s string, width int) string {
	count := 0
	for i := range s {
		if count++; count == width && utf8.RuneCountInString(s[i:]) > 1 {
			return s[:i] + "…"
		}
	}
	return s
}
