package dueqhttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// problem describes an error, as RFC 9457. It is the whole answer, or the result of one item.
type problem struct {
	Title   string `json:"title,omitempty"` // only in a whole answer
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Detail  string `json:"detail,omitempty"`
	Field   string `json:"field,omitempty"`
	Value   string `json:"value,omitempty"`   // of the field, up to 64 bytes of it; never a body or a secret
	Limit   string `json:"limit,omitempty"`   // what is allowed instead, as "1 to 500"
	Holder  string `json:"holder,omitempty"`  // with duplicate: the id of the message that has the key
	Outcome string `json:"outcome,omitempty"` // "unknown": the request may have been applied
	ID      string `json:"id,omitempty"`      // of a message that may have been stored

	retryAfter int // seconds; 0: the default, if the status has one
}

// kind is how errors of a kind are answered.
type kind struct {
	of      error
	status  int
	code    string
	unknown bool // the request may have been applied
}

// kinds returns how errors are answered. If several errors are joined, the first that matches
// counts.
func kinds() []kind {
	return []kind{
		{of: dueq.ErrInvalid, status: http.StatusBadRequest, code: "invalid"},
		{of: dueq.ErrTooLarge, status: http.StatusRequestEntityTooLarge, code: "too_large"},
		{of: store.ErrRepartitioned, status: http.StatusServiceUnavailable, code: "repartitioned"},
		{of: dueq.ErrFailed, status: http.StatusServiceUnavailable, code: "failed", unknown: true},
		{of: dueq.ErrUnavailable, status: http.StatusServiceUnavailable, code: "unavailable", unknown: true},
		{of: dueq.ErrClosed, status: http.StatusServiceUnavailable, code: "unavailable"},
		{of: dueq.ErrNotReplicated, status: http.StatusGatewayTimeout, code: "not_replicated", unknown: true},
		{of: context.DeadlineExceeded, status: http.StatusServiceUnavailable, code: "unavailable", unknown: true},
		{of: context.Canceled, status: http.StatusServiceUnavailable, code: "unavailable", unknown: true},
		{of: dueq.ErrQueueFull, status: http.StatusTooManyRequests, code: "queue_full"},
		{of: dueq.ErrDuplicate, status: http.StatusConflict, code: "duplicate"},
		{of: dueq.ErrExists, status: http.StatusConflict, code: "exists"},
		{of: store.ErrConflict, status: http.StatusConflict, code: "conflict"},
		{of: dueq.ErrNotEmpty, status: http.StatusConflict, code: "not_empty"},
		{of: dueq.ErrLeaseLost, status: http.StatusConflict, code: "lease_lost"},
		{of: dueq.ErrCancelled, status: http.StatusConflict, code: "cancelled"},
		{of: dueq.ErrRunning, status: http.StatusConflict, code: "running"},
		{of: dueq.ErrDead, status: http.StatusConflict, code: "dead"},
		{of: dueq.ErrPaused, status: http.StatusLocked, code: "paused"},
		{of: store.ErrNotPaused, status: http.StatusConflict, code: "not_paused"},
		{of: dueq.ErrNotFound, status: http.StatusNotFound, code: "not_found"},
		{of: dueq.ErrCorrupt, status: http.StatusInternalServerError, code: "corrupt"},
	}
}

// statusError is an error of HTTP itself.
type statusError struct {
	status int
	detail string
}

func (e *statusError) Error() string { return e.detail }

// codeOfStatus returns the code of an error of HTTP.
func codeOfStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusMethodNotAllowed:
		return "method_not_allowed"
	case http.StatusRequestTimeout:
		return "timeout"
	case http.StatusRequestEntityTooLarge:
		return "too_large"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	case http.StatusMisdirectedRequest:
		return "misdirected"
	case http.StatusTooManyRequests:
		return "too_many_failures"
	case http.StatusInternalServerError:
		return "internal"
	}
	return "invalid"
}

// newProblem returns the problem of an error, which is not nil.
func newProblem(err error) problem {
	if e, ok := errors.AsType[*statusError](err); ok {
		return problem{Status: e.status, Code: codeOfStatus(e.status), Detail: e.detail}
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem{
			Status: http.StatusRequestEntityTooLarge, Code: "too_large", Limit: fmt.Sprintf("%d bytes", e.Limit),
			Detail: fmt.Sprintf("the body of the request has more than %d bytes", e.Limit),
		}
	}
	if e, ok := err.(interface{ problem() problem }); ok { // a limit of the server, which is never wrapped
		return e.problem()
	}
	for _, k := range kinds() {
		if errors.Is(err, k.of) {
			return k.problem(err)
		}
	}
	return problem{Status: http.StatusInternalServerError, Code: "internal"}
}

// problem returns the problem of an error of kind k. What is wrong with the store, such as an
// address that does not answer, is not a caller's business.
func (k kind) problem(err error) problem {
	p := problem{Status: k.status, Code: k.code}
	if k.unknown {
		p.Outcome = "unknown"
	}
	if k.status < http.StatusInternalServerError {
		p.Detail = err.Error()
	}
	e, ok := errors.AsType[*dueq.Error](err)
	if inner, is := errors.AsType[*store.Error](err); !ok && is {
		e, ok = (*dueq.Error)(inner), true
	}
	if ok {
		p.Field, p.Value, p.Limit, p.Holder = strings.ReplaceAll(e.Field, " ", "_"), e.Value, e.Limit, e.Holder
	}
	return p
}

// problem returns the problem of an error, and logs one that is not the caller's.
func (c *call) problem(err error) problem {
	p := newProblem(err)
	if p.Status >= http.StatusInternalServerError && c.r.Context().Err() == nil && c.Stopping.Err() == nil {
		c.Logger.LogAttrs(c.r.Context(), slog.LevelError, "dueqhttp: a request failed", slog.String("route", c.route.path), slog.Any("error", err))
	}
	return p
}

// fail answers a request that has failed.
func (c *call) fail(err error) { writeProblem(c.w, c.problem(err)) }

// writeProblem writes an error as the whole answer.
func writeProblem(w http.ResponseWriter, p problem) {
	switch p.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(max(1, p.retryAfter)))
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="dueq"`)
	}
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	encoded, err := encode(p)
	if err != nil { // cannot happen: it has only strings and numbers
		encoded = nil
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(encoded)
}
