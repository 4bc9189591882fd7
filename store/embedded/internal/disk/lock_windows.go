package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks a file without waiting. The lock ends with the process.
//
// Windows does not let other processes read what is locked. So the byte that is
// locked lies far behind the pid, which they report.
func lockFile(f *os.File) error {
	const flags, far = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY, 1 << 30
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: far})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// unlockFile does nothing: a process that is being started has no copy of the handle, so
// closing the file ends the lock.
func unlockFile(*os.File) error { return nil }

// lockDirectory does nothing: a directory cannot be locked here.
func lockDirectory(*os.File) error { return nil }

func unlockDirectory(*os.File) {}
