//go:build unix && !linux

package disk

import "os"

// allocate does nothing: without it a write may fail on a full disk, which stops the
// store where on Linux only pushes would be refused.
func allocate(*os.File, int64) error { return nil }

// dataSync is fsync; on macOS Go makes it F_FULLFSYNC, which also empties the cache
// of the drive.
func dataSync(f *os.File) error { return f.Sync() }
