//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// lockFile fails: a store that two processes can open at a time loses messages. The
// locks of fcntl(2), which Solaris and AIX have, end when any descriptor of the file
// is closed.
func lockFile(*os.File) error {
	return fmt.Errorf("a directory cannot be locked on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func unlockFile(*os.File) error { return nil }

// lockDirectory does nothing: a directory cannot be locked here.
func lockDirectory(*os.File) error { return nil }

func unlockDirectory(*os.File) {}
