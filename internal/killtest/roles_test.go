package killtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/dueq-dev/dueq"
)

const (
	queueName   = "flights"
	concurrency = 16
	prefetch    = 16
	lease       = 2 * time.Second
	batch       = 100
	lead        = 2 * time.Second // a flight is sent this long before it is due
)

// job is the task of a child process, passed in its environment.
type job struct {
	Role     string // "producer", "consumer", or one of poison_test.go and recurring_test.go
	Store    string
	Flights  string // file: JSON array of the flights with their mapped due times
	Progress string // producer: file with the number of flights that are known to be stored
	Log      string // consumer: file that gets a line for every delivery
	Settles  int    // recurring: the process kills itself after this number of answered settles; 0: never
}

// runRole is the main function of a child process.
func runRole(ctx context.Context, j job) error {
	if j.Role == roleRecurring {
		return recur(ctx, j)
	}
	client, err := dueq.Open(ctx, j.Store, nil)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	q := client.Queue(queueName)
	switch j.Role {
	case "producer":
		return produce(ctx, q, j)
	case roleExiter:
		return drain(ctx, q, exitOnPoison, 10)
	case roleHoarder:
		return drain(ctx, q, hoard(q, client.Queue("other")), 1)
	case roleDrainer:
		return drain(ctx, q, func(context.Context, *dueq.Delivery) error { return nil }, 10)
	}
	return consume(ctx, q, j)
}

// produce continues where the process before it was killed. The batch that was in flight
// then may be stored already: then its keys are refused as duplicates.
func produce(ctx context.Context, q *dueq.Queue, j job) error {
	var flights []flight
	data, err := os.ReadFile(j.Flights)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &flights); err != nil {
		return err
	}
	at, err := progress(j.Progress)
	if err != nil {
		return err
	}
	for at < len(flights) {
		end := min(at+batch, len(flights))
		if err := until(ctx, flights[at].Due.Add(-lead)); err != nil {
			return err
		}
		if err := sendAll(ctx, q, flights[at:end]); err != nil {
			return err
		}
		at = end
		if err := saveProgress(j.Progress, at); err != nil {
			return err
		}
	}
	return nil
}

func sendAll(ctx context.Context, q *dueq.Queue, flights []flight) error {
	messages := make([]dueq.Message, len(flights))
	for i, f := range flights {
		messages[i] = dueq.Message{Key: f.Key, Due: f.Due, Body: []byte(f.Key)}
	}
	results, err := q.SendBatch(ctx, messages)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil && !errors.Is(r.Err, dueq.ErrDuplicate) {
			return r.Err
		}
	}
	return nil
}

// progress returns the number in the file, 0 if there is no file.
func progress(file string) (int, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(data))
}

// saveProgress replaces the file atomically, so that a kill leaves the old number or the new
// one.
func saveProgress(file string, n int) error {
	next := file + ".next"
	if err := os.WriteFile(next, []byte(strconv.Itoa(n)), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// consume logs each delivery with one write, so that a killed process leaves whole
// lines only. Every 50th first delivery fails.
func consume(ctx context.Context, q *dueq.Queue, j job) error {
	log, err := os.OpenFile(j.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	handler := func(ctx context.Context, d *dueq.Delivery) error {
		now := time.Now()
		line := fmt.Sprintf("%s %d %d %d\n", d.Key, d.Attempt, d.Due.UnixMilli(), now.UnixMicro())
		if _, err := log.WriteString(line); err != nil {
			return err
		}
		if d.Attempt == 1 && now.UnixMicro()%50 == 0 {
			return errors.New("gate closed")
		}
		return until(ctx, now.Add(2*time.Millisecond))
	}
	return q.Consume(ctx, handler, dueq.ConsumeOptions{
		Concurrency: concurrency, Prefetch: prefetch, Lease: lease,
		Backoff: func(*dueq.Delivery, error) time.Duration { return 50 * time.Millisecond },
	})
}

func until(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
