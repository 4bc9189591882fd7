package dueqhttp

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// transferTimeout is how long the body of a request, and an answer, may be on their way. A caller
// that is slower keeps a connection, but not for longer than that.
const transferTimeout = 30 * time.Second

// logger is the writer of an answer, and has what is logged about it.
type logger struct {
	http.ResponseWriter
	status int
	bytes  int64
	caller string // the name of its token
}

func (l *logger) WriteHeader(status int) {
	if l.status == 0 {
		l.status = status
	}
	_ = http.NewResponseController(l.ResponseWriter).SetWriteDeadline(time.Now().Add(transferTimeout)) // some writers have no deadlines
	l.ResponseWriter.WriteHeader(status)
}

func (l *logger) Write(b []byte) (int, error) {
	if l.status == 0 {
		l.WriteHeader(http.StatusOK)
	}
	n, err := l.ResponseWriter.Write(b)
	l.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (l *logger) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// logged sets the headers that every answer has, and logs each request. The query is left out: it
// may have keys and values of headers.
func (s *server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		if r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(began.Add(transferTimeout)) // until the body is read
		}
		l := &logger{ResponseWriter: w}
		defer func() { s.log(r, l, began) }() // also of an answer that is broken off
		next.ServeHTTP(l, r)
	})
}

// log logs a request that has ended.
func (s *server) log(r *http.Request, l *logger, began time.Time) {
	level := slog.LevelInfo
	switch {
	case r.Pattern == "GET /livez" || r.Pattern == "GET /readyz",
		r.Pattern == "POST "+storePath && l.status < http.StatusBadRequest: // hundreds a second
		level = slog.LevelDebug
	}
	s.Logger.LogAttrs(r.Context(), level, "dueqhttp: request",
		slog.String("method", r.Method), slog.String("path", cutText(r.URL.EscapedPath())), slog.Int("status", l.status),
		slog.Int64("bytes", l.bytes), slog.Duration("took", time.Since(began)),
		slog.String("remote", r.RemoteAddr), slog.String("caller", l.caller))
}

// recovered answers a request whose handling panicked. The stack is only in the log. If the answer has
// begun, it is broken off, so that no caller takes it for the whole one.
func (s *server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { //nolint:contextcheck // r has it
			value := recover()
			if value == nil {
				return
			}
			if value == http.ErrAbortHandler { //nolint:errorlint // it is the value of a panic, and never wrapped
				panic(value)
			}
			s.Logger.LogAttrs(r.Context(), slog.LevelError, "dueqhttp: panic",
				slog.String("path", cutText(r.URL.EscapedPath())), slog.Any("value", value), slog.String("stack", string(debug.Stack())))
			if l, ok := w.(*logger); ok && l.status != 0 {
				panic(http.ErrAbortHandler)
			}
			writeProblem(w, problem{Status: http.StatusInternalServerError, Code: "internal"})
		}()
		next.ServeHTTP(w, r)
	})
}
