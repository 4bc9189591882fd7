package dueqhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// endless is a body that never ends, and counts what is read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += int64(len(p))
	return len(p), nil
}

func TestLimits_LargeBodyIsNotRead(t *testing.T) {
	t.Parallel()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	h, err := dueqhttp.Handler(client, &dueqhttp.Options{MaxRequest: 100_000, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for length, most := range map[int64]int64{1 << 30: 0, -1: 400_000, 100_001: 0} {
		body := &endless{}
		request, w := httptest.NewRequest(http.MethodPost, "http://localhost/v1/queues/work/messages", io.LimitReader(body, 1<<30)), httptest.NewRecorder()
		request.ContentLength = length
		request.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, request)
		a := answer{&rig{T: t}, "POST", w.Code, w.Header(), w.Body.Bytes()}
		var p problem
		a.wantProblem(http.StatusRequestEntityTooLarge, "too_large", "").into(&p)
		if p.Limit != "100000 bytes" || body.read > most {
			t.Errorf("length %d: %d bytes were read, want at most %d; %+v", length, body.read, most, p)
		}
	}
}

func TestLimits_RequestOfTheLargestSizeIsServed(t *testing.T) {
	t.Parallel()
	r := serve(t, &dueqhttp.Options{MaxRequest: 1000})
	r.do("POST", "/v1/queues/work/messages", `{"body":"`+strings.Repeat("b", 989)+`"}`).want(http.StatusCreated)
	r.do("POST", "/v1/queues/work/messages", `{"body":"`+strings.Repeat("b", 990)+`"}`).wantProblem(http.StatusRequestEntityTooLarge, "too_large", "")
}

func TestRoutes_OthersAreProblems(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("GET", "/", "").wantProblem(http.StatusNotFound, "not_found", "")
	r.do("POST", "/v2/queues", "").wantProblem(http.StatusNotFound, "not_found", "")
	r.do("GET", "/debug/pprof/", "").wantProblem(http.StatusNotFound, "not_found", "")
	a := r.do("PUT", "/v1/queues/work/receive", "").wantProblem(http.StatusMethodNotAllowed, "method_not_allowed", "")
	if a.header.Get("Allow") != "POST" {
		t.Errorf("Allow: %q", a.header.Get("Allow"))
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestProblem_HasTheFieldTheValueAndTheLimit(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("PUT", "/v1/queues/work", `{"max_body":10}`).want(http.StatusOK)
	for _, c := range []struct{ method, path, body, field, value, limit string }{
		{"POST", "/receive", `{"max":501}`, "max", "501", "1 to 500"},
		{"POST", "/receive", `{"wait":"61s"}`, "wait", "1m1s", "0s to 1m0s"},
		{"POST", "/receive", `{"lease":"0s"}`, "lease", "0s", "1s to 12h"},
		{"POST", "/receive", `{"max":"5"}`, "max", "string", "a whole number in range"},
		{"POST", "/messages", `{"delay":"soon"}`, "delay", "soon", ""},
		{"POST", "/messages", `{"delay":"3661d"}`, "delay", "3661d", "0 to 3660d (10 years)"},
		{"POST", "/messages", `{"key":"` + strings.Repeat("k", 300) + `"}`, "key", "300 bytes", "255 bytes"},
		{"POST", "/messages", `{"body":"SECRET-SECRET"}`, "body", "13 bytes", "10 bytes"},
		{"POST", "/messages", `{"headers":{"a":"SECRET\n"}}`, "headers", "a", ""},
		{"POST", "/settle", `{"verdicts":[]}`, "verdicts", "0", "1 to 5000"},
		{"PATCH", "", `{"partitions":5000}`, "partitions", "5000", ""},
		{"GET", "/messages?limit=1001", "", "limit", "1001", "1 to 1000"},
		{"GET", "/messages?state=late", "", "state", "late", "scheduled, ready, leased, dead, done"},
		{"GET", "/messages?cursor=" + strings.Repeat("x", 200), "", "cursor", strings.Repeat("x", 64), ""},
	} {
		var p problem
		a := r.do(c.method, "/v1/queues/work"+c.path, c.body)
		a.into(&p)
		if p.Field != c.field || p.Value != c.value || c.limit != "" && p.Limit != c.limit || strings.Contains(string(a.body), "SECRET") {
			t.Errorf("%s %s: %s, want the field %q, the value %q and the limit %q, and no secret", c.path, c.body, a.body, c.field, c.value, c.limit)
		}
	}
}

// failing is a store whose calls fail.
type failing struct {
	store.Store
	err error
}

func (f *failing) Push(context.Context, store.Partition, store.PushRequest) ([]store.PushResult, error) {
	return nil, f.err
}

func (f *failing) Stats(context.Context, string) ([]store.Stats, error) { return nil, f.err }

func (f *failing) Purge(context.Context, store.Partition, store.PurgeRequest) (store.PurgeResult, error) {
	return store.PurgeResult{}, f.err
}

func (f *failing) Members(context.Context, string) ([]store.LiveMember, error) {
	if f.err == nil {
		panic("a fault")
	}
	return nil, f.err
}

func (f *failing) Watch(ctx context.Context, _ string, _ func(store.Event)) error {
	if f.err == nil {
		panic("a fault")
	}
	<-ctx.Done()
	return nil
}

func (f *failing) Get(context.Context, store.Partition, store.Ref) (store.Record, error) {
	if f.err == nil {
		panic("a fault")
	}
	return store.Record{}, f.err
}

// broken starts a server with a store whose calls fail.
func broken(t *testing.T, cause error) *rig {
	t.Helper()
	client, err := dueq.New(&failing{embedded.NewMemory(embedded.Config{}), cause}, &dueq.Options{
		SendTimeout: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	logged := &safeBuffer{}
	h, err := dueqhttp.Handler(client, &dueqhttp.Options{Logger: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return &rig{T: t, client: client, server: server, logged: logged}
}

const someID = "067zzzzzzzzzzzzzzzzzzz0000" // of partition 0

func TestErrors_OfTheStoreAreLoggedAndNotSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause  error
		status int
		code   string
	}{
		{fmt.Errorf("dial tcp 10.1.2.3:6379: %w", store.ErrUnavailable), 503, "unavailable"},
		{fmt.Errorf("10.1.2.3: %w", store.ErrCorrupt), 500, "corrupt"},
		{errors.New("10.1.2.3: something else"), 500, "internal"},
		{errors.Join(store.ErrFailed, store.ErrUnavailable), 503, "failed"},
	} {
		r := broken(t, c.cause)
		a := r.do("GET", "/v1/queues", "").wantProblem(c.status, c.code, "")
		if strings.Contains(string(a.body), "10.1.2.3") || c.status == 503 && a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %v", a.body, a.header)
		}
		if !strings.Contains(r.logged.String(), c.cause.Error()) && c.code != "failed" {
			t.Errorf("the log has no %v:\n%s", c.cause, r.logged)
		}
	}
}

func TestSend_UnknownOutcomeHasTheID(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]struct {
		status int
		code   string
	}{store.ErrUnavailable: {503, "unavailable"}, store.ErrNotReplicated: {504, "not_replicated"}} {
		r := broken(t, cause)
		var p problem
		r.do("POST", "/v1/queues/work/messages", `{}`).wantProblem(want.status, want.code, "").into(&p)
		if p.Outcome != "unknown" || len(p.ID) != len(someID) {
			t.Errorf("%+v, want an id and an unknown outcome", p)
		}
		var got struct{ Results []item }
		r.do("POST", "/v1/queues/work/batch", `{"messages":[{},{"delay":"x"}]}`).want(http.StatusMultiStatus).into(&got)
		if g := got.Results[0]; g.Status != want.status || g.Outcome != "unknown" || g.ID == "" {
			t.Errorf("in a batch: %+v", g)
		}
	}
}

func TestAudit_UnknownOutcome(t *testing.T) {
	t.Parallel()
	r := broken(t, store.ErrUnavailable)
	if err := r.client.Queue("work").Create(t.Context(), dueq.Settings{}); err != nil {
		t.Fatal(err)
	}
	r.do("POST", "/v1/queues/work/purge", `{"filter":{"state":"dead"}}`).wantProblem(http.StatusServiceUnavailable, "unavailable", "")
	if log := r.logged.String(); !strings.Contains(log, "action=purge count=0 outcome=unknown queue=work") {
		t.Errorf("the log is\n%s", log)
	}
}

func TestPanic_EndsOnlyItsRequest(t *testing.T) {
	t.Parallel()
	r := broken(t, nil)
	a := r.do("GET", "/v1/queues/work/messages/"+someID, "").wantProblem(http.StatusInternalServerError, "internal", "")
	if strings.Contains(string(a.body), "goroutine") || strings.Contains(string(a.body), "a fault") || !strings.Contains(r.logged.String(), "a fault") {
		t.Errorf("answer %s, log:\n%s", a.body, r.logged)
	}
	r.do("GET", "/livez", "").want(http.StatusNoContent)
}

func TestLog_HasNoBodiesAndOneLineForEachRequest(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{}).with("admin")
	r.sent("work", `{"body":"SECRET\nlevel=ERROR","headers":{"a":"SECRET"},"key":"k"}`)
	r.received("work")
	r.do("GET", "/v1/queues/work/messages?header=a%3DSECRET", "").want(http.StatusOK)
	r.do("GET", "/v1/queues/a%0Alevel=ERROR", "").want(http.StatusBadRequest)
	log := r.logged.String()
	if strings.Contains(log, "SECRET") || strings.Contains(log, "\nlevel=ERROR") || strings.Contains(log, r.secret) {
		t.Errorf("the log has a body, a secret, or a line of a caller:\n%s", log)
	}
	if n := strings.Count(log, "dueqhttp: request"); n != 4 || strings.Count(log, "caller=admin") != 4 {
		t.Errorf("%d lines, want 4 with the name of the token:\n%s", n, log)
	}
}

func TestReady_NeedsTheStore(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("GET", "/readyz", "").want(http.StatusNoContent)
	r.do("GET", "/livez", "").want(http.StatusNoContent)
	if err := r.client.Close(); err != nil {
		t.Fatal(err)
	}
	r.do("GET", "/readyz", "").wantProblem(http.StatusServiceUnavailable, "unavailable", "")
	r.do("GET", "/livez", "").want(http.StatusNoContent)
}

func TestLimits_WaitingRequestsHaveABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		h, err := dueqhttp.Handler(client, &dueqhttp.Options{MaxInFlight: 1, MaxWaiting: 2, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Queue("work").Create(t.Context(), dueq.Settings{}); err != nil {
			t.Fatal(err)
		}
		request := func(body string) (w *httptest.ResponseRecorder, answered <-chan struct{}) {
			w = httptest.NewRecorder()
			answered = ask(t.Context(), h, w, "/v1/queues/work/receive", body)
			synctest.Wait()
			return w, answered
		}
		first, firstAnswered := request(`{"wait":"10s"}`)
		second, secondAnswered := request(`{"wait":"10s"}`)
		third, thirdAnswered := request(`{"wait":"10s"}`)
		<-thirdAnswered
		a := answer{&rig{T: t}, "POST", third.Code, third.Header(), third.Body.Bytes()}
		a.wantProblem(http.StatusTooManyRequests, "too_many_requests", "")
		if a.header.Get("Retry-After") == "" {
			t.Error("the answer has no Retry-After")
		}
		// Those that wait are not among those that are served.
		if w, answered := request(`{}`); true {
			<-answered
			answer{&rig{T: t}, "POST", w.Code, w.Header(), w.Body.Bytes()}.want(http.StatusNoContent)
		}
		<-firstAnswered
		<-secondAnswered
		fourth, fourthAnswered := request(`{"wait":"10s"}`)
		<-fourthAnswered
		for i, w := range []*httptest.ResponseRecorder{first, second, fourth} {
			if w.Code != http.StatusNoContent {
				t.Errorf("request %d that may wait: status %d, want 204", i, w.Code)
			}
		}
	})
}

// held is a body that arrives when it is released.
type held chan struct{}

func (h held) Read([]byte) (int, error) {
	<-h
	return 0, io.EOF
}

func TestLimits_ServedRequestsHaveABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		h, err := dueqhttp.Handler(client, &dueqhttp.Options{MaxInFlight: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		do := func(method, path string, body io.Reader) answer {
			w, request := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, body)
			request.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, request)
			return answer{&rig{T: t}, method, w.Code, w.Header(), w.Body.Bytes()}
		}
		body, served := make(held), make(chan answer, 1)
		go func() { served <- do("POST", "/v1/queues/work/messages", body) }()
		synctest.Wait()
		var p problem
		do("POST", "/v1/queues/work/messages", strings.NewReader(`{}`)).wantProblem(http.StatusTooManyRequests, "too_many_requests", "").into(&p)
		if p.Limit != "1 requests at a time" {
			t.Errorf("limit %q", p.Limit)
		}
		do("GET", "/livez", http.NoBody).want(http.StatusNoContent)
		close(body)
		(<-served).want(http.StatusCreated)
		do("POST", "/v1/queues/work/messages", strings.NewReader(`{}`)).want(http.StatusCreated)
	})
}

