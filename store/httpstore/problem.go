package httpstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

// problem is an error of the server, as RFC 9457.
type problem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Field  string `json:"field"`
	Value  string `json:"value"`
	Limit  string `json:"limit"`
	Holder string `json:"holder"`
}

// kindOf returns the error of the port that a code stands for, nil if it is none.
func kindOf(code string) error {
	return map[string]error{
		"invalid": store.ErrInvalid, "too_large": store.ErrTooLarge, "not_found": store.ErrNotFound,
		"conflict": store.ErrConflict, "repartitioned": store.ErrRepartitioned, "exists": store.ErrExists, "not_empty": store.ErrNotEmpty,
		"duplicate": store.ErrDuplicate, "queue_full": store.ErrQueueFull, "not_replicated": store.ErrNotReplicated,
		"running": store.ErrRunning, "dead": store.ErrDead, "paused": store.ErrPaused, "not_paused": store.ErrNotPaused,
		"lease_lost": store.ErrLeaseLost, "cancelled": store.ErrCancelled, "corrupt": store.ErrCorrupt,
	}[code]
}

// refusal returns the error of an answer that is not the result of the method, and whether
// repeating the call may help.
func (s *Store) refusal(response *http.Response, body []byte) (again bool, err error) {
	var p problem
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "application/problem+json" {
		_ = json.Unmarshal(body, &p) // what cannot be read is left out
	}
	if response.Header.Get(wire.Answer) == "" {
		return true, fmt.Errorf("%s: there is no store at this address, the answer is %s%s: %w",
			s.server, response.Status, behindColon(p.Detail), store.ErrUnavailable)
	}
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return false, store.Invalid("token", "%s refuses the call: %s", s.server, p.Detail)
	}
	of := kindOf(p.Code)
	if of == nil {
		return p.Code != "failed", fmt.Errorf("%s cannot serve the call, %s%s: %w",
			s.server, cmp.Or(p.Code, response.Status), behindColon(p.Detail), store.ErrUnavailable)
	}
	return false, p.err(of)
}

func behindColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// err returns the error that the store behind the server has returned.
func (p problem) err(of error) error {
	field := strings.ReplaceAll(p.Field, "_", " ")
	detail := strings.TrimPrefix(p.Detail, field+": ")
	if detail == of.Error() {
		detail = ""
	}
	if detail != "" {
		of = &serverError{text: detail, of: of}
	}
	if field == "" && p.Holder == "" {
		return of
	}
	return &store.Error{Field: field, Value: p.Value, Limit: p.Limit, Holder: p.Holder, Err: of}
}

// serverError is an error with the text that it has on the server.
type serverError struct {
	text string
	of   error // of the port
}

func (e *serverError) Error() string { return e.text }
func (e *serverError) Unwrap() error { return e.of }
