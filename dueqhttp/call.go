package dueqhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// call is one request.
type call struct {
	*server
	w     http.ResponseWriter
	r     *http.Request
	route route
	token *Token // nil: the server has no tokens
	in    *gate  // that counts the request; nil: none
}

// queue returns the queue that the path names, or an error for a bad name.
func (c *call) queue() (*dueq.Queue, error) {
	name := c.r.PathValue("queue")
	if err := store.ValidateQueue(name); err != nil {
		return nil, err
	}
	return c.client.Queue(name), nil
}

// ref returns the reference of the message that the path names.
func (c *call) ref() (dueq.Ref, error) { return dueq.ParseRef(c.r.PathValue("ref")) }

// named returns the queue and the message that the path names.
func (c *call) named() (*dueq.Queue, dueq.Ref, error) {
	q, err := c.queue()
	if err != nil {
		return nil, dueq.Ref{}, err
	}
	ref, err := c.ref()
	return q, ref, err
}

// read decodes the body of the request. A missing body is an empty object.
func (c *call) read(into any) error { return c.readUpTo(c.MaxRequest, into) }

// readUpTo is read for a body of up to limit bytes.
func (c *call) readUpTo(limit int64, into any) error {
	if err := c.onlyQuery(); err != nil {
		return err
	}
	if c.r.ContentLength > limit {
		return &http.MaxBytesError{Limit: limit}
	}
	data, err := c.readAll(limit)
	if err != nil || len(data) == 0 {
		return err
	}
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &statusError{http.StatusUnsupportedMediaType, "the body must be JSON, with the header Content-Type: application/json"}
	}
	if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &statusError{http.StatusUnsupportedMediaType, "the body must not be encoded"}
	}
	return decode(data, into)
}

// readAll reads the body, up to the limit.
func (c *call) readAll(limit int64) ([]byte, error) {
	var b bytes.Buffer
	if n := c.r.ContentLength; n > 0 {
		const most = 64 << 10 // a length is only a claim: what is more grows as it arrives
		b.Grow(int(min(n, most)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(c.w, c.r.Body, limit))
	// The server goes on reading, to notice that the caller hangs up.
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &statusError{http.StatusRequestTimeout, "the body did not arrive in time"}
	}
	if large := (*http.MaxBytesError)(nil); err != nil && !errors.As(err, &large) {
		return nil, &statusError{http.StatusBadRequest, "the body ended too early"}
	}
	return b.Bytes(), err
}

// onlyQuery refuses parameters of the query that are unknown or given twice.
func (c *call) onlyQuery(names ...string) error {
	if c.r.URL.RawQuery == "" {
		return nil
	}
	values, err := parseQuery(c.r.URL.RawQuery)
	if err != nil {
		return err
	}
	for name, given := range values {
		if err := allowed(name, given, names); err != nil {
			return err
		}
	}
	return nil
}

// answer writes a value as JSON.
func (c *call) answer(status int, v any) error {
	encoded, err := encode(v)
	if err != nil {
		return err
	}
	return c.write(status, "application/json", encoded)
}

// empty writes an answer without a body.
func (c *call) empty() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// write writes an answer. An error of the connection is not one of the request: nobody is there
// to read about it.
func (c *call) write(status int, kind string, body []byte) error {
	header := c.w.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Length", strconv.Itoa(len(body))) // else an answer that is flushed is sent in chunks
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body)
	return nil
}

// encode returns JSON without the escapes that only matter inside of HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// audit logs who has removed, redriven or changed what.
func (c *call) audit(what string, attrs ...slog.Attr) {
	all := append([]slog.Attr{slog.String("caller", c.caller()), slog.String("action", what)}, attrs...)
	if name := c.r.PathValue("queue"); name != "" {
		all = append(all, slog.String("queue", name))
	}
	c.Logger.LogAttrs(c.r.Context(), slog.LevelInfo, "dueqhttp: audit", all...)
}

// caller returns the name of the caller's token, or else its address.
func (c *call) caller() string {
	if c.token != nil {
		return c.token.Name
	}
	return c.r.RemoteAddr
}
