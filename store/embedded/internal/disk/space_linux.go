package disk

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepSize is FALLOC_FL_KEEP_SIZE of fallocate(2): a file's size then shows how much
// was written, whatever was allocated.
const keepSize = 0x1

func allocate(f *os.File, size int64) error {
	err := control(f, func(fd int) error { return syscall.Fallocate(fd, keepSize, 0, size) })
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return nil
	}
	return err
}

// dataSync does not sync the times of the file, which are not used.
func dataSync(f *os.File) error {
	return control(f, syscall.Fdatasync)
}

// rewrite writes past the page cache. When the write of a page has failed, ext4 (in Linux
// 6.18 at least) keeps the page, and may neither write nor miss what is written to it later,
// even though fdatasync reports no error. Where the file system cannot write past the cache,
// it writes as usual.
func rewrite(f *os.File, b []byte, at int64) error {
	const tries = 2 // the first may return the error of the write that failed then
	for range tries {
		if writeDirect(f, b, at) == nil {
			return f.Truncate(at + int64(len(b))) // it wrote whole blocks
		}
	}
	_, err := f.WriteAt(b, at)
	return errors.Join(err, f.Truncate(at+int64(len(b))))
}

const (
	// directBlock is what offset, length and memory of a write past the page cache must be
	// multiples of, at most.
	directBlock = 4 << 10
	directMost  = 1 << 20 // bytes written at a time
)

// writeDirect writes whole blocks past the page cache: zeros follow b in the last.
func writeDirect(f *os.File, b []byte, at int64) (err error) {
	blocks, err := unix.Mmap(-1, 0, directMost, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Munmap(blocks)) }()
	before := int(at % directBlock)
	at -= int64(before)
	if _, err := f.ReadAt(blocks[:before], at); err != nil {
		return err
	}
	if err := setDirect(f, unix.O_DIRECT); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setDirect(f, 0)) }()
	for len(b) > 0 {
		n := copy(blocks[before:], b)
		size := (before + n + directBlock - 1) / directBlock * directBlock
		clear(blocks[before+n : size])
		if _, err := f.WriteAt(blocks[:size], at); err != nil {
			return err
		}
		b, at, before = b[n:], at+int64(size), 0
	}
	return nil
}

func setDirect(f *os.File, direct int) error {
	return control(f, func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&^unix.O_DIRECT|direct)
		}
		return err
	})
}
