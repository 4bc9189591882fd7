package disk

import (
	"errors"
	"os"
	"syscall"
)

// keepSize is FALLOC_FL_KEEP_SIZE of fallocate(2): a file's size then tells how much
// was written, whatever was allocated.
const keepSize = 0x1

func allocate(f *os.File, size int64) error {
	err := control(f, func(fd int) error { return syscall.Fallocate(fd, keepSize, 0, size) })
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return nil
	}
	return err
}

// dataSync leaves out the times of the file, which nobody reads.
func dataSync(f *os.File) error {
	return control(f, syscall.Fdatasync)
}
