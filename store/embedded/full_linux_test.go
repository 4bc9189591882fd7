package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// mountSmall mounts a file system in memory of size bytes, and skips the test
// where that is not possible.
func mountSmall(t *testing.T, size int64) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting a small file system needs root; a full disk is tested on the fault disk only")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", size)); err != nil {
		t.Skipf("SKIPPED: a small file system cannot be mounted, so a full disk is tested on the fault disk only: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "store")
}

// realRig is a rig on a directory, with everything as in real use.
func realRig(t *testing.T, dir string) *rig {
	t.Helper()
	r := &rig{TB: t, p: store.Partition{Queue: "orders"}}
	s, err := Open(t.Context(), dir, Config{Logger: quiet})
	r.must(err)
	r.Store = s
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestPush_FullFileSystemDrainsToEmptyAndAcceptsAgain(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	for _, tt := range []struct {
		name      string
		few, size int
	}{
		{"large bodies, one at a time", 1, 10_000},
		{"small bodies, in batches", 500, 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := mountSmall(t, smallDisk)
			r := realRig(t, dir)
			n := r.pushUntilFull(1, tt.few, tt.size)
			r.must(r.Close())
			number := r.number
			r = realRig(t, dir) // in the full state
			r.number = number
			n = r.pushUntilFull(n, tt.few, tt.size)
			t.Logf("%d messages of %d bytes", n-1, tt.size)
			if got := r.drain(tt.few); got != n-1 {
				t.Errorf("%d of %d were delivered", got, n-1)
			}
			r.pushWithin(time.Minute, message(n))
		})
	}
}

// pushWithin pushes a message again and again until there is space for it.
func (r *rig) pushWithin(timeout time.Duration, m store.Message) {
	r.Helper()
	for began := time.Now(); ; <-time.After(10 * time.Millisecond) {
		_, err := r.Push(r.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: []store.Message{m}})
		if err == nil {
			return
		}
		if !errors.Is(err, store.ErrQueueFull) || time.Since(began) > timeout {
			r.Fatalf("after %v: %v", time.Since(began), err)
		}
	}
}
