//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package disk

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file without waiting. The lock ends with the process.
func lockFile(f *os.File) error {
	err := control(f, func(fd int) error { return syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// unlockFile ends the lock, even if another process has a copy of the descriptor.
func unlockFile(f *os.File) error {
	return control(f, func(fd int) error { return syscall.Flock(fd, syscall.LOCK_UN) })
}

// lockDirectory locks an open directory, where the file system supports it; NFS does not.
func lockDirectory(dir *os.File) error {
	if err := lockFile(dir); errors.Is(err, ErrLocked) {
		return err
	}
	return nil
}

// unlockDirectory ends the lock of lockDirectory.
func unlockDirectory(dir *os.File) {
	_ = unlockFile(dir) // where it was not locked that may fail
}
