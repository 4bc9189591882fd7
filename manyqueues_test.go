package dueq_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store/embedded"
)

// TestClient_QueuesThatAreNotUsedTakeNoMemory uses each of many queues once, as a program
// with a queue for each of its users does, and deletes them in another process.
func TestClient_QueuesThatAreNotUsedTakeNoMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	synctest.Test(t, func(t *testing.T) {
		s := embedded.NewMemory(embedded.Config{})
		quiet := &dueq.Options{Logger: slog.New(slog.DiscardHandler)}
		client, other := opened(t)(dueq.New(s, quiet)), opened(t)(dueq.New(s, quiet))
		use := func(first, last int) {
			for i := first; i < last; i++ {
				q := client.Queue(fmt.Sprintf("user-%d", i))
				if _, err := q.Send(t.Context(), dueq.Message{Body: []byte("hello")}); err != nil {
					t.Fatal(err)
				}
				ds, err := q.Receive(t.Context(), dueq.ReceiveOptions{})
				if err != nil || len(ds) != 1 {
					t.Fatal(len(ds), err)
				}
				if err := ds[0].Ack(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := other.DeleteQueue(t.Context(), fmt.Sprintf("user-%d", i), nil); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Hour) //nolint:forbidigo // of the bubble's clock
		}
		use(0, 100)
		bytes, goroutines := inUse()
		use(100, 10_100)
		after, now := inUse()
		if after-bytes > 1<<20 || now > goroutines {
			t.Errorf("10,000 queues that are gone take %d KiB and %d goroutines", (after-bytes)>>10, now-goroutines)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
}

// inUse returns how many bytes of the heap can be reached, and how many goroutines there are.
func inUse() (bytes int64, goroutines int) {
	var m runtime.MemStats
	for range 3 { // pools are emptied by the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), runtime.NumGoroutine()
}
