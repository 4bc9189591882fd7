//go:build unix

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const othersMay = 0o002 // write

// writableByOthers reports whether every user may write to a directory.
func writableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&othersMay != 0 }

// spaceError returns ErrFull for all errors by which a file system reports that it is full.
func spaceError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// syncNames makes the names in an open directory durable.
func syncNames(dir *os.File) error { return dir.Sync() }

// control calls do with f's descriptor, and repeats it when a signal interrupts it.
func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			if failed = do(int(fd)); !errors.Is(failed, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, failed)
}
