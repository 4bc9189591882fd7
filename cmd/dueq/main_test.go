package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// asCommand makes the test binary behave as dueq, for tests that need a process.
const asCommand = "DUEQ_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// outcome is what a command line did.
type outcome struct {
	code     int
	out, err string
}

// session runs command lines with the same environment.
type session struct {
	t   *testing.T
	env map[string]string
}

// without returns a session without a store.
func without(t *testing.T) *session { return &session{t: t, env: map[string]string{}} }

// inMemory returns a session in which every command has an empty store of its own.
func inMemory(t *testing.T) *session {
	return &session{t: t, env: map[string]string{"DUEQ_STORE": "mem:"}}
}

func (s *session) run(args ...string) outcome { return s.feed("", args...) }

func (s *session) feed(stdin string, args ...string) outcome {
	s.t.Helper()
	var out, errs bytes.Buffer
	code := run(s.t.Context(), args, console{
		in: strings.NewReader(stdin), out: &out, err: &errs, env: func(name string) string { return s.env[name] },
	})
	return outcome{code, out.String(), errs.String()}
}

// ok runs a command line that must succeed silently, and returns what it printed.
func (s *session) ok(args ...string) string {
	s.t.Helper()
	got := s.run(args...)
	if got.code != exitOK || got.err != "" {
		s.t.Fatalf("dueq %q: exit %d, stderr %q", args, got.code, got.err)
	}
	return got.out
}

// fails runs a command line that must fail with the exit code, and with one line on
// stderr that has all of the texts in it.
func (s *session) fails(code int, texts []string, args ...string) {
	s.t.Helper()
	checkFailure(s.t, s.run(args...), code, texts, args)
}

func checkFailure(t *testing.T, got outcome, code int, texts, args []string) {
	t.Helper()
	if got.code != code {
		t.Errorf("dueq %.200q: exit %d, want %d (stderr %q)", args, got.code, code, got.err)
	}
	if !strings.HasPrefix(got.err, "dueq: ") || strings.Count(got.err, "\n") != 1 || !strings.HasSuffix(got.err, "\n") {
		t.Errorf("dueq %.200q: stderr is %q, want one line that begins with dueq:", args, got.err)
	}
	for _, text := range texts {
		if !strings.Contains(got.err, text) {
			t.Errorf("dueq %.200q: stderr is %q, want it to name %q", args, got.err, text)
		}
	}
	if got.out != "" {
		t.Errorf("dueq %.200q: stdout is %q, want nothing", args, got.out)
	}
}

// decode reads JSON that a command printed.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q is not the JSON that is wanted: %v", text, err)
	}
	return v
}
