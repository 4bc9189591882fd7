//go:build unix

package child

import (
	"context"
	"os/exec"
	"syscall"
)

// shell returns a command of the shell, in a group of its own: Ctrl-C ends this process, which
// then decides when the command ends.
func shell(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line) //nolint:gosec // the line is the user's own
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return cmd
}

// killGroup kills the processes that a command has left behind.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be none
	}
}
