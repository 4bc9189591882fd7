// Package transfer moves queues from one store to another: Export writes them as lines of JSON,
// Import makes them again with the same ids, states, times and attempts. docs/EXPORT.md describes
// the lines.
package transfer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/dueq-dev/dueq/store"
)

// version is that of the format, in the first line.
const version = 1

// Magic is how the first line of an export begins.
const Magic = `{"dueq_export":`

// maxLine is the maximum length of a line: a body takes at most twice its size as text, see
// newMessage.
const maxLine = 4 * store.MaxBody

// line is one line: the header, a queue, a message of the queue before it, or the end.
type line struct {
	Export   int             `json:"dueq_export,omitzero"` // the header: version
	Queue    string          `json:"queue,omitzero"`       // a queue
	Settings *store.Settings `json:"settings,omitzero"`    // its settings, without those that a store sets
	message                  // a message
	End      *end            `json:"end,omitzero"`
}

// end is the last line. SHA256 is that of all lines before it; a file that was changed by hand
// can leave it out.
type end struct {
	Queues   int    `json:"queues"`
	Messages int    `json:"messages"`
	SHA256   string `json:"sha256,omitempty"`
}

// message is a store.Record. Instants are unix milliseconds, spans are milliseconds.
type message struct {
	ID          store.ID          `json:"id,omitzero"`
	State       store.State       `json:"state,omitzero"`
	At          int64             `json:"at,omitzero"`
	Key         string            `json:"key,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	Body        *string           `json:"body,omitzero"`
	BodyBase64  *string           `json:"body_base64,omitzero"`
	BodySize    int               `json:"body_size,omitzero"` // of a done message whose body is not kept
	MaxAttempts int               `json:"max_attempts,omitzero"`
	Expiry      int64             `json:"expiry,omitzero"`
	Attempt     int               `json:"attempt,omitzero"`
	Earlier     int               `json:"earlier,omitzero"`
	Failures    int               `json:"failures,omitzero"`
	Snoozes     int               `json:"snoozes,omitzero"`
	LastFailure string            `json:"last_failure,omitzero"`
	Recent      []store.Failure   `json:"recent_failures,omitzero"`
	Ending      store.Ending      `json:"ending,omitzero"`
	Repeat      string            `json:"repeat,omitzero"`
	Letter      bool              `json:"letter,omitzero"`
	Suspicion   store.Suspicion   `json:"suspicion,omitzero"`
	DedupID     store.DedupID     `json:"dedup_id,omitzero"`
	Remember    int64             `json:"remember,omitzero"`
}

func newMessage(r *store.Record) message {
	m := message{
		ID: r.ID, State: r.State, At: r.At, Key: r.Key, Headers: r.Headers, MaxAttempts: r.MaxAttempts, Expiry: r.Expiry,
		Attempt: r.Attempt, Earlier: r.Earlier, Failures: r.Failures, Snoozes: r.Snoozes, LastFailure: r.LastFailure, Recent: r.RecentFailures,
		Ending: r.Ending, Repeat: r.Repeat, Letter: r.Letter, Suspicion: r.Suspicion, DedupID: r.DedupID, Remember: r.Remember,
	}
	if r.BodySize > len(r.Body) {
		m.BodySize = r.BodySize
	}
	text := string(r.Body)
	if !readable(r.Body) {
		text = base64.StdEncoding.EncodeToString(r.Body)
		m.BodyBase64 = &text
		return m
	}
	m.Body = &text
	return m
}

// readable reports whether a body is shown as text: it is UTF-8 without control characters but
// those of white space, of which each would take six bytes.
func readable(body []byte) bool {
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }
	return utf8.Valid(body) && bytes.IndexFunc(body, control) < 0
}

func (m *message) record() (store.Record, error) {
	r := store.Record{
		ID: m.ID, State: m.State, At: m.At, Key: m.Key, Headers: m.Headers, MaxAttempts: m.MaxAttempts, Expiry: m.Expiry,
		Attempt: m.Attempt, Earlier: m.Earlier, Failures: m.Failures, Snoozes: m.Snoozes, LastFailure: m.LastFailure, RecentFailures: m.Recent,
		Ending: m.Ending, Repeat: m.Repeat, Letter: m.Letter, Suspicion: m.Suspicion, DedupID: m.DedupID, Remember: m.Remember,
	}
	switch {
	case (m.Body == nil) == (m.BodyBase64 == nil):
		return r, store.Invalid("body", "want one of body and body_base64")
	case m.Body != nil:
		r.Body = []byte(*m.Body)
	default:
		var err error
		if r.Body, err = base64.StdEncoding.Strict().DecodeString(*m.BodyBase64); err != nil {
			return r, store.Invalid("body_base64", "%.64q is not base 64", *m.BodyBase64)
		}
	}
	r.BodySize = max(m.BodySize, len(r.Body))
	return r, r.ValidateRestored()
}

// encode returns a line with its line feed.
func encode(l line) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(l)
	return b.Bytes(), err
}

// decode reads a line. It refuses fields that it does not know, because a newer version may have
// written them.
func decode(text []byte) (line, error) {
	var l line
	if !utf8.Valid(text) {
		return l, errors.New("is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, decodeError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("has something behind the JSON object")
	}
	return l, nil
}

func decodeError(err error) error {
	var kind *json.UnmarshalTypeError
	var known *store.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &kind):
		return fmt.Errorf("%s: want a %s, found a %s", kind.Field, kind.Type, kind.Value)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("is not JSON: ends in the middle of a value")
	}
	return fmt.Errorf("is not a line of an export: %w", err)
}

// LineError is the error of one line of the file.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// reader reads lines and counts them.
type reader struct {
	in *bufio.Reader
	n  int
}

func newReader(in io.Reader) *reader { return &reader{in: bufio.NewReaderSize(in, 64<<10)} }

// next returns the bytes of the next line without its line feed, io.EOF behind the last one.
func (r *reader) next() ([]byte, error) {
	var whole []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(whole) == 0 {
			r.n++
		}
		whole = append(whole, part...)
		switch {
		case len(whole) > maxLine:
			return nil, &LineError{r.n, fmt.Errorf("has more than %d bytes", maxLine)}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(whole) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, &LineError{r.n, errors.New("ends without a line feed: the file was cut short")}
		case err != nil:
			return nil, fmt.Errorf("read the file: %w", err)
		}
		return whole[:len(whole)-1], nil
	}
}

// decoded returns the next line.
func (r *reader) decoded() (line, []byte, error) {
	text, err := r.next()
	if err != nil {
		return line{}, nil, err
	}
	l, err := decode(text)
	if err != nil {
		return line{}, nil, &LineError{r.n, err}
	}
	return l, text, nil
}
