// Package host starts the servers of the queues, and reads their CPU time and memory. Every server is
// started by the harness, listens on this machine only, keeps its files in a directory of the run, and
// is stopped by its pid.
package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Server is a running server.
type Server interface {
	// CPU returns the CPU time used so far.
	CPU(ctx context.Context) (time.Duration, error)
	// Memory returns the bytes in use.
	Memory(ctx context.Context) (int64, error)
	// Reset forgets all messages and settings.
	Reset(ctx context.Context) error
	// Version names the server.
	Version(ctx context.Context) (string, error)
	Stop() error
}

// None is the Server of a queue without a server.
type None struct{}

// CPU is 0.
func (None) CPU(context.Context) (time.Duration, error) { return 0, nil }

// Memory is 0.
func (None) Memory(context.Context) (int64, error) { return 0, nil }

// Reset does nothing.
func (None) Reset(context.Context) error { return nil }

// Version is empty.
func (None) Version(context.Context) (string, error) { return "", nil }

// Stop does nothing.
func (None) Stop() error { return nil }

// timeout is how long a server may take to start or to stop.
const timeout = 60 * time.Second

// start runs a server in a process group of its own, so that Ctrl-C is sent to the harness only, which
// then stops the server.
func start(log string, env []string, command ...string) (*exec.Cmd, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600) //nolint:gosec // in the directory of the run
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()                // the child has its own
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec,noctx // ended by stop
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, cmd.Start()
}

// stop asks the process to end, and kills it if it does not.
func stop(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // how it ended does not matter
	select {
	case <-ended:
		return nil
	case <-time.After(timeout):
		return errors.Join(errors.New("did not stop when asked: "+cmd.Path), cmd.Process.Kill())
	}
}

// await calls ready every few ms until it succeeds.
func await(ctx context.Context, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
