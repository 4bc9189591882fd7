package dueqhttp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server on a loopback port, with a store in memory.
type rig struct {
	*testing.T
	client *dueq.Client // past the server
	server *httptest.Server
	logged *safeBuffer
	secret string // sent with each request; "": none
}

// serve starts a server with a handler.
func serve(t *testing.T, o *dueqhttp.Options) *rig {
	t.Helper()
	return serveOver(t, embedded.NewMemory(embedded.Config{}), o)
}

// serveOver starts a server with a handler, over a store.
func serveOver(t *testing.T, s store.Store, o *dueqhttp.Options) *rig {
	t.Helper()
	return serveWith(t, dueqhttp.Handler, s, o)
}

// serveWith starts a server with the handler that a function returns.
func serveWith(t *testing.T, build func(*dueq.Client, *dueqhttp.Options) (http.Handler, error), s store.Store, o *dueqhttp.Options) *rig {
	t.Helper()
	logged := newSafeBuffer()
	client, err := dueq.New(s, &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = s.Close()
	})
	options := dueqhttp.Options{}
	if o != nil {
		options = *o
	}
	options.Logger = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	handler, err := build(client, &options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &rig{T: t, client: client, server: server, logged: logged}
}

// answer is what the server said.
type answer struct {
	*rig
	what   string
	status int
	header http.Header
	body   []byte
}

// request returns a request with the rig's token.
func (r *rig) request(method, path, body string) *http.Request {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, r.server.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.secret != "" {
		request.Header.Set("Authorization", "Bearer "+r.secret)
	}
	return request
}

func (r *rig) do(method, path, body string) answer {
	r.Helper()
	return r.send(r.request(method, path, body))
}

func (r *rig) send(request *http.Request) answer {
	r.Helper()
	client := http.Client{
		Transport:     &http.Transport{}, // not shared: the end of another test closes idle connections
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		r.Fatal(err)
	}
	return answer{r, request.Method + " " + request.URL.Path, response.StatusCode, response.Header, read}
}

// want fails the test unless the answer has a status.
func (a answer) want(status int) answer {
	a.Helper()
	if a.status != status {
		a.Fatalf("%s: status %d, want %d: %s", a.what, a.status, status, a.body)
	}
	return a
}

// wantProblem fails the test unless the answer is a problem with a status, code and field.
func (a answer) wantProblem(status int, code, field string) answer {
	a.Helper()
	a.want(status)
	var p problem
	a.into(&p)
	if p.Status != status || p.Code != code || p.Field != field || p.Title == "" || a.header.Get("Content-Type") != "application/problem+json" {
		a.Fatalf("%s: %s (%s), want the code %s and the field %q", a.what, a.body, a.header.Get("Content-Type"), code, field)
	}
	return a
}

// problem is an error as callers see it.
type problem struct {
	Title, Code, Detail, Field, Value, Limit, Holder, Outcome, ID, Ref string
	Status                                                             int
}

func (a answer) into(v any) {
	a.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
}

// item is a message, delivery or result as callers see it: what a test needs of them.
type item struct {
	problem
	Receipt, Key, State, Due, Repeat string
	Body, LastFailure, DiedAt        string
	BodyBase64                       *string           `json:"body_base64"`
	BodySize                         int               `json:"body_size"`
	Failure                          string            `json:"last_failure"`
	IdempotencyKey                   string            `json:"idempotency_key"`
	MaxAttempts                      int               `json:"max_attempts"`
	LastAttempt                      bool              `json:"last_attempt"`
	ExpiresAt                        string            `json:"expires_at"`
	Headers                          map[string]string `json:"headers"`
	Attempt, Failures, Snoozes       int
	RecentFailures                   []struct {
		At, Text string
		Attempt  int
	} `json:"recent_failures"`
	Deduplicated bool
}

// sent sends a message, and returns its id.
func (r *rig) sent(queue, message string) string {
	r.Helper()
	var i item
	r.do("POST", "/v1/queues/"+queue+"/messages", message).want(http.StatusCreated).into(&i)
	return i.ID
}

// received receives one message.
func (r *rig) received(queue string) item {
	r.Helper()
	var got struct{ Deliveries []item }
	r.do("POST", "/v1/queues/"+queue+"/receive", `{}`).want(http.StatusOK).into(&got)
	if len(got.Deliveries) != 1 {
		r.Fatalf("received %d deliveries, want 1", len(got.Deliveries))
	}
	return got.Deliveries[0]
}

// get returns a message.
func (r *rig) get(queue, ref string) item {
	r.Helper()
	var i item
	r.do("GET", "/v1/queues/"+queue+"/messages/"+ref, "").want(http.StatusOK).into(&i)
	return i
}

func (r *rig) stats(queue string) dueq.Stats {
	r.Helper()
	s, err := r.client.Queue(queue).Stats(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// quoted returns a text as JSON.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

type safeBuffer struct {
	mu      sync.Mutex
	written sync.Cond // on mu
	b       bytes.Buffer
}

func newSafeBuffer() *safeBuffer {
	b := &safeBuffer{}
	b.written.L = &b.mu
	return b
}

// await waits until a text was written.
func (b *safeBuffer) await(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !strings.Contains(b.b.String(), text) {
		b.written.Wait()
	}
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.written.Broadcast()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
