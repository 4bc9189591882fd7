//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

func TestOpen_OneProcessAtATime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(t.Context(), dir, Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), dir, Config{Logger: quiet})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), fmt.Sprint("pid ", os.Getpid())) {
		t.Errorf("opened twice: %v", err)
	}
	mustClose(t, s)
	if s, err = Open(t.Context(), dir, Config{Logger: quiet}); err != nil {
		t.Fatalf("after Close: %v", err)
	}
	mustClose(t, s)
}

func TestOpen_FilesArePrivateToTheirOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(t.Context(), dir, Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	err = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %#o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpen_DangerousDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want string
		make       func(t *testing.T, dir string) error
	}{
		{"everybody may write", "everybody may write", func(_ *testing.T, dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777))
		}},
		{"symlink", "not a directory", func(t *testing.T, dir string) error { return os.Symlink(t.TempDir(), dir) }},
		{"file", "not a directory", func(_ *testing.T, dir string) error { return os.WriteFile(dir, nil, 0o600) }},
		{"log is a symlink", "not a regular file", func(t *testing.T, dir string) error {
			s, err := Open(t.Context(), dir, Config{Logger: quiet})
			if err != nil {
				return err
			}
			log, other := filepath.Join(dir, firstLog), filepath.Join(dir, "other")
			return errors.Join(s.Close(), os.Rename(log, other), os.Symlink("other", log))
		}},
		{"lock is a symlink", "not a regular file", func(_ *testing.T, dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Symlink("victim", filepath.Join(dir, "lock")))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			if err := tt.make(t, dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), dir, Config{Logger: quiet})
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestOpen_ConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{SyncEvery: -1}, {SyncEvery: 1, NeverSync: true}} {
		if _, err := Open(t.Context(), t.TempDir(), c); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// openByHand opens a directory without a caretaker of its log.
func openByHand(t *testing.T, dir string) *Store {
	t.Helper()
	d, err := disk.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := openOn(t.Context(), d, Config{Logger: quiet, NeverSync: true}, tuning{byHand: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fill pushes scheduled messages of 100 bytes, due at random within a day.
func fill(t *testing.T, s *Store, p store.Partition, n int) {
	t.Helper()
	rng, body := rand.New(rand.NewPCG(1, 2)), make([]byte, 100)
	ms := make([]store.Message, store.MaxBatch)
	for i := range n / len(ms) {
		for j := range ms {
			ms[j] = store.Message{ID: route.NewID(0), Body: body, MaxAttempts: 20, Delay: 3600_000 + rng.Int64N(86_400_000)}
		}
		if _, err := s.Push(t.Context(), p, store.PushRequest{Producer: "fill", Number: uint64(i), Messages: ms}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMerge_DrainedStoreIsSmall(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := openByHand(t, dir)
	p := store.Partition{Queue: "q"}
	fill(t, s, p, 20_000)
	if size := diskUsage(t, dir); size < 3<<20 {
		t.Fatalf("full: %d bytes", size)
	}
	purgeAll(t, s, p, store.Scheduled)
	for range 3 { // what the caretaker does in three seconds
		if err := s.care.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if size := diskUsage(t, dir); size > 1<<20 {
		t.Errorf("drained: %d bytes", size)
	} else {
		t.Logf("drained: %d bytes", size)
	}
}

// A merge never takes a message away from those who use the store meanwhile.
func TestMerge_WhileTheStoreIsUsed(t *testing.T) {
	t.Parallel()
	s := openByHand(t, filepath.Join(t.TempDir(), "store"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for worker := range 4 {
			useEverything(t, s, worker)
		}
	}()
	merges := 0
	for working := true; working; merges++ {
		select {
		case <-done:
			working = false
		default:
		}
		oldest, active := s.care.log.Ends()
		var err error
		if oldest == active {
			err = s.care.log.Roll()
		} else {
			err = s.care.merge(t.Context(), oldest)
		}
		if err != nil {
			t.Error(err)
			<-done
			return
		}
	}
	t.Logf("%d merges", merges)
}

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
