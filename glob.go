package dueq

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// globPattern compiles a pattern for keys or names of queues, as [Filter] has them; field
// is named when something is wrong with it.
func globPattern(field, glob string) (*regexp.Regexp, error) {
	if !utf8.ValidString(glob) {
		return nil, invalid(field, "the pattern %+.64q is not UTF-8", glob)
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := []rune(glob); len(rest) > 0; {
		text, size, problem := globPart(rest)
		if problem != "" {
			return nil, invalid(field, "the pattern %+.64q %s", glob, problem)
		}
		b.WriteString(text)
		rest = rest[size:]
	}
	b.WriteString(`\z`)
	compiled, err := regexp.Compile(b.String())
	if err != nil {
		return nil, invalid(field, "the pattern %+.64q cannot be used", glob)
	}
	return compiled, nil
}

// globPart returns the first part of a pattern as a regular expression, and its length.
func globPart(glob []rune) (text string, size int, problem string) {
	switch glob[0] {
	case '*':
		return `.*`, 1, ""
	case '?':
		return `.`, 1, ""
	case '[':
		return globSet(glob)
	}
	r, size := globRune(glob)
	if size == 0 {
		return "", 0, `ends with a \`
	}
	return regexp.QuoteMeta(string(r)), size, ""
}

// globSet returns a set such as [a-z_] as a regular expression.
func globSet(glob []rune) (text string, size int, problem string) {
	var b strings.Builder
	b.WriteString("[")
	at := 1
	if at < len(glob) && glob[at] == '^' {
		b.WriteString("^")
		at++
	}
	for first := true; at < len(glob) && (first || glob[at] != ']'); first = false {
		low, size := globRune(glob[at:])
		high := low
		at += size
		if at+1 < len(glob) && glob[at] == '-' && glob[at+1] != ']' {
			high, size = globRune(glob[at+1:])
			at += 1 + size
		}
		if size == 0 {
			return "", 0, `ends with a \`
		}
		if high < low {
			return "", 0, fmt.Sprintf("has the range %c-%c, which ends before it begins", low, high)
		}
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, low, high)
	}
	if at >= len(glob) {
		return "", 0, "has a [ without its ]"
	}
	b.WriteString("]")
	return b.String(), at + 1, ""
}

// globRune returns the first character of a pattern, taken literally, and how many of the
// pattern say it; 0 if it ends with a \.
func globRune(glob []rune) (r rune, size int) {
	if glob[0] != '\\' {
		return glob[0], 1
	}
	if len(glob) == 1 {
		return 0, 0
	}
	return glob[1], 2
}
