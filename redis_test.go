package dueq_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// onRedis returns a queue on the shared server.
func onRedis(t *testing.T) *dueq.Queue {
	t.Helper()
	return clientOnRedis(t).Queue("work")
}

func clientOnRedis(t *testing.T) *dueq.Client {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	client := opened(t)(dueq.NewRedis(rdb, &dueq.Options{Prefix: redistest.Prefix(), Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// afterAll calls stop in the n-th handler.
func afterAll(n int, stop func(), h dueq.Handler) dueq.Handler {
	var handled atomic.Int64
	return func(ctx context.Context, d *dueq.Delivery) error {
		err := h(ctx, d)
		if handled.Add(1) == int64(n) {
			stop()
		}
		return err
	}
}

// A message that is sent again with its id is not stored again, whatever its state.
func TestRedis_SendAgainStoresNothingTwice(t *testing.T) {
	t.Parallel()
	q := onRedis(t)
	ctx := t.Context()
	once, err := q.Send(ctx, dueq.Message{Body: []byte("once")})
	if err != nil {
		t.Fatal(err)
	}
	batch := []dueq.Message{{Body: []byte("first")}, {Body: []byte("second")}}
	results, err := q.SendBatch(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	ds, err := q.Receive(ctx, dueq.ReceiveOptions{Max: 10})
	if err != nil || len(ds) != 3 {
		t.Fatalf("%d deliveries, %v, want 3", len(ds), err)
	}
	if id, err := q.Send(ctx, dueq.Message{ID: once, Body: []byte("once")}); id != once || err != nil {
		t.Errorf("%q, %v, want %q", id, err, once)
	}
	batch[0].ID, batch[1].ID = results[0].ID, results[1].ID
	if _, err := q.SendBatch(ctx, batch); err != nil {
		t.Error(err)
	}
	if again, err := q.Receive(ctx, dueq.ReceiveOptions{Max: 10}); err != nil || len(again) != 0 {
		t.Errorf("%d deliveries, %v, want none again", len(again), err)
	}
}

func TestRedis_NeverEarlyAndNotLate(t *testing.T) {
	t.Parallel()
	q := onRedis(t)
	const messages = 300
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range messages {
			delay := time.Duration(50+i%7*13)*time.Millisecond + time.Duration(i)*time.Microsecond
			if _, err := q.Send(ctx, dueq.Message{Delay: delay, Body: []byte(time.Now().Add(delay).Format(time.RFC3339Nano))}); err != nil {
				t.Error(err)
			}
		}
	})
	var mu sync.Mutex
	var late []time.Duration
	err := q.Consume(ctx, afterAll(messages, stop, func(_ context.Context, d *dueq.Delivery) error {
		due, err := time.Parse(time.RFC3339Nano, string(d.Body)) // the due time counts from an instant after this one
		mu.Lock()
		defer mu.Unlock()
		late = append(late, time.Since(due))
		return err
	}), dueq.ConsumeOptions{})
	sending.Wait()
	if err != nil || len(late) != messages {
		t.Fatalf("handled %d of %d, error %v", len(late), messages, err)
	}
	spread := measure.SpreadOf(late)
	if spread.Min < 0 {
		t.Errorf("delivered %.3f ms early", -spread.Min)
	}
	t.Logf("lateness %s", spread)
}

func TestRedis_IdleConsumerSendsAtMostOneCommandASecond(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: not looking at an idle consumer for 35 s")
	}
	t.Parallel()
	server := redistest.Start(t)
	watch := server.Client(t)
	client := opened(t)(dueq.NewRedis(server.Client(t), &dueq.Options{Logger: slog.New(slog.DiscardHandler)}))
	q := client.Queue("work")
	if _, err := q.Send(t.Context(), dueq.Message{Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- q.Consume(ctx, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{})
	}()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for onDuty := false; !onDuty; { // on trial it asks for its duties at each beat
		<-second.C
		members, err := q.Members(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		onDuty = len(members) == 1 && !members[0].Trial
	}
	began, before := time.Now(), commandsFromClients(t, watch)
	// Beats, looks and pings have periods of their own, so that many of them can fall into a short span.
	over := time.After(20 * time.Second)
	<-over
	commands, took := commandsFromClients(t, watch)-before, time.Since(began)
	stop()
	if commands > int(took.Seconds()) {
		t.Errorf("%d commands in %s, want at most one a second", commands, took)
	}
	if err := errors.Join(<-done, client.Close()); err != nil {
		t.Error(err)
	}
}

// commandsFromClients returns how many commands clients have sent to a server. It leaves out those
// that scripts call, which are in the statistics, too.
func commandsFromClients(t *testing.T, rdb *redis.Client) int {
	t.Helper()
	stats, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	sent := []string{"evalsha", "eval", "ping", "subscribe", "unsubscribe", "hello", "client|setinfo", "client|setname", "client|maint_notifications", "script|load"}
	n := 0
	for line := range strings.Lines(stats) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !ok || !slices.Contains(sent, name) {
			continue
		}
		calls, err := strconv.Atoi(rest[:strings.IndexByte(rest, ',')])
		if err != nil {
			t.Fatal(err)
		}
		n += calls
	}
	return n
}

func TestRedis_ServerIsKilledAndRestarted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	rdb := server.Client(t)
	client := opened(t)(dueq.NewRedis(rdb, &dueq.Options{Logger: slog.New(slog.DiscardHandler)}))
	q := client.Queue("work")
	const messages = 200
	for range messages {
		if _, err := q.Send(t.Context(), dueq.Message{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var seen tally
	var handled atomic.Int64
	halfway, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- q.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
			if seen.add(d.ID) > 1 {
				return nil
			}
			switch handled.Add(1) { // each number comes once, however many handlers run
			case messages / 2:
				close(halfway)
			case messages:
				stop()
			}
			return nil
		}, dueq.ConsumeOptions{Concurrency: 4, Lease: 2 * time.Second})
	}()
	select {
	case <-halfway:
	case err := <-done:
		t.Fatalf("Consume ended with %v after %d messages", err, handled.Load())
	}
	server.Kill()
	server.Restart(t)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if seen.distinct() != messages {
		t.Errorf("handled %d of %d", seen.distinct(), messages)
	}
	report, err := q.Check(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %v, %v", report.Problems, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}

func TestRedis_CancelStopsARunningHandler(t *testing.T) {
	t.Parallel()
	q := onRedis(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	id, err := q.Send(ctx, dueq.Message{})
	if err != nil {
		t.Fatal(err)
	}
	var cause error
	err = q.Consume(ctx, func(ctx context.Context, d *dueq.Delivery) error {
		defer stop()
		if err := q.Cancel(ctx, dueq.ID(d.ID)); !errors.Is(err, dueq.ErrRunning) {
			t.Errorf("cancel: %v, want ErrRunning", err)
		}
		<-ctx.Done()
		cause = context.Cause(ctx)
		return ctx.Err()
	}, dueq.ConsumeOptions{})
	if err != nil || !errors.Is(cause, dueq.ErrCancelled) {
		t.Errorf("cause %v, error %v, want ErrCancelled", cause, err)
	}
	if _, err := q.Get(t.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrNotFound) {
		t.Errorf("%v, want it gone", err)
	}
}

func TestOpen_Redis(t *testing.T) {
	t.Parallel()
	url := "unix://" + redistest.Shared(t).Addr() + "?prefix=" + redistest.Prefix()
	client, err := dueq.Open(t.Context(), url, &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	q := client.Queue("work")
	if _, err := q.Send(t.Context(), dueq.Message{Key: "k"}); err != nil {
		t.Error(err)
	}
	if due, err := q.Receive(t.Context(), dueq.ReceiveOptions{Wait: time.Second}); err != nil || len(due) != 1 {
		t.Errorf("%d deliveries, %v", len(due), err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
