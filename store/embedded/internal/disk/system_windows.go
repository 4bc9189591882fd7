package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// writableByOthers reports false: who may write is in access control lists, which a
// directory inherits from the one it is made in, and not in the mode that Go reports.
func writableByOthers(fs.FileInfo) bool { return false }

// spaceError returns ErrFull for all errors by which a file system reports that it is full.
func spaceError(err error) error {
	if errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// syncNames does nothing: Windows has no fsync of directories. NTFS writes changes of
// names to its journal in order, and flushing any file flushes what the journal holds
// before it; a file system without a journal promises nothing.
func syncNames(*os.File) error { return nil }