// No request ends the process, or has an answer of an unknown form.
func FuzzHandler(f *testing.F) {
	client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = client.Close() })
	h, err := dueqhttp.Handler(client, &dueqhttp.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range [][3]string{
		{"POST", "/v1/queues/work/messages", `{"body":"1","delay":"1s"}`},
		{"POST", "/v1/queues/work/batch", `{"messages":[{"body_json":{"a":[]}}]}`},
		{"POST", "/v1/queues/work/receive", `{"max":5,"lease":"1s"}`},
		{"POST", "/v1/queues/work/settle", `{"verdicts":[{"receipt":"x","verdict":"ack"}]}`},
		{"GET", "/v1/queues/work/messages?state=dead&key=a*&limit=3&header=a%3Db", ""},
		{"GET", "/v1/queues/work/messages/key:a%2Fb", ""},
		{"POST", "/v1/queues/work/redrive", `{"filter":{"died":"-1h.."},"spread":"1s"}`},
		{"PATCH", "/v1/queues/work", `{"lease":"1m","backoff":{"base":"1s","most":"2s"}}`},
		{"DELETE", "/v1/queues/work?force=true", ""},
		{"GET", "//..//%2e%2e/livez", ""},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, method, target, body string) {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost", strings.NewReader(body))
		if err != nil || strings.Contains(body, `"wait"`) || strings.Contains(target, "events") { // these do not end
			return
		}
		if request.URL, err = request.URL.Parse(target); err != nil || request.URL.Host != "localhost" || request.Method == http.MethodConnect {
			return
		}
		request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request)
		if w.Code == http.StatusInternalServerError || w.Code < 200 || w.Code >= 400 && w.Header().Get("Content-Type") != "application/problem+json" && w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%s %s: %d %v\n%s", method, target, w.Code, w.Header(), w.Body)
		}
	})
}
