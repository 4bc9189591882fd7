package dueqhttp

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// content is the body of a message. The name of the member says what it is.
type content struct {
	Body       *string         `json:"body,omitempty"`        // text
	BodyBase64 *string         `json:"body_base64,omitempty"` // any bytes
	BodyJSON   json.RawMessage `json:"body_json,omitempty"`   // a JSON value; only in requests
}

// bytes returns the body; nil if there is none.
func (c *content) bytes() ([]byte, error) {
	given := 0
	for _, is := range [...]bool{c.Body != nil, c.BodyBase64 != nil, c.BodyJSON != nil} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, invalid("body", "%d of body, body_base64 and body_json are given, want one of them", given)
	case c.Body != nil:
		return []byte(*c.Body), nil
	case c.BodyBase64 != nil:
		b, err := base64.StdEncoding.Strict().DecodeString(*c.BodyBase64)
		if err != nil {
			return nil, invalid("body_base64", "is not base 64 with the characters + and / and with padding")
		}
		return b, nil
	}
	return c.BodyJSON, nil
}

// newContent returns a body in the form of an answer.
func newContent(body []byte) content {
	if utf8.Valid(body) {
		text := string(body)
		return content{Body: &text}
	}
	encoded := base64.StdEncoding.EncodeToString(body)
	return content{BodyBase64: &encoded}
}

// wholeRunes removes an incomplete character at the end of a body that was cut, so that text
// stays text.
func wholeRunes(body []byte) []byte {
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
