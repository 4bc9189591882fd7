package httpstore_test

import (
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/httpstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withRedis{m}) }

// withRedis stops the tests' Redis before goroutines are counted.
type withRedis struct{ m *testing.M }

func (w withRedis) Run() int {
	fewerChecks()
	return redistest.Main(w.m)
}

// fewerChecks lowers the default number of histories in tests of the model: behind the server are
// stores whose own tests have more, and each call takes a request.
func fewerChecks() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
}

// patience is how long a test may take: more than a call without a deadline, of which the largest
// take seconds under the race detector on a busy machine.
const patience = 5 * time.Minute

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func unchanged(h http.Handler) http.Handler { return h }

// serve starts a server on a loopback port for a store, which is closed with it. wrap changes its
// handler.
func serve(t testing.TB, s store.Store, o dueqhttp.Options, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	client, err := dueq.New(s, &dueq.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	o.Logger = quiet()
	handler, err := dueqhttp.Handler(client, &o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(wrap(handler))
	t.Cleanup(func() {
		server.Close()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// open returns a store at a URL, which is closed before the server.
func open(t testing.TB, url string) *httpstore.Store {
	t.Helper()
	s, err := httpstore.Open(url, httpstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
