package dueqhttp

import (
	"encoding/base64"
	"encoding/json"

	"github.com/dueq-dev/dueq/internal/jsonbody"
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
	text, inBase64 := jsonbody.Encode(body)
	return content{Body: text, BodyBase64: inBase64}
}
