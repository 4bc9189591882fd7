package httpstore_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
	"github.com/dueq-dev/dueq/store/httpstore"
)

var orders = store.Partition{Queue: "orders"}

// The first try of a claim whose connection broke may still be on its way to the store, which must
// know that another try has been made.
func TestClaim_RepetitionIsMarked(t *testing.T) {
	t.Parallel()
	var bodies []string
	server := serve(t, embedded.NewMemory(embedded.Config{}), dueqhttp.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if bodies = append(bodies, string(body)); len(bodies) == 1 {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(w, r)
		})
	})
	_, err := open(t, server.URL).Claim(t.Context(), orders, store.ClaimRequest{Consumer: "c", Number: 1, Max: 1, Lease: store.MinLease})
	if err != nil || len(bodies) != 2 {
		t.Fatalf("%v after %d tries", err, len(bodies))
	}
	if strings.Contains(bodies[0], "again") || !strings.Contains(bodies[1], `"again":true`) {
		t.Errorf("the tries were %q", bodies)
	}
}

func TestCall_ErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	const problem = "application/problem+json"
	for name, test := range map[string]struct {
		status           int
		kind, body       string
		foreign          bool
		want             error
		field, text      string
		repeated, hidden bool
	}{
		"unknown token": {
			status: 401, kind: problem, body: `{"status":401,"code":"unauthorized","detail":"the token is not known"}`,
			want: store.ErrInvalid, field: "token", text: "the token is not known",
		},
		"read-only": {
			status: 403, kind: problem, body: `{"status":403,"code":"forbidden","detail":"the server is read-only"}`,
			want: store.ErrInvalid, field: "token", text: "the server is read-only",
		},
		"field, value and limit": {
			status: 400, kind: problem, body: `{"status":400,"code":"invalid","field":"body_limit","value":"-1","limit":"0 or more","detail":"body limit: -1 is negative: invalid argument"}`,
			want: store.ErrInvalid, field: "body limit", text: "body limit: -1 is negative: invalid argument",
		},
		"large body": {
			status: 413, kind: problem, body: `{"status":413,"code":"too_large","field":"body","detail":"body: 11 bytes, the limit is 10: too large"}`,
			want: store.ErrTooLarge, field: "body", text: "11 bytes, the limit is 10",
		},
		"not found":       {status: 404, kind: problem, body: `{"status":404,"code":"not_found","detail":"not found"}`, want: store.ErrNotFound, text: "not found"},
		"other version":   {status: 409, kind: problem, body: `{"status":409,"code":"conflict"}`, want: store.ErrConflict},
		"repartitioned":   {status: 503, kind: problem, body: `{"status":503,"code":"repartitioned"}`, want: store.ErrRepartitioned},
		"corrupt":         {status: 500, kind: problem, body: `{"status":500,"code":"corrupt"}`, want: store.ErrCorrupt},
		"not replicated":  {status: 504, kind: problem, body: `{"status":504,"code":"not_replicated"}`, want: store.ErrNotReplicated},
		"failed":          {status: 503, kind: problem, body: `{"status":503,"code":"failed"}`, want: store.ErrUnavailable, text: "failed"},
		"unavailable":     {status: 503, kind: problem, body: `{"status":503,"code":"unavailable"}`, want: store.ErrUnavailable, repeated: true},
		"too many":        {status: 429, kind: problem, body: `{"status":429,"code":"too_many_requests","field":"token","detail":"the token a has made too many requests"}`, want: store.ErrUnavailable, text: "too many requests", repeated: true},
		"internal":        {status: 500, kind: problem, body: `{"status":500,"code":"internal"}`, want: store.ErrUnavailable, repeated: true},
		"no problem":      {status: 500, kind: "text/html", body: "<p>oops", want: store.ErrUnavailable, repeated: true},
		"no JSON":         {status: 200, kind: "application/json", body: "{", want: store.ErrCorrupt},
		"another server":  {status: 404, kind: "text/plain", body: "404 page not found", foreign: true, want: store.ErrUnavailable, text: "there is no store at this address, the answer is 404 Not Found", repeated: true},
		"redirection":     {status: 302, foreign: true, want: store.ErrUnavailable, text: "302 Found", repeated: true},
		"another website": {status: 200, kind: "application/json", body: "1", foreign: true, want: store.ErrUnavailable, repeated: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !test.foreign {
					w.Header().Set(wire.Answer, "1")
				}
				w.Header().Set("Content-Type", test.kind)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
				if calls.Add(1) == 3 {
					end()
				}
			}))
			defer server.Close()
			s, err := httpstore.Open(server.URL, httpstore.Config{Token: "secret"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			_, err = s.Now(ctx, orders)
			if !errors.Is(err, test.want) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, want %v with %q", err, test.want, test.text)
			}
			e, ok := errors.AsType[*store.Error](err)
			if test.field != "" && (!ok || e.Field != test.field) {
				t.Errorf("%+v, want the field %q", err, test.field)
			}
			if test.field == "body limit" && (e.Value != "-1" || e.Limit != "0 or more") {
				t.Errorf("value %q, limit %q, want those of the server", e.Value, e.Limit)
			}
			if again := calls.Load() > 1; again != test.repeated {
				t.Errorf("%d calls", calls.Load())
			}
		})
	}
}

