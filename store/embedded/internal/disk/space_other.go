//go:build !linux

package disk

import (
	"errors"
	"os"
)

// allocate does nothing: without it a write may fail on a full disk, which stops the
// store where on Linux only pushes would be refused.
func allocate(*os.File, int64) error { return nil }

// rewrite writes as usual: see space_linux.go.
func rewrite(f *os.File, b []byte, at int64) error {
	_, err := f.WriteAt(b, at)
	return errors.Join(err, f.Truncate(at+int64(len(b))))
}

// dataSync is fsync. On macOS Go makes it F_FULLFSYNC, which also empties the cache
// of the drive; on Windows it is FlushFileBuffers, which does the same.
func dataSync(f *os.File) error { return f.Sync() }
