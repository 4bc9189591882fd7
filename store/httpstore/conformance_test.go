package httpstore_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
	"github.com/dueq-dev/dueq/store/redisstore"
	"github.com/dueq-dev/dueq/store/storetest"
)

// handClock is a clock that only the test moves.
type handClock struct{ micros atomic.Int64 }

func (c *handClock) now() time.Time { return time.UnixMicro(c.micros.Load()) }

// inMemory returns a harness of a store behind a server with a store in memory. wrap changes the
// handler of the server.
func inMemory(t *testing.T, wrap func(http.Handler) http.Handler) storetest.Harness {
	t.Helper()
	clock := &handClock{}
	clock.micros.Store(time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC).UnixMicro())
	s := embedded.NewMemory(embedded.Config{Now: clock.now})
	server := serve(t, s, dueqhttp.Options{}, wrap)
	return storetest.Harness{
		Store:   open(t, server.URL),
		Timeout: patience,
		Now:     clock.now,
		Advance: func(d time.Duration) {
			clock.micros.Add(d.Microseconds())
			s.ClockMoved()
		},
		Reopen:     func(t testing.TB) store.Store { return open(t, server.URL) },
		ModelSteps: 50,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness { return inMemory(t, unchanged) })
}

// TestRedisConformance shows the race detector no code that it does not see in TestConformance and in the conformance
// test of redisstore.
func TestRedisConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: conformance is tested with one store behind the server")
	}
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		rdb, prefix := redistest.Shared(t).Client(t), redistest.Prefix()
		s, err := redisstore.New(rdb, redisstore.Config{Prefix: prefix, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		server := serve(t, s, dueqhttp.Options{}, unchanged)
		return storetest.Harness{
			Store:        open(t, server.URL),
			Timeout:      patience,
			ExpireLeases: func(t testing.TB, p store.Partition) { expireLeases(t, rdb, prefix, p) },
			Reopen:       func(t testing.TB) store.Store { return open(t, server.URL) },
			ModelSteps:   20,
		}
	})
}

// expireLeases moves the deadlines of a partition's leases to the past, in their order.
func expireLeases(t testing.TB, rdb redis.UniversalClient, prefix string, p store.Partition) {
	t.Helper()
	key := fmt.Sprintf("%s:{%s}:leased", prefix, p)
	leases, err := rdb.ZRangeByScoreWithScores(t.Context(), key, &redis.ZRangeBy{Min: "-inf", Max: "(4503599627370496"}).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases {
		lease.Score -= 2 * store.MaxLease * 1024 // the lower bits are the aliases of holders
		if err := rdb.ZAddXX(t.Context(), key, lease).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A call whose answer was lost is repeated and gets the answer of its first try. The port allows
// another answer to a repeated settlement, Gone, and to a repeated deletion of a queue.
func TestModel_AnswersGetLost(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		if !strings.HasSuffix(t.Name(), "/Model") {
			t.Skip("SKIPPED: only the model allows for the answer to a repeated settle")
		}
		h := inMemory(t, losing(6, wire.Settle, wire.Delete))
		h.ModelSteps = 20
		return h
	})
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded.NewMemory(embedded.Config{}), dueqhttp.Options{}, unchanged)
	storetest.Concurrent(t, storetest.Harness{Store: open(t, server.URL)})
}

// losing returns what makes a server carry out each n-th call, and close the connection instead of
// answering it, except some methods. A claim that acks what it hands out is answered: its messages
// would be gone.
func losing(n int64, except ...string) func(http.Handler) http.Handler {
	var calls atomic.Int64
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the client has closed the connection
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			method := strings.TrimPrefix(r.URL.Path, wire.Path)
			answered := method == wire.Watch || slices.Contains(except, method) || bytes.Contains(body, []byte(`"ack_on_claim":true`))
			if answered || calls.Add(1)%n != 0 {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	}
}

// A consumer and a sender work over a connection that breaks again and again: each message is
// stored once, and handled once.
func TestConsume_AnswersGetLost(t *testing.T) {
	t.Parallel()
	const n = 200
	behind := embedded.NewMemory(embedded.Config{})
	server := serve(t, behind, dueqhttp.Options{}, losing(4))
	client, err := dueq.Open(t.Context(), server.URL, &dueq.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	q := client.Queue("orders")
	for range n {
		if _, err := q.Send(t.Context(), dueq.Message{Body: []byte("order")}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	var handled atomic.Int64
	err = q.Consume(ctx, func(context.Context, *dueq.Delivery) error {
		if handled.Add(1) == n {
			end()
		}
		return nil
	}, dueq.ConsumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := behind.Stats(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if c := all[0].Counters; c.Sent != n || c.Delivered != n || c.Acked != n || handled.Load() != n {
		t.Errorf("handled %d, counters %+v, want %d of each", handled.Load(), c, n)
	}
}
