package dueqhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dueq-dev/dueq"
)

// maxDepth is how deep objects and arrays of a request may be nested.
const maxDepth = 32

// decode decodes a request. It refuses what encoding/json would accept and then change or drop:
// unknown and repeated names, names in another case, broken text, and a second value.
func decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		return invalid("", "the body is not valid UTF-8")
	}
	if !json.Valid(data) {
		return syntaxError(data)
	}
	if start := bytes.TrimLeft(data, " \t\r\n"); start[0] != '{' {
		return invalid("", "the body is not a JSON object")
	}
	if err := (&inspector{data: data}).inspect(); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return typeError(d.Decode(into))
}

// syntaxError returns why data is not JSON.
func syntaxError(data []byte) error {
	var value json.RawMessage
	err := json.Unmarshal(data, &value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return invalid("", "the body is not JSON: %s, at byte %d", syntax.Error(), syntax.Offset)
	}
	return invalid("", "the body is not JSON")
}

// typeError returns the error of a decoder with the name of the field.
func typeError(err error) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := strings.NewReplacer("content.", "", "message.", "").Replace(wrong.Field) // embedded structs
		want := jsonType(wrong.Type.Kind().String())
		return &dueq.Error{Field: field, Value: wrong.Value, Limit: want, Err: fmt.Errorf("want %s, found %s: %w", want, wrong.Value, dueq.ErrInvalid)}
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return unknownField(strings.Trim(name, `"`))
	}
	return invalid("", "the body cannot be read")
}

// jsonType returns the JSON type of a kind of Go type.
func jsonType(kind string) string {
	switch {
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "an array"
	case strings.HasPrefix(kind, "int"):
		return "a whole number in range"
	}
	return "an object"
}

func unknownField(name string) error { return invalid(cutText(name), "is not known") }

// cutText returns the beginning of a text, for errors.
func cutText(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// inspector goes through JSON that is known to be valid.
type inspector struct {
	data  []byte
	at    int
	stack []nested
	last  string // the last name or string value
}

// nested is an object or array that has begun.
type nested struct {
	object bool
	naming bool // the next string is a name
	free   bool // its names are the caller's own
	names  []string
	known  map[string]bool // of names, where they are many
}

// inspect checks names, depth and escapes.
func (i *inspector) inspect() error {
	for ; i.at < len(i.data); i.at++ {
		if err := i.step(i.data[i.at]); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspector) step(b byte) error {
	switch b {
	case '{', '[':
		return i.begin(b == '{')
	case '}', ']':
		i.stack = i.stack[:len(i.stack)-1]
	case ',':
		top := &i.stack[len(i.stack)-1]
		top.naming = top.object
	case ':':
		i.stack[len(i.stack)-1].naming = false
	case '"':
		return i.text()
	}
	return nil
}

func (i *inspector) begin(object bool) error {
	if len(i.stack) == maxDepth {
		return invalid("", "the body is nested more than %d deep", maxDepth)
	}
	free := false
	if n := len(i.stack); n > 0 {
		parent := &i.stack[n-1]
		free = parent.free || parent.object && ownNames(i.last)
	}
	i.stack = append(i.stack, nested{object: object, naming: object, free: free})
	return nil
}

// ownNames reports whether the names in a member's value are chosen by the caller.
func ownNames(member string) bool { return member == "headers" || member == "body_json" }

// text checks a string, and if it is a name, that it is allowed and new.
func (i *inspector) text() error {
	start := i.at
	escaped := false
	for i.at++; i.data[i.at] != '"'; i.at++ {
		if i.data[i.at] == '\\' {
			escaped = true
			i.at++
		}
	}
	raw := i.data[start : i.at+1]
	if escaped {
		if err := wholeSurrogates(raw); err != nil {
			return err
		}
	}
	top := &i.stack[len(i.stack)-1]
	if !top.object || !top.naming {
		return nil
	}
	name := string(raw[1 : len(raw)-1])
	if escaped {
		if err := json.Unmarshal(raw, &name); err != nil {
			return invalid("", "the body is not JSON: %w", err)
		}
	}
	i.last = name
	return top.add(name)
}

// manyNames is how many names an object may have before they are kept in a map.
const manyNames = 32

// add notes a name of the object.
func (n *nested) add(name string) error {
	if !n.free && (len(n.names) == manyNames || strings.ContainsFunc(name, notInNames)) {
		return unknownField(name)
	}
	if n.known[name] || n.known == nil && slices.Contains(n.names, name) {
		return invalid(cutText(name), "is given twice")
	}
	if n.known == nil && len(n.names) < manyNames {
		n.names = append(n.names, name)
		return nil
	}
	if n.known == nil {
		n.known = make(map[string]bool, 2*manyNames)
		for _, earlier := range n.names {
			n.known[earlier] = true
		}
	}
	n.known[name] = true
	return nil
}

func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
}

// wholeSurrogates returns an error if a string has an escaped half of a surrogate pair without
// the other half: encoding/json would put another character in its place.
func wholeSurrogates(raw []byte) error {
	const high, low, end = 0xd800, 0xdc00, 0xe000
	half := false // the last character is the first half of a pair
	for at := 1; at < len(raw)-1; at++ {
		unit := uint64(0)
		if raw[at] == '\\' {
			at++
			if raw[at] == 'u' {
				unit, _ = strconv.ParseUint(string(raw[at+1:at+5]), 16, 16) // valid JSON has four digits there
				at += 4
			}
		}
		if isLow := unit >= low && unit < end; half != isLow {
			return errSurrogate()
		}
		half = unit >= high && unit < low
	}
	if half {
		return errSurrogate()
	}
	return nil
}

func errSurrogate() error {
	return invalid("", "the body has an escape that is half of a surrogate pair")
}
