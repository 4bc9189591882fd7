package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/when"
)

// decode goes through the object token by token, because encoding/json takes
// KEY for key, keeps the last of two equal names and puts U+FFFD where bytes are broken.
func decode(line []byte) (Message, error) {
	if !utf8.Valid(line) {
		return Message{}, errors.New("is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if token, err := dec.Token(); err != nil {
		return Message{}, syntax(err)
	} else if token != json.Delim('{') {
		return Message{}, fmt.Errorf("want a JSON object, found %s", kind(bytes.TrimSpace(line)))
	}
	var m Message
	seen := make([]string, 0, 6) // there are six names; a seventh is unknown or given twice
	for dec.More() {
		name, err := member(dec, &m)
		if err != nil {
			return Message{}, err
		}
		if slices.Contains(seen, name) {
			return Message{}, fmt.Errorf("%s: is given twice", name)
		}
		seen = append(seen, name)
	}
	if _, err := dec.Token(); err != nil {
		return Message{}, syntax(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Message{}, errors.New("has something behind the JSON object")
	}
	return m, whole(seen)
}

// whole checks the conditions that concern several fields.
func whole(seen []string) error {
	if !slices.Contains(seen, "body") {
		return errors.New("body: is missing")
	}
	if slices.Contains(seen, "due") && slices.Contains(seen, "delay") {
		return errors.New("due: is given together with a delay, want one of them")
	}
	return nil
}

// member reads one name and its value into m.
func member(dec *json.Decoder, m *Message) (name string, err error) {
	token, err := dec.Token()
	if err != nil {
		return "", syntax(err)
	}
	name, _ = token.(string) // a name is always a string
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return "", syntax(err)
	}
	return name, m.set(name, value)
}

func (m *Message) set(name string, value json.RawMessage) error {
	switch name {
	case "key":
		return m.setKey(value)
	case "due":
		return text(name, value, func(s string) (err error) { m.Due, err = when.Instant(s); return err })
	case "delay":
		return text(name, value, func(s string) (err error) { m.Delay, err = when.Span(s); return err })
	case "body":
		return m.setBody(value)
	case "headers":
		return m.setHeaders(value)
	case "repeat":
		return m.setRepeat(value)
	}
	return fmt.Errorf("%s: unknown field, want key, due, delay, body, headers, repeat", short(name))
}

func (m *Message) setKey(value json.RawMessage) error {
	return text("key", value, func(s string) error {
		if s == "" {
			return errors.New("is empty")
		}
		m.Key = s
		return nil
	})
}

func (m *Message) setRepeat(value json.RawMessage) error {
	s, err := stringIn("repeat", value)
	if err == nil {
		m.Repeat, err = dueq.ParseRepeat(s) // whose errors name the field
	}
	return err
}

func (m *Message) setBody(value json.RawMessage) error {
	if kind(value) == "a string" {
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return syntax(err)
		}
		m.Body = []byte(s)
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return syntax(err)
	}
	m.Body = compact.Bytes()
	return nil
}

func (m *Message) setHeaders(value json.RawMessage) error {
	if kind(value) != "an object" {
		return wrongKind("headers", "an object of strings", value)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(value, &values); err != nil {
		return syntax(err)
	}
	m.Headers = make(map[string]string, len(values))
	for name, value := range values {
		if err := text("headers: "+short(name), value, func(s string) error { m.Headers[name] = s; return nil }); err != nil {
			return err
		}
	}
	return nil
}

// text calls use with the string in value, and names the string in the error of use.
func text(field string, value json.RawMessage, use func(string) error) error {
	s, err := stringIn(field, value)
	if err != nil {
		return err
	}
	if err := use(s); err != nil {
		return fmt.Errorf("%s: %s: %w", field, short(s), err)
	}
	return nil
}

// stringIn returns the string in value.
func stringIn(field string, value json.RawMessage) (s string, err error) {
	if kind(value) != "a string" {
		return "", wrongKind(field, "a string", value)
	}
	if err := json.Unmarshal(value, &s); err != nil {
		return "", syntax(err)
	}
	return s, nil
}

func wrongKind(field, want string, value json.RawMessage) error {
	return fmt.Errorf("%s: want %s, found %s", field, want, kind(value))
}

// kind returns the JSON type of a value, by its first byte.
func kind(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func syntax(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is not JSON: ends in the middle of a value")
	}
	return fmt.Errorf("is not JSON: %w", err)
}

// short returns a text quoted, escaped for terminals, and cut to a limited length.
func short(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%+q...", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}
