package dueq_test

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// A worker finds queues by a glob, and handles each message once, beside another worker.
func TestWorker_OnRedis(t *testing.T) {
	t.Parallel()
	workAll(t, clientOnRedis(t))
}

func TestWorker_OnACluster(t *testing.T) {
	t.Parallel()
	var hosts []string
	for _, n := range redistest.StartCluster(t, 3) {
		hosts = append(hosts, n.Addr())
	}
	client := opened(t)(dueq.Open(t.Context(), "redis+cluster://"+strings.Join(hosts, ","), &dueq.Options{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() { _ = client.Close() })
	workAll(t, client)
}

// workAll sends messages to several queues, and runs two workers until all are handled.
func workAll(t *testing.T, client *dueq.Client) {
	t.Helper()
	const queues, each = 5, 200
	for i := range queues {
		results, err := client.Queue("tenant."+strconv.Itoa(i)).SendBatch(t.Context(), make([]dueq.Message, each))
		if err != nil || slices.ContainsFunc(results, func(r dueq.SendResult) bool { return r.Err != nil }) {
			t.Fatal(err, results)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	seen := &tally{}
	h := afterAll(queues*each, stop, func(_ context.Context, d *dueq.Delivery) error {
		seen.add(d.ID)
		return nil
	})
	var running sync.WaitGroup
	for range 2 {
		w, err := dueq.NewWorker(client, dueq.WorkerOptions{Concurrency: 4})
		if err == nil {
			err = w.Handle("tenant.*", h, dueq.HandleOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if seen.distinct() != queues*each || seen.total() != queues*each {
		t.Errorf("%d messages handled %d times, want %d once each", seen.distinct(), seen.total(), queues*each)
	}
}
