//go:build !unix

package child

import (
	"context"
	"os/exec"
)

// shell returns a command of the shell.
func shell(ctx context.Context, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", line)
}

// killGroup does nothing: the command was killed, and its processes are not known.
func killGroup(*exec.Cmd) {}
