package push

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// TestHandler_WebhooksArriveByteForByte sends real webhooks over HTTP, and posts them to an
// endpoint that fails at first.
func TestHandler_WebhooksArriveByteForByte(t *testing.T) {
	t.Parallel()
	bodies := webhooks(t)
	client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	api, err := dueqhttp.Handler(client, &dueqhttp.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for key, body := range bodies {
		message, err := json.Marshal(map[string]string{"key": key, "body": string(body)})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/queues/webhooks/messages", bytes.NewReader(message))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", key, w.Code, w.Body)
		}
	}
	got := newInbox(t, len(bodies))
	consume, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	h := handler(t, Target{URL: got.url, Secrets: []string{secretText}, Allow: []string{"127.0.0.1"}})
	go func() {
		ended <- client.Queue("webhooks").Consume(consume, h, dueq.ConsumeOptions{Concurrency: 20, Backoff: dueq.Backoff(0, 0)})
	}()
	select {
	case <-got.full:
	case err := <-ended:
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for key, body := range bodies {
		if !bytes.Equal(got.bodies[key], body) {
			t.Errorf("%s: %d bytes arrived that are not the %d that were sent", key, len(got.bodies[key]), len(body))
		}
	}
	s, err := client.Queue("webhooks").Stats(t.Context())
	if n := int64(len(bodies)); err != nil || s.Counters.Acked != n || s.Counters.Nacked != n || s.Ready+s.Scheduled+s.Leased+s.Dead != 0 {
		t.Errorf("%+v, %v, want %d acked after a failure each", s, err, n)
	}
}

// inbox is an endpoint that refuses each message once and keeps it the second time.
type inbox struct {
	url    string
	full   chan struct{}
	mu     sync.Mutex
	bodies map[string][]byte // by key; nil after the first request
}

func newInbox(t *testing.T, want int) *inbox {
	t.Helper()
	in := &inbox{full: make(chan struct{}), bodies: map[string][]byte{}}
	secret, err := parseSecret(secretText)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	in.url, _ = endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
		if err != nil || r.Header.Get("Webhook-Signature") != signature(secret, id, at, body) {
			t.Errorf("the request has no signature of its body: %v, %v", r.Header, err)
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		key := r.Header.Get("Dueq-Key")
		old, seen := in.bodies[key]
		if in.bodies[key] = nil; !seen {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if old != nil {
			t.Errorf("%s was posted after it was accepted", key)
		}
		in.bodies[key] = body
		if kept++; kept == want {
			close(in.full)
		}
	})
	return in
}

// webhooks returns real webhooks by key if their file is beside the checkout.
func webhooks(t *testing.T) map[string][]byte {
	t.Helper()
	const beside = "../../../shared/data/webhooks.jsonl"
	f, err := os.Open(beside)
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("SKIPPED: %s is not there: sending those of the example", beside)
		f, err = os.Open("../../examples/webhooks/testdata/webhooks.jsonl")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	found := map[string][]byte{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Key  string
			Body json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		found[strings.ReplaceAll(line.Key, "/", "-")] = line.Body
	}
	if err := lines.Err(); err != nil || len(found) < 12 {
		t.Fatalf("%d webhooks, error %v", len(found), err)
	}
	return found
}
