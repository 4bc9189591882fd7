package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/examples/internal/crash"
)

// TestMain runs the program, in the processes that the test starts, until as many webhooks
// as the file "settled" says have been accepted or have died. It redrives what died for the endpoint
// in the file "redrive".
func TestMain(m *testing.M) {
	crash.Main(m, func(dir string) error {
		settled, err := os.ReadFile(dir + "/settled")
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(settled), 10, 64)
		if err != nil {
			return err
		}
		mended, err := os.ReadFile(dir + "/mended")
		if err != nil {
			return err
		}
		client, err := dueq.Open(context.Background(), "file:"+dir+"/queue", nil)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		http.DefaultTransport = &transport{next: http.DefaultTransport}
		webhooks := client.Queue("webhooks")
		go crash.WhenSettled(webhooks, n, stop)
		return errors.Join(run(ctx, webhooks, strings.Fields(string(mended))), client.Close())
	})
}

// transport reaches a step before and after each request, where the process can be killed. A header
// has the number of the process.
type transport struct {
	next  http.RoundTripper
	steps crash.Steps
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.steps.Reach("posting")
	r = r.Clone(r.Context())
	r.Header.Set("Process", strconv.Itoa(os.Getpid()))
	response, err := t.next.RoundTrip(r)
	t.steps.Reach("posted")
	return response, err
}

// receiver has the endpoints: /steady accepts all. /flaky fails, and /busy answers with Retry-After,
// until they are calm and twice after that. /gone refuses all until it is mended, /away always.
type receiver struct {
	mu       sync.Mutex
	calm     bool
	mended   bool
	seen     map[string]int    // path to requests since it is calm
	accepted map[string][]byte // id to body
	twice    []string          // ids that one process has sent again after they were accepted
	by       map[[2]string]bool
}

func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm {
		s.seen[r.URL.Path]++
	}
	early := s.seen[r.URL.Path] <= 2
	switch {
	case r.URL.Path == "/flaky" && early:
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == "/busy" && early:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/gone" && !s.mended, r.URL.Path == "/away":
		w.WriteHeader(http.StatusGone)
	default:
		id := r.Header.Get("Idempotency-Key")
		by := [2]string{id, r.Header.Get("Process")}
		if s.by[by] {
			s.twice = append(s.twice, id)
		}
		s.by[by], s.accepted[id] = true, body
	}
}

func TestWebhooks_EachIsAccepted(t *testing.T) {
	receiver := &receiver{seen: map[string]int{}, accepted: map[string][]byte{}, by: map[[2]string]bool{}}
	server := httptest.NewServer(receiver)
	defer server.Close()
	dir := t.TempDir()
	bodies := map[string][]byte{} // of those that are accepted in the end
	gone, away := 0, 0
	inQueue(t, dir, func(q *dueq.Queue) {
		// So that messages of a killed process are due again soon.
		if err := q.Create(t.Context(), dueq.Settings{Lease: time.Second}); err != nil {
			t.Fatal(err)
		}
		for i, m := range payloads(t) {
			path := []string{"/steady", "/flaky", "/busy", "/gone", "/away"}[i%5]
			m.Headers = map[string]string{"endpoint": server.URL + path}
			id, err := q.Send(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			switch path {
			case "/away":
				away++
				continue
			case "/gone":
				gone++
			}
			bodies[id] = m.Body
		}
	})
	expect(t, dir, "settled", strconv.Itoa(len(bodies)+away))
	expect(t, dir, "mended", "")
	for _, step := range []string{"posting", "posted"} {
		crash.Run(t, dir, step, 1)
		crash.Run(t, dir, step, 2)
	}
	receiver.mu.Lock()
	receiver.calm = true
	receiver.mu.Unlock()
	crash.Run(t, dir, "", 0)
	inQueue(t, dir, func(q *dueq.Queue) {
		s, err := q.Stats(t.Context())
		if err != nil || s.Dead != int64(gone+away) || s.Counters.Snoozed == 0 || s.Counters.Nacked == 0 {
			t.Errorf("%+v, error %v: want %d dead, and some snoozed and some failed", s, err, gone+away)
		}
	})
	receiver.mu.Lock()
	receiver.mended = true
	receiver.mu.Unlock()
	expect(t, dir, "settled", strconv.Itoa(len(bodies)+away+gone))
	expect(t, dir, "mended", server.URL+"/gone")
	crash.Run(t, dir, "posted", 1)
	expect(t, dir, "mended", "")
	crash.Run(t, dir, "", 0)

	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	for id, body := range bodies {
		if !bytes.Equal(receiver.accepted[id], body) {
			t.Errorf("of %s %d bytes were accepted, want %d", id, len(receiver.accepted[id]), len(body))
		}
	}
	if len(receiver.accepted) != len(bodies) || len(receiver.twice) > 0 {
		t.Errorf("%d webhooks were accepted, and %q again from the same process: want %d, and none", len(receiver.accepted), receiver.twice, len(bodies))
	}
	inQueue(t, dir, func(q *dueq.Queue) {
		if s, err := q.Stats(t.Context()); err != nil || s.Dead != int64(away) || s.Counters.Gone() != int64(len(bodies)) {
			t.Errorf("%+v, error %v: want what was refused for good dead, and nothing else left", s, err)
		}
	})
}

// An endpoint gets no request for as long as it has failed so far, whichever message it failed for,
// until it accepts one.
func TestBackoff_IsPerEndpoint(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	var s sender
	failing := &dueq.Delivery{ID: "1", Headers: map[string]string{"endpoint": server.URL}}
	other := &dueq.Delivery{ID: "2", Headers: map[string]string{"endpoint": server.URL + "/other"}}
	want := func(what string, d *dueq.Delivery, least, most time.Duration) {
		t.Helper()
		if got := s.backoff(d, nil); got < least || got > most {
			t.Errorf("%s: %s, want %s to %s", what, got, least, most)
		}
	}
	want("first failure", failing, time.Second, time.Second)
	s.failing.Store(server.URL, time.Now().Add(-10*time.Minute))
	want("after 10 minutes", failing, 10*time.Minute, 11*time.Minute)
	want("another endpoint", other, time.Second, time.Second)
	s.failing.Store(server.URL, time.Now().Add(-24*time.Hour))
	want("after a day", failing, time.Hour, time.Hour)
	if err := s.post(t.Context(), failing); err != nil {
		t.Fatal(err)
	}
	want("after it accepted one", failing, time.Second, time.Second)
}

// payloads returns real webhooks if their file is beside the checkout, otherwise a few generated ones.
func payloads(t *testing.T) []dueq.Message {
	t.Helper()
	const beside = "../../../shared/data/webhooks.jsonl"
	f, err := os.Open(beside)
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("%s is not there: sending those in testdata", beside)
		f, err = os.Open("testdata/webhooks.jsonl")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var messages []dueq.Message
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
		messages = append(messages, dueq.Message{Key: line.Key, Body: line.Body})
	}
	if err := lines.Err(); err != nil || len(messages) < 12 {
		t.Fatalf("%d webhooks, error %v", len(messages), err)
	}
	return messages
}

func expect(t *testing.T, dir, file, text string) {
	t.Helper()
	if err := os.WriteFile(dir+"/"+file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func inQueue(t *testing.T, dir string, do func(*dueq.Queue)) {
	t.Helper()
	client, err := dueq.Open(t.Context(), "file:"+dir+"/queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	do(client.Queue("webhooks"))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
}
