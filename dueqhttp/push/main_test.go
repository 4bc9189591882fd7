package push

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secretText is that of the test suite of Standard Webhooks.
const secretText = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// answers is a transport that answers requests itself.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// always returns a transport with one answer to all requests.
func always(status int, body string, header ...string) answers {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// handler returns the handler of a target.
func handler(t *testing.T, target Target) dueq.Handler {
	t.Helper()
	if target.URL == "" {
		target.URL = "https://shop.example/hooks/orders"
	}
	h, err := Handler(target)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// endpoint is a server on a loopback port that counts requests.
func endpoint(t *testing.T, h http.HandlerFunc) (url string, requests func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// post handles a message that nobody holds.
func post(ctx context.Context, h dueq.Handler) error {
	return h(ctx, &dueq.Delivery{ID: "1", Queue: "orders", Body: []byte("body")})
}

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	e, ok := errors.AsType[*dueq.Error](err)
	if !ok || !errors.Is(err, dueq.ErrInvalid) || e.Field != field {
		t.Errorf("%v, want ErrInvalid for %s", err, field)
	}
}
