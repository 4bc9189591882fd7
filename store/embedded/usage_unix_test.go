//go:build unix

package embedded

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// diskUsage returns the bytes that a directory's files take up on the disk.
func diskUsage(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			size += stat.Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
