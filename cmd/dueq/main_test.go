package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// asCommand makes the test binary run as dueq, for tests that need a process.
const asCommand = "DUEQ_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	quiet()
	goleak.VerifyTestMain(withRedis{m})
}

// withRedis stops the tests' Redis before goroutines are counted.
type withRedis struct{ m *testing.M }

func (w withRedis) Run() int { return redistest.Main(w.m) }

// outcome has the exit code and the output of a command line.
type outcome struct {
	code     int
	out, err string
	warnings string // lines of the log and notes about the store, which are not in err
}

// session runs command lines with the same environment.
type session struct {
	t   *testing.T
	env map[string]string
}

// without returns a session without a store.
func without(t *testing.T) *session {
	t.Helper()
	return &session{t: t, env: map[string]string{}}
}

// inMemory returns a session in which every command has an empty store of its own.
func inMemory(t *testing.T) *session {
	t.Helper()
	return &session{t: t, env: map[string]string{"DUEQ_STORE": "mem:"}}
}

// redisURL returns the URL of a Redis with a prefix that no other test uses.
func redisURL(t *testing.T) string {
	t.Helper()
	return "unix://" + redistest.Shared(t).Addr() + "?prefix=" + redistest.Prefix()
}

// onRedis returns a session on a real Redis, and a client of the same store. In TestRemote the
// session uses it through a server.
func onRedis(t *testing.T) (*session, *dueq.Client) {
	t.Helper()
	url := redisURL(t)
	client, err := dueq.Open(t.Context(), url, &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": url}}
	if strings.HasPrefix(t.Name(), "TestRemote/") {
		return &session{t: t, env: map[string]string{"DUEQ_STORE": s.serve().url}}, client
	}
	return s, client
}

func (s *session) run(args ...string) outcome { return s.feed("", args...) }

func (s *session) feed(stdin string, args ...string) outcome {
	s.t.Helper()
	var out bytes.Buffer
	got := s.write(s.t.Context(), stdin, &out, args...)
	got.out = out.String()
	return got
}

// write runs a command line that writes its output to out.
func (s *session) write(ctx context.Context, stdin string, out io.Writer, args ...string) outcome {
	var errs bytes.Buffer
	got := outcome{code: run(ctx, args, console{
		in: strings.NewReader(stdin), out: out, err: &errs, env: func(name string) string { return s.env[name] },
		isSet: func(name string) bool { _, ok := s.env[name]; return ok },
	})}
	for line := range strings.Lines(errs.String()) {
		if strings.HasPrefix(line, "level=WARN") || strings.HasPrefix(line, "note: ") { // the tests' Redis keeps nothing on disk
			got.warnings += line
		} else {
			got.err += line
		}
	}
	return got
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

// opened returns a function that takes the result of a constructor, and fails the test on
// an error.
func opened(tb testing.TB) func(*dueq.Client, error) *dueq.Client {
	tb.Helper()
	return func(c *dueq.Client, err error) *dueq.Client {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return c
	}
}
