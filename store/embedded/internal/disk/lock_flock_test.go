//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package disk

import (
	"os"
	"syscall"
	"testing"
)

// A process that is being started has the lock's descriptor until its program runs.
func TestDirClose_UnlocksWhileAForkedProcessHasTheDescriptor(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(d.lock.Fd())) // what fork does to it
	if err != nil {
		t.Fatal(err)
	}
	inherited := os.NewFile(uintptr(fd), "inherited")
	defer func() { _ = inherited.Close() }()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenDir(path)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
