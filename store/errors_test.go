package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestError_Text(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("-3s is negative: %w", ErrInvalid)
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{Op: "send", Queue: "orders", Field: "delay", Err: cause}, `send queue "orders": delay: -3s is negative: invalid argument`},
		{Error{Op: "ack", Queue: "orders", ID: "0abc", Err: ErrLeaseLost}, `ack queue "orders" message "0abc": lease lost`},
		{Error{Field: "delay", Err: cause}, "delay: -3s is negative: invalid argument"},
		{Error{Err: ErrClosed}, "closed"},
		{Error{Queue: "a\x1b[31m", Err: ErrNotFound}, `queue "a\x1b[31m": not found`},
		{Error{Op: "get", Queue: strings.Repeat("q", 100), Err: ErrNotFound}, `get queue "` + strings.Repeat("q", 64) + `"...: not found`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("text %q\nwant %q", got, c.want)
		}
	}
}

func TestError_Unwrap(t *testing.T) {
	t.Parallel()
	var err error = &Error{Op: "send", Err: fmt.Errorf("detail: %w", ErrTooLarge)}
	if !errors.Is(err, ErrTooLarge) || errors.Is(err, ErrInvalid) {
		t.Errorf("%v is not exactly an ErrTooLarge", err)
	}
}

func TestCode_Text(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c := CodeOK; c <= CodeMoved; c++ {
		word := c.String()
		if seen[word] || strings.HasPrefix(word, "code(") || word != strings.ToLower(word) {
			t.Errorf("code %d has the word %q", c, word)
		}
		seen[word] = true
	}
	for c, want := range map[Code]string{-1: "code(-1)", 16: "code(16)", CodeLeaseLost: "lease_lost", CodeOK: "ok"} {
		if got := c.String(); got != want {
			t.Errorf("code %d has the word %q, want %q", int(c), got, want)
		}
	}
}
