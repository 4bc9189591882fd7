package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitUnavailable = 5
	exitRefused     = 6
	exitInterrupted = 130 // 128 and the number of SIGINT, as shells have it
)

// Errors of the command itself.
var (
	errUsage   = errors.New("usage")
	errEmpty   = errors.New("nothing is due")
	errRefused = errors.New("refused")
	// errUnanswered is Ctrl-C at a question.
	errUnanswered = errors.New("nothing was removed")
)

// exitCode returns the exit code of an error. If several errors are joined, the first row of
// the table that matches counts.
func exitCode(err error) int {
	for _, row := range [...]struct {
		of   error
		code int
	}{
		{errUnanswered, exitInterrupted},
		{context.Canceled, exitFailure}, // Ctrl-C, before the work was done
		{errUsage, exitUsage},
		{dueq.ErrInvalid, exitUsage},
		{dueq.ErrTooLarge, exitUsage},
		{dueq.ErrUnavailable, exitUnavailable},
		{dueq.ErrNotReplicated, exitUnavailable},
		{context.DeadlineExceeded, exitUnavailable},
		{dueq.ErrQueueFull, exitRefused},
		{errRefused, exitRefused},
		{dueq.ErrDuplicate, exitConflict},
		{dueq.ErrExists, exitConflict},
		{dueq.ErrNotEmpty, exitConflict},
		{dueq.ErrLeaseLost, exitConflict},
		{dueq.ErrCancelled, exitConflict},
		{dueq.ErrRunning, exitConflict},
		{dueq.ErrNotFound, exitNotFound},
		{dueq.ErrDead, exitNotFound},
		{dueq.ErrPaused, exitNotFound},
		{errEmpty, exitNotFound},
	} {
		if errors.Is(err, row.of) {
			return row.code
		}
	}
	return exitFailure
}

// usage returns an error about the command line. The text does not say "usage".
func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ err error }

func (e *usageError) Error() string        { return e.err.Error() }
func (e *usageError) Unwrap() error        { return e.err }
func (e *usageError) Is(target error) bool { return target == errUsage }

// oneLine returns the text of err to be printed: one line of limited length, escaped for
// terminals, and without the store's password.
func oneLine(err error, storeURL string) string {
	const most = 2000
	text := err.Error()
	switch {
	case text == context.Canceled.Error():
		text = "interrupted"
	case errors.Is(err, context.Canceled):
		text = "interrupted: " + text
	}
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") // errors.Join puts one on each line
	return term.Cut(term.Escape("dueq: "+withoutPassword(text, storeURL)), most)
}

// withoutPassword hides what an error may have copied from the store's URL.
func withoutPassword(text, storeURL string) string {
	for _, password := range passwords(storeURL) {
		for _, form := range forms(password) {
			text = strings.ReplaceAll(text, form, "xxxxx")
		}
	}
	return text
}

// passwords finds those of a URL by its text, since it may be too broken to be parsed:
// in front of the host, and in options such as sentinel_password.
func passwords(storeURL string) []string {
	var found []string
	_, rest, _ := strings.Cut(storeURL, "://")
	if end := strings.LastIndex(rest, "@"); end >= 0 {
		_, password, _ := strings.Cut(rest[:end], ":")
		found = append(found, password)
	}
	_, query, _ := strings.Cut(rest, "?")
	for option := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(option, "="); strings.Contains(name, "password") && name != "password_file" {
			found = append(found, value)
		}
	}
	return slices.DeleteFunc(found, func(s string) bool { return s == "" })
}

// forms returns the encodings in which an error may have a password, the longest first.
func forms(password string) []string {
	quoted := fmt.Sprintf("%q", password)
	all := []string{quoted[1 : len(quoted)-1], password}
	if plain, err := url.PathUnescape(password); err == nil && plain != "" {
		all = append(all, plain)
	}
	return all
}
