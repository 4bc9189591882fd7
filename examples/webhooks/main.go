// Webhooks posts messages to the endpoints in their headers. In the directory examples,
//
//	go run -C .. ./cmd/dueq import --store file:examples/queue -q webhooks examples/webhooks/testdata/webhooks.jsonl
//	go run ./webhooks
//
// Nothing listens at these endpoints, so it backs off. "go run ./webhooks URL" redrives what died for one.
package main

import (
	"bytes"
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/dueq-dev/dueq"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := dueq.Open(ctx, "file:queue", nil)
	if err == nil {
		err = errors.Join(run(ctx, client.Queue("webhooks"), os.Args[1:]), client.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, webhooks *dueq.Queue, mended []string) error {
	for _, endpoint := range mended {
		filter := dueq.Filter{Headers: map[string]string{"endpoint": endpoint}}
		if _, err := webhooks.RedriveAll(ctx, filter, &dueq.BulkOptions{Spread: time.Second}); err != nil {
			return err
		}
	}
	var s sender
	return webhooks.Consume(ctx, s.post, dueq.ConsumeOptions{Concurrency: 50, Timeout: time.Minute, Backoff: s.backoff})
}

type sender struct{ failing sync.Map } // endpoint to when it began to fail

func (s *sender) post(ctx context.Context, d *dueq.Delivery) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Headers["endpoint"], bytes.NewReader(d.Body))
	if err != nil {
		return dueq.Reject(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", d.ID) // the same when it is posted again
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	busy, unknown := time.ParseDuration(response.Header.Get("Retry-After") + "s")
	switch code := response.StatusCode; {
	case code < 300:
		s.failing.Delete(d.Headers["endpoint"])
		return nil
	case unknown == nil:
		return dueq.Snooze(busy, response.Status) // no failure
	case code < 500:
		return dueq.Reject(errors.New(response.Status)) // a dead letter: it would be refused again
	default:
		return errors.New(response.Status)
	}
}

// backoff waits as long as the endpoint has failed so far, at least a second.
func (s *sender) backoff(d *dueq.Delivery, _ error) time.Duration {
	began, _ := s.failing.LoadOrStore(d.Headers["endpoint"], time.Now())
	return min(max(time.Second, time.Since(began.(time.Time))), time.Hour)
}