// Calls beyond the rate of the token are repeated until they are served.
func TestCall_RateOfTheTokenSlowsDown(t *testing.T) {
	t.Parallel()
	token := dueqhttp.Token{Name: "slow", SHA256: sha256.Sum256([]byte("secret")), Scopes: []dueqhttp.Scope{dueqhttp.Admin}}
	server := serve(t, embedded.NewMemory(embedded.Config{}), dueqhttp.Options{Tokens: []dueqhttp.Token{token}, TokenRate: 40}, unchanged)
	s, err := httpstore.Open(server.URL, httpstore.Config{Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i := range 50 {
		if _, err := s.Now(t.Context(), orders); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}

// A redirection to another server, or a page in its place, does not get the token.
func TestCall_TokenStaysWithTheServer(t *testing.T) {
	t.Parallel()
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Authorization")) }))
	defer other.Close()
	ctx, end := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer end()
		if r.Header.Get("Authorization") != "Bearer sec/ret" {
			t.Errorf("the server got %q", r.Header.Get("Authorization"))
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	s := open(t, strings.Replace(server.URL, "//", "//:sec%2Fret@", 1))
	if _, err := s.Now(ctx, orders); err == nil || strings.Contains(err.Error(), "ret@") {
		t.Errorf("error %v", err)
	}
	if len(got) > 0 {
		t.Errorf("the other server got %q", got)
	}
}

// Settings reach clients with the answers to other calls, also those that another client has
// changed, and they go with the queue.
func TestKnown_FollowsTheServer(t *testing.T) {
	t.Parallel()
	behind := embedded.NewMemory(embedded.Config{})
	s := open(t, serve(t, behind, dueqhttp.Options{}, unchanged).URL)
	know := func(want store.Settings, ok bool) {
		t.Helper()
		if _, err := s.List(t.Context(), orders, store.ListRequest{State: store.Ready, Limit: 1}); err != nil {
			t.Fatal(err)
		}
		if got, known := s.Known("orders"); known != ok || got != want {
			t.Errorf("knows %+v, %v; want %+v, %v", got, known, want, ok)
		}
	}
	know(store.Settings{}, false)
	paused, small := true, 10
	for _, c := range []store.Change{{Create: true}, {Paused: &paused}, {MaxBody: &small}} {
		made, err := behind.Configure(t.Context(), "orders", c)
		if err != nil {
			t.Fatal(err)
		}
		know(made, true)
		know(made, true)
	}
	if err := behind.DeleteQueue(t.Context(), "orders", store.DeleteRequest{}); err != nil {
		t.Fatal(err)
	}
	know(store.Settings{}, false)
}
