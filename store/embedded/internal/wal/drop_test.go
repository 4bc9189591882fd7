package wal_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

func openLog(t *testing.T) *wal.Log {
	t.Helper()
	d, err := disk.OpenDir(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := wal.Open(wal.Config{Disk: d}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Errorf("close the directory: %v", err)
		}
	})
	return l
}

func appendFrame(t *testing.T, l *wal.Log) {
	t.Helper()
	if err := l.Admit(100, wal.Add); err != nil {
		t.Error(err)
		return
	}
	_, end := l.Append(make([]byte, 50))
	l.Release(100)
	if err := l.Kept(t.Context(), end); err != nil {
		t.Error(err)
	}
}

// The segment that was written to last is dropped, when nothing of it was needed any
// more, before the next one has got a byte.
func TestDrop_SegmentWrittenLast(t *testing.T) {
	l := openLog(t)
	appendFrame(t, l)
	for range 3 {
		if err := l.Roll(); err != nil {
			t.Fatal(err)
		}
		if err := l.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		appendFrame(t, l)
	}
}

// A segment is dropped while the committer is about to sync it for others: a writer
// that went on to the next segment has made it durable meanwhile.
func TestDrop_WhileTheCommitterSyncs(t *testing.T) {
	l := openLog(t)
	var senders sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		senders.Go(func() {
			for !t.Failed() {
				select {
				case <-stop:
					return
				default:
					appendFrame(t, l)
				}
			}
		})
	}
	for range 300 {
		if err := l.Roll(); err != nil {
			t.Error(err)
			break
		}
		if err := l.Written(l.End()); err != nil {
			t.Error(err)
			break
		}
		if oldest, active := l.Ends(); oldest != active {
			if err := l.Synced(t.Context(), l.End()); err != nil {
				t.Error(err)
				break
			}
			if err := l.Drop(t.Context()); err != nil {
				t.Error(err)
				break
			}
		}
	}
	close(stop)
	senders.Wait()
}
