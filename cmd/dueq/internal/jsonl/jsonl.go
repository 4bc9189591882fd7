// Package jsonl reads messages from JSON lines: one object a line, with the fields key,
// due or delay, body, headers, repeat. It reads strictly, since a misspelt field would send a
// message at the wrong time, and in bounded memory.
package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dueq-dev/dueq"
)

// MaxLine is the longest line that is read, in bytes without the line end.
const MaxLine = 8 << 20

// Message is one line.
type Message struct {
	Line    int // its number, from 1
	Key     string
	Due     time.Time // the zero time when the line has no due
	Delay   time.Duration
	Body    []byte // the text of a JSON string; any other JSON value in its compact form
	Headers map[string]string
	Repeat  dueq.Repeat
}

// LineError is the error of one line.
type LineError struct {
	Line int
	Err  error
}

// Error returns `line 17: delay "-3s": is negative, want 0 or more`.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns e.Err.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads messages one by one. It is not safe for concurrent use.
type Reader struct {
	in    *bufio.Reader
	line  []byte
	count int
	bytes int64
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, 1<<20)} }

// Bytes returns how much of the input has been read.
func (r *Reader) Bytes() int64 { return r.bytes }

// More reports whether some input is at hand, so that Next need not wait for it.
func (r *Reader) More() bool { return r.in.Buffered() > 0 }

// Next returns the message of the next line that is not blank, and io.EOF after the last. After a
// *LineError it can be called again and continues with the next line; any other error means that
// the input cannot be read further.
func (r *Reader) Next() (Message, error) {
	for {
		tooLong, err := r.readLine()
		if err != nil {
			return Message{}, err
		}
		if tooLong {
			return Message{}, &LineError{r.count, fmt.Errorf("is longer than the limit of %d bytes", MaxLine)}
		}
		if len(bytes.TrimSpace(r.line)) == 0 {
			continue
		}
		m, err := decode(r.line)
		if err != nil {
			return Message{}, &LineError{r.count, err}
		}
		m.Line = r.count
		return m, nil
	}
}

// readLine reads a line into r.line. It keeps nothing of a line that is too long.
func (r *Reader) readLine() (tooLong bool, err error) {
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.bytes += int64(len(part))
		part, _ = bytes.CutSuffix(part, []byte("\n"))
		if tooLong = tooLong || len(r.line)+len(part) > MaxLine; tooLong {
			r.line = r.line[:0]
		} else {
			r.line = append(r.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(r.line) > 0 || tooLong):
			err = nil // the last line has no line end
		}
		if err == nil {
			r.count++
		}
		return tooLong, err
	}
}
