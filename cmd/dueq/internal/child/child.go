// Package child runs commands of the shell.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// ErrOutput is an error of [Command.Run]: the output of the commands cannot be written.
var ErrOutput = errors.New("write output")

// Grace is how long a command may continue after it was asked to end, and how long processes that
// it has left behind may keep its output open.
const Grace = 5 * time.Second

// Command is a line for the shell.
type Command struct {
	Line   string
	Env    []string // besides the environment of this process
	Stdin  []byte
	Output *Output
}

// Result is the end of a command.
type Result struct {
	Code int    // the exit status; -1: a signal has ended it
	Last string // the last line on standard error that is not empty
}

// Run runs the command until it ends. When ctx ends, the command and the processes that it has
// started are asked to end (SIGTERM; elsewhere than on Unix the command is killed), and are killed
// after Grace. The error is the cause of the end of ctx, or says why there is no command.
func (c *Command) Run(ctx context.Context) (Result, error) {
	cmd := shell(ctx, c.Line)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdin = bytes.NewReader(c.Stdin)
	stdout, stderr := &lines{output: c.Output, to: c.Output.Stdout}, &lines{output: c.Output, to: c.Output.Stderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = Grace
	err := cmd.Run()
	stdout.flush()
	stderr.flush()
	if ctx.Err() != nil {
		killGroup(cmd)
		return Result{}, context.Cause(ctx)
	}
	if err := c.Output.err(); err != nil {
		return Result{}, err
	}
	if cmd.ProcessState == nil {
		return Result{}, fmt.Errorf("start the shell: %w", err)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) && !errors.As(err, new(*exec.ExitError)) {
		return Result{}, fmt.Errorf("run the command: %w", err)
	}
	return Result{Code: cmd.ProcessState.ExitCode(), Last: stderr.last}, nil
}

// Output is where the commands write. Commands that run at the same time do not mix within a line.
type Output struct {
	Stdout, Stderr io.Writer

	mu     sync.Mutex
	failed error // of Stdout or Stderr
}

// write writes whole lines.
func (o *Output) write(to io.Writer, text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := to.Write(text); err != nil && o.failed == nil {
		o.failed = fmt.Errorf("%w: %w", ErrOutput, err)
	}
}

func (o *Output) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// maxLine is the length from which a line is written in parts.
const maxLine = 64 << 10

// lines passes on what a command writes, line by line.
type lines struct {
	output *Output
	to     io.Writer
	rest   []byte // of a line that has no end yet
	last   string
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) >= maxLine {
		end = len(l.rest)
	}
	if end > 0 {
		l.pass(l.rest[:end])
		l.rest = append(l.rest[:0], l.rest[end:]...)
	}
	return len(p), nil
}

// flush writes a last line that has no end.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.pass(append(l.rest, '\n'))
		l.rest = nil
	}
}

func (l *lines) pass(text []byte) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 {
		l.last = string(bytes.TrimSpace(trimmed[bytes.LastIndexByte(trimmed, '\n')+1:]))
	}
	l.output.write(l.to, text)
}
