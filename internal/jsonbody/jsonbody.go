// Package jsonbody is how bodies of messages are shown in JSON: as text where they are text, else in
// base 64.
package jsonbody

import (
	"encoding/base64"
	"unicode/utf8"
)

// Encode returns a body as text if it is valid UTF-8, else in base 64. The other one is nil.
func Encode(body []byte) (text, inBase64 *string) {
	s := string(body)
	if utf8.ValidString(s) {
		return &s, nil
	}
	s = base64.StdEncoding.EncodeToString(body)
	return nil, &s
}

// WholeRunes removes an incomplete character at the end of a body that was cut, so that text
// stays valid text.
func WholeRunes(body []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(body); n++ {
		last := body[len(body)-n:]
		if utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return body[:len(body)-n]
			}
			return body
		}
	}
	return body
}
