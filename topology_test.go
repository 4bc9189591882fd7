package dueq_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// open returns a queue of a store that a URL names.
func open(ctx context.Context, t *testing.T, url string) *dueq.Queue {
	t.Helper()
	return openClient(ctx, t, url).Queue("work")
}

func openClient(ctx context.Context, t *testing.T, url string) *dueq.Client {
	t.Helper()
	client, err := dueq.Open(ctx, url, &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// sendNumbers sends a message for each number from from to to-1, with the number as its body.
func sendNumbers(ctx context.Context, t *testing.T, q *dueq.Queue, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := q.Send(ctx, dueq.Message{Body: []byte(strconv.Itoa(i))}); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// drainNumbers consumes until every body from 0 to n-1 has been seen, and returns how
// often each was.
func drainNumbers(ctx context.Context, t *testing.T, q *dueq.Queue, n int) map[string]int {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	seen := map[string]int{}
	err := q.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		seen[string(d.Body)]++
		if len(seen) == n {
			stop()
		}
		return nil
	}, dueq.ConsumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// The master is killed. Messages that one replica has confirmed survive, and a client continues
// without a restart.
func TestSentinel_FailoverLosesNothingReplicated(t *testing.T) {
	t.Parallel()
	sentinel, master, _ := redistest.StartSentinel(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	url := "redis+sentinel://" + sentinel.Addr() + "/" + redistest.MasterName
	sendNumbers(ctx, t, open(ctx, t, url+"?replicas=1"), 0, 50)
	q := open(ctx, t, url)
	if _, err := q.Stats(ctx); err != nil { // connects it to the master that dies now
		t.Fatal(err)
	}
	redistest.ReplaceMasterSoon(t, sentinel)
	master.Kill()
	sendNumbers(ctx, t, q, 50, 60)
	seen := drainNumbers(ctx, t, q, 60)
	for i := range 60 {
		if seen[strconv.Itoa(i)] == 0 {
			t.Errorf("message %d is lost", i)
		}
	}
	if report, err := q.Check(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("check: %v %v", report.Problems, err)
	}
}

func TestCluster_PartitionsAreSpreadOverMasters(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.Addr())
	}
	q := open(ctx, t, "redis+cluster://"+strings.Join(hosts, ","))
	partitions := 6
	if err := q.Create(ctx, dueq.Settings{Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	sendNumbers(ctx, t, q, 0, 120)
	seen := drainNumbers(ctx, t, q, 120)
	for i := range 120 {
		if seen[strconv.Itoa(i)] != 1 {
			t.Errorf("message %d was delivered %d times, want once", i, seen[strconv.Itoa(i)])
		}
	}
	if report, err := q.Check(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("check: %v %v", report.Problems, err)
	}
}
