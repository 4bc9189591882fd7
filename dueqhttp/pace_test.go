package dueqhttp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// asker makes requests from any address, without a network.
type asker struct {
	*testing.T
	handler http.Handler
}

func newAsker(t *testing.T, o dueqhttp.Options) *asker {
	t.Helper()
	client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	o.Logger = slog.New(slog.DiscardHandler)
	h, err := dueqhttp.UI(client, &o)
	if err != nil {
		t.Fatal(err)
	}
	return &asker{t, h}
}

// get makes a request from an address, with the token of a name if there is one.
func (a *asker) get(path, address, name string) answer {
	a.Helper()
	w, request := httptest.NewRecorder(), httptest.NewRequestWithContext(a.Context(), http.MethodGet, "http://localhost"+path, http.NoBody)
	request.RemoteAddr = address
	if name != "" {
		request.Header.Set("Authorization", "Bearer "+secretOf(name))
	}
	a.handler.ServeHTTP(w, request)
	return answer{&rig{T: a.T}, "GET " + path + " from " + address, w.Code, w.Header(), w.Body.Bytes()}
}

// refused fails the test unless the answer asks to wait, and names the limit.
func (a answer) refused(field, value, limit, wait string) {
	a.Helper()
	var p problem
	a.wantProblem(http.StatusTooManyRequests, "too_many_requests", field).into(&p)
	if p.Value != value || p.Limit != limit || a.header.Get("Retry-After") != wait {
		a.Errorf("%s: %+v, Retry-After %s; want the value %q, the limit %q, and %s s", a.what, p, a.header.Get("Retry-After"), value, limit, wait)
	}
}

func TestRate_OfAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(t, dueqhttp.Options{TokenRate: 0.5, Tokens: []dueqhttp.Token{token("a", nil, dueqhttp.Read), token("b", nil, dueqhttp.Read)}})
		const here, there = "127.0.0.1:1", "192.0.2.1:1"
		for range 9 {
			a.get("/v1/queues", here, "a").want(http.StatusOK)
		}
		a.get("/session", here, "a").want(http.StatusOK)
		a.get("/v1/queues", there, "a").refused("token", "a", "0.5 requests per second", "2")
		a.get("/session", there, "a").refused("token", "a", "0.5 requests per second", "2")
		a.get("/v1/queues", here, "b").want(http.StatusOK)
		a.get("/livez", here, "a").want(http.StatusNoContent)
		<-time.After(2 * time.Second)
		a.get("/v1/queues", here, "a").want(http.StatusOK)
		a.get("/v1/queues", here, "a").refused("token", "a", "0.5 requests per second", "2")
	})
}

func TestRate_OfAnAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(t, dueqhttp.Options{AddressRate: 20, Tokens: []dueqhttp.Token{token("a", nil, dueqhttp.Read)}})
		const one, other = "[2001:db8::1]:1", "[2001:db8:0:1::1]:1"
		for range 10 {
			a.get("/v1/queues", one, "a").want(http.StatusOK)
			a.get("/v1/queues", one, "").want(http.StatusUnauthorized)
		}
		for _, name := range []string{"", "a"} {
			a.get("/v1/queues", "[2001:db8::2]:9", name).refused("address", "2001:db8::/64", "20 requests per second", "1")
		}
		for range 30 { // probes, and the machine itself: a proxy that runs there has all callers
			a.get("/livez", one, "").want(http.StatusNoContent)
			a.get("/readyz", one, "").want(http.StatusNoContent)
			a.get("/v1/queues", "127.0.0.1:1", "a").want(http.StatusOK)
			a.get("/v1/queues", "[::1]:1", "a").want(http.StatusOK)
			a.get("/v1/queues", "@", "a").want(http.StatusOK)
		}
		a.get("/v1/queues", other, "a").want(http.StatusOK)
		<-time.After(50 * time.Millisecond)
		a.get("/v1/queues", one, "a").want(http.StatusOK)
		a.get("/v1/queues", one, "a").refused("address", "2001:db8::/64", "20 requests per second", "1")
	})
}
