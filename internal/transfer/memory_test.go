package transfer

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

type leaksNothing struct{ m *testing.M }

func (l leaksNothing) Run() int { return redistest.Main(l.m) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaksNothing{m}) }

// heap remembers the highest of the sizes of the heap that it has looked at.
type heap struct{ before, highest int64 }

func newHeap() *heap { return &heap{before: measure.Heap()} }

func (h *heap) look() { h.highest = max(h.highest, measure.Heap()-h.before) }

// measuredFile looks at the heap once for every 4 MiB that are written.
type measuredFile struct {
	io.Writer
	heap        *heap
	sum, looked int64
}

func (f *measuredFile) Write(b []byte) (int, error) {
	const every = 4 << 20
	if f.sum += int64(len(b)); f.sum-f.looked >= every {
		f.heap.look()
		f.looked = f.sum
	}
	return f.Writer.Write(b)
}

// measuredStore looks at the heap at every 16th restore.
type measuredStore struct {
	store.Store
	heap     *heap
	restores int
}

func (s *measuredStore) Restore(ctx context.Context, p store.Partition, r store.RestoreRequest) ([]store.Code, error) {
	if s.restores++; s.restores%16 == 0 {
		s.heap.look()
	}
	return s.Store.Restore(ctx, p, r)
}

func TestTransfer_MemoryDoesNotGrowWithTheMessages(t *testing.T) { //nolint:paralleltest // it looks at the heap
	if testing.Short() {
		t.Skip("SKIPPED with -short: no 40 MiB are exported")
	}
	const messages, size, most = 20_000, 2 << 10, 8 << 20 // 40 MiB of bodies
	open := func() *dueq.Client {
		client, err := dueq.Open(t.Context(), "unix://"+redistest.Shared(t).Addr()+"?prefix="+redistest.Prefix(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	from, to := open(), open()
	batch := make([]dueq.Message, 500)
	for i := range batch {
		batch[i].Body = make([]byte, size)
	}
	for range messages / len(batch) {
		if results, err := from.Queue("q").SendBatch(t.Context(), batch); err != nil || results.FirstErr() != nil {
			t.Fatal(err, results.FirstErr())
		}
	}
	name := filepath.Join(t.TempDir(), "export")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	used := newHeap()
	exported, err := Export(t.Context(), from.Store(), nil, &measuredFile{Writer: file, heap: used})
	if err != nil || exported.Messages != messages || used.highest > most {
		t.Errorf("exported %d messages, error %v, with %d bytes on the heap, want at most %d", exported.Messages, err, used.highest, most)
	}
	used = newHeap()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	imported, err := Import(t.Context(), &measuredStore{Store: to.Store(), heap: used}, file, "", nil)
	if err != nil || imported.Messages != messages || used.highest > most {
		t.Errorf("imported %d messages, error %v, with %d bytes on the heap, want at most %d", imported.Messages, err, used.highest, most)
	}
}
