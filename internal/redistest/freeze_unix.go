//go:build unix

package redistest

import "syscall"

// Freeze stops the process without ending it, until Thaw.
func (s *Server) Freeze() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process continue.
func (s *Server) Thaw() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
