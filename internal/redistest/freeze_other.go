//go:build !unix

package redistest

import "errors"

// Freeze fails: only Unix can stop a process without ending it.
func (s *Server) Freeze() error { return errors.ErrUnsupported }

// Thaw fails like Freeze.
func (s *Server) Thaw() error { return errors.ErrUnsupported }
