//go:build unix

package child

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun_PassesInputEnvironmentAndOutput(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	c := Command{
		Line: `echo "$DUEQ_KEY: $(cat)"; printf 'first\n\nlast line\n\n' >&2; exit 3`, Env: []string{"DUEQ_KEY=order-42"},
		Stdin: []byte("body"), Output: &Output{Stdout: &out, Stderr: &err},
	}
	got, failed := c.Run(t.Context())
	if failed != nil || got != (Result{Code: 3, Last: "last line"}) {
		t.Errorf("%+v, %v", got, failed)
	}
	if out.String() != "order-42: body\n" || err.String() != "first\n\nlast line\n\n" {
		t.Errorf("stdout %q, stderr %q", out.String(), err.String())
	}
}

func TestRun_CommandThatDoesNotReadItsInputSucceeds(t *testing.T) {
	t.Parallel()
	c := Command{Line: "exit 0", Stdin: make([]byte, 4<<20), Output: &Output{Stdout: io.Discard, Stderr: io.Discard}}
	if got, err := c.Run(t.Context()); err != nil || got.Code != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRun_SignalIsNoExitStatus(t *testing.T) {
	t.Parallel()
	c := Command{Line: "kill -9 $$", Output: &Output{Stdout: io.Discard, Stderr: io.Discard}}
	if got, err := c.Run(t.Context()); err != nil || got.Code != -1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRun_EndOfContextEndsTheCommandAndItsChildren has a command with a child that writes a line
// when it is asked to end.
func TestRun_EndOfContextEndsTheCommandAndItsChildren(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("the lease is lost")
	in, out := io.Pipe()
	all := make(chan string, 1)
	go func() {
		read := bufio.NewReader(in)
		_, _ = read.ReadString('\n')
		end(why)
		rest, _ := io.ReadAll(read)
		all <- string(rest)
	}()
	c := Command{
		Line:   `(trap 'echo the child ends; exit' TERM; echo started; sleep 600 & wait) & wait; echo never`,
		Output: &Output{Stdout: out, Stderr: io.Discard},
	}
	if got, err := c.Run(ctx); !errors.Is(err, why) {
		t.Errorf("%+v, %v, want %v", got, err, why)
	}
	_ = out.Close()
	if got := <-all; got != "the child ends\n" {
		t.Errorf("after the end of the context the command wrote %q", got)
	}
}

func TestLines_OfSeveralCommandsAreWhole(t *testing.T) {
	t.Parallel()
	var to bytes.Buffer
	output := &Output{}
	a, b := &lines{output: output, to: &to}, &lines{output: output, to: &to}
	for _, part := range []string{"a", "aa\naa", "a\n"} {
		_, _ = io.WriteString(a, part)
		_, _ = io.WriteString(b, strings.ReplaceAll(part, "a", "b"))
	}
	_, _ = io.WriteString(b, "open")
	b.flush()
	if want := "aaa\nbbb\naaa\nbbb\nopen\n"; to.String() != want {
		t.Errorf("%q, want %q", to.String(), want)
	}
	if a.last != "aaa" || b.last != "open" {
		t.Errorf("last lines %q and %q", a.last, b.last)
	}
	long := strings.Repeat("x", maxLine)
	to.Reset()
	_, _ = io.WriteString(a, long)
	if to.Len() != maxLine {
		t.Errorf("%d bytes of a line without an end were written, want %d", to.Len(), maxLine)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestRun_OutputThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	c := Command{Line: "echo lost", Output: &Output{Stdout: full{}, Stderr: io.Discard}}
	if _, err := c.Run(t.Context()); !errors.Is(err, ErrOutput) || !strings.Contains(err.Error(), "no space") {
		t.Errorf("%v, want the error of the output", err)
	}
}
