package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// backupRig is a store in a directory with small segments, and messages in several.
func backupRig(t *testing.T) (s *Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	return openSmall(t, dir), dir
}

func openSmall(t *testing.T, dir string) *Store {
	t.Helper()
	d, err := disk.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := openOn(t.Context(), d, Config{Logger: quiet}, tuning{byHand: true, segmentSize: smallSegments})
	if err != nil {
		t.Fatal(errors.Join(err, d.Close()))
	}
	s.path = dir
	finish := s.finish
	s.finish = func() error { return errors.Join(finish(), d.Close()) }
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func pushNumbered(ctx context.Context, s *Store, producer string, n int) error {
	m := message(n)
	m.Body = binary.BigEndian.AppendUint64(make([]byte, 500), uint64(n))
	_, err := s.Push(ctx, store.Partition{Queue: "q"}, store.PushRequest{Producer: producer, Number: uint64(n), Messages: []store.Message{m}})
	return err
}

// mustHold opens a copy and looks for messages 1 to n, with their bodies.
func mustHold(t *testing.T, dir string, n int) *Store {
	t.Helper()
	s := openSmall(t, dir)
	p := store.Partition{Queue: "q"}
	for i := 1; i <= n; i++ {
		got, err := s.Get(t.Context(), p, store.Ref{ID: id(i)})
		if err != nil || len(got.Body) != 508 || binary.BigEndian.Uint64(got.Body[500:]) != uint64(i) {
			t.Fatalf("message %d of %d: %+v, %v", i, n, got, err)
		}
	}
	if got, err := s.Check(t.Context(), p, store.CheckRequest{Limit: store.MaxListLimit}); err != nil || len(got.Problems) > 0 {
		t.Errorf("check: %+v, %v", got, err)
	}
	return s
}

// While messages are pushed and the log is merged, each backup has all that was
// acknowledged before it began.
func TestBackup_UnderLoad(t *testing.T) {
	t.Parallel()
	s, dir := backupRig(t)
	var acknowledged atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			if err := pushNumbered(context.WithoutCancel(ctx), s, "p", n); err != nil {
				t.Error(err)
				return
			}
			acknowledged.Store(int64(n))
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			if oldest, active := s.log.Ends(); oldest < active {
				if err := s.care.merge(context.WithoutCancel(ctx), oldest); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for i := range 5 {
		for target := acknowledged.Load() + 60; acknowledged.Load() < target && !t.Failed(); {
			if err := s.log.Synced(t.Context(), s.log.End()); err != nil { // waits
				t.Fatal(err)
			}
		}
		before := int(acknowledged.Load())
		to := fmt.Sprint(dir, ".backup", i)
		if err := s.Backup(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		mustClose(t, mustHold(t, to, before))
	}
	stop()
	wg.Wait()
	mustClose(t, s)
}

// The copy is used and merged, and then the store is: neither changes the other.
func TestBackup_CopyAndStoreAreIndependent(t *testing.T) {
	t.Parallel()
	s, dir := backupRig(t)
	copied := dir + ".backup"
	pushAll(t, s, 1, 50)
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	before := logsOf(t, dir)
	other := mustHold(t, copied, 50)
	pushAll(t, other, 51, 100)
	for oldest, last := other.log.Ends(); oldest < last; oldest, _ = other.log.Ends() {
		if err := other.care.merge(t.Context(), oldest); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, other)
	if after := logsOf(t, dir); !slices.Equal(before, after) {
		t.Error("using the copy has changed the files of the store")
	}
	mustClose(t, s)
	mustClose(t, mustHold(t, dir, 50))
	mustClose(t, mustHold(t, copied, 100))
}

// pushAll pushes the messages with the numbers from first to last.
func pushAll(t *testing.T, s *Store, first, last int) {
	t.Helper()
	for n := first; n <= last; n++ {
		if err := pushNumbered(t.Context(), s, "p", n); err != nil {
			t.Fatal(err)
		}
	}
}

func logsOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	return all
}

func TestBackup_SharesFilesThatNeverChange(t *testing.T) {
	t.Parallel()
	s, dir := backupRig(t)
	copied := dir + ".backup"
	pushAll(t, s, 1, 50)
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(copied, "*.log"))
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	for i, name := range names {
		mine, err := os.Stat(filepath.Join(dir, filepath.Base(name)))
		if err != nil {
			t.Fatal(err)
		}
		its, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if last := i == len(names)-1; os.SameFile(mine, its) == last {
			t.Errorf("%s: the same file: %v, want it of all but the last", filepath.Base(name), !last)
		}
	}
}

func TestBackup_Refused(t *testing.T) {
	t.Parallel()
	s, dir := backupRig(t)
	if err := s.Backup(t.Context(), dir); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("into a directory that exists: %v", err)
	}
	if err := NewMemory(Config{}).Backup(t.Context(), dir+".backup"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("of a store in memory: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.backup(ctx, dir+".ended"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if found, err := filepath.Glob(dir + ".*"); err != nil || len(found) > 0 {
		t.Errorf("left behind: %v, %v", found, err)
	}
	mustClose(t, s)
	if err := s.Backup(t.Context(), dir+".closed"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}
