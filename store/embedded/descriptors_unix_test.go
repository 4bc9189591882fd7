//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

// The process has no descriptor left when segments are begun and merged. Not parallel: other
// tests need descriptors.
func TestPush_NoDescriptorsLeft(t *testing.T) { //nolint:paralleltest // see above
	for free := range 3 {
		t.Run(fmt.Sprint(free, " free"), func(t *testing.T) { pushWithoutDescriptors(t, free) })
	}
}

func pushWithoutDescriptors(t *testing.T, free int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	s := openByHand(t, dir)
	r := &rig{TB: t, Store: s, p: store.Partition{Queue: "orders"}}
	r.pushLarge(1)
	release := useUpDescriptors(t, free)
	failed := 0
	for n := 2; n < 10; n++ {
		_, err := r.Push(t.Context(), r.p, large(n, r.next()))
		if errors.Is(err, store.ErrFailed) {
			t.Fatal(err)
		}
		if err != nil {
			failed++
		}
	}
	err := s.care.round(t.Context())
	release()
	if failed == 0 {
		t.Error("no push failed: descriptors were not used up")
	}
	if errors.Is(err, store.ErrFailed) {
		t.Errorf("round: %v", err)
	}
	r.pushLarge(100)
	r.must(s.care.round(t.Context()))
	if got := r.stats(); got.Ready != int64(10-failed) {
		t.Errorf("%d messages, want %d", got.Ready, 10-failed)
	}
}

// large is a push of one message that is as large as the smallest segment.
func large(n int, number uint64) store.PushRequest {
	m := message(n)
	m.Body = make([]byte, 1<<20)
	return store.PushRequest{Producer: "p", Number: number, Messages: []store.Message{m}}
}

func (r *rig) pushLarge(n int) {
	r.Helper()
	_, err := r.Push(r.Context(), r.p, large(n, r.next()))
	r.must(err)
}

// useUpDescriptors opens files until the process may open only n more, and returns what
// closes them.
func useUpDescriptors(t *testing.T, free int) (release func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = min(before.Cur, 256)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	var open []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		open = append(open, f)
	}
	for _, f := range open[:free] {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open = open[free:]
	release = sync.OnceFunc(func() {
		for _, f := range open {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	return release
}

// A second process is refused although the lock file was removed.
func TestOpen_LockFileRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	openByHand(t, dir)
	if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), dir, Config{Logger: quiet})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("opened twice: %v", err)
	}
	if err == nil {
		mustClose(t, s)
	}
}

// A store whose files are removed while it is in use stops: it does not continue to report that
// messages are stored.
func TestPush_DirectoryRemoved(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		remove func(dir string) error
	}{
		{"directory", os.RemoveAll},
		{"segment", func(dir string) error { return os.Remove(filepath.Join(dir, firstLog)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			s := openByHand(t, dir)
			r := &rig{TB: t, Store: s, p: store.Partition{Queue: "orders"}}
			r.push(message(1))
			r.must(s.care.round(t.Context()))
			if err := tt.remove(dir); err != nil {
				t.Fatal(err)
			}
			r.push(message(2)) // cannot know
			if err := s.care.round(t.Context()); err == nil {
				t.Error("not noticed")
			}
			_, err := r.Push(t.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: []store.Message{message(3)}})
			if !errors.Is(err, store.ErrFailed) || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("push: %v", err)
			}
			if got := r.record(1); got.State != store.Ready {
				t.Errorf("get: %+v", got)
			}
		})
	}
}
