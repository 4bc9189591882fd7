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

// unlockFile ends the lock, whatever other process has a copy of the descriptor.
func unlockFile(f *os.File) error {
	return control(f, func(fd int) error { return syscall.Flock(fd, syscall.LOCK_UN) })
}

// lockDirectory locks an open directory likewise, where the file system can do that:
// NFS cannot.
func lockDirectory(dir *os.File) error {
	if err := lockFile(dir); errors.Is(err, ErrLocked) {
		return err
	}
	return nil
}

// unlockDirectory is to lockDirectory what unlockFile is to lockFile.
func unlockDirectory(dir *os.File) {
	_ = unlockFile(dir) // where it was not locked that may fail
}
