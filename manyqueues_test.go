package dueq_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store/embedded"
)

// One goroutine is that of the caller, one watches for hints. It is not parallel.
func TestConsume_IdleQueueCostsTwoGoroutines(t *testing.T) { //nolint:paralleltest // it counts the goroutines of the process
	const queues, others = 100, 20
	tests := []struct {
		name    string
		consume func(*dueq.Queue, context.Context) error
	}{
		{"one by one", func(q *dueq.Queue, ctx context.Context) error {
			return q.Consume(ctx, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{})
		}},
		{"in batches", func(q *dueq.Queue, ctx context.Context) error {
			return q.ConsumeBatch(ctx, func(context.Context, []*dueq.Delivery) error { return nil }, dueq.BatchOptions{})
		}},
	}
	for _, test := range tests { //nolint:paralleltest // see above
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				before := runtime.NumGoroutine()
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for i := range queues {
					q := client.Queue(fmt.Sprint("queue-", i))
					running.Go(func() {
						if err := test.consume(q, ctx); err != nil {
							t.Error(err)
						}
					})
					if _, err := q.SendBatch(t.Context(), make([]dueq.Message, 30)); err != nil {
						t.Fatal(err)
					}
				}
				pass(time.Minute)
				if n := runtime.NumGoroutine() - before; n > queues+others {
					t.Errorf("%d goroutines for %d idle queues, want at most one for each, and %d", n, queues, others)
				}
				stop()
				running.Wait()
				if err := client.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWorker_StartsOneQueueAfterTheOther(t *testing.T) {
	tests := []struct {
		name  string
		fault fault
		apart time.Duration
	}{
		{"slow server", slow, slowBy},
		{"hung server", hangs, 20 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				c := r.crew(dueq.WorkerOptions{})
				var asked []time.Time
				r.net.set(func(op string) fault { // one call at a time
					if op == "configure" {
						asked = append(asked, time.Now())
						return test.fault
					}
					return works
				})
				const queues = 10
				for i := range queues {
					c.handle(fmt.Sprint("queue-", i), 0, dueq.HandleOptions{})
				}
				c.run()
				r.sleep(queues * test.apart)
				r.net.set(nil)
				if len(asked) != queues {
					t.Fatalf("%d queues started, want %d", len(asked), queues)
				}
				for i := range asked[1:] {
					if apart := asked[i+1].Sub(asked[i]); apart != test.apart {
						t.Errorf("started %s apart, want %s", apart, test.apart)
					}
				}
				c.end()
			})
		})
	}
}

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
