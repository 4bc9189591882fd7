package httpstore_test

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
	"github.com/dueq-dev/dueq/store/redisstore"
)

// described returns what a client says about a store, and splits off its findings about latency.
func described(t *testing.T, s store.Store) (d dueq.Description, latency []string) {
	t.Helper()
	client, err := dueq.New(s, &dueq.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if d, err = client.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	var others []dueq.Finding
	for _, f := range d.Findings {
		if strings.HasPrefix(f.Check, "latency") {
			latency = append(latency, f.Check)
		} else {
			others = append(others, f)
		}
	}
	d.Findings = others
	return d, latency
}

// A remote store says what the store behind the server says, and how long calls take here and there.
func TestDescribe_IsThatOfTheStoreBehindTheServer(t *testing.T) {
	t.Parallel()
	dir, err := embedded.Open(t.Context(), t.TempDir(), embedded.Config{NeverSync: true})
	if err != nil {
		t.Fatal(err)
	}
	redis, err := redisstore.New(redistest.Start(t).Client(t), redisstore.Config{Prefix: redistest.Prefix(), Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	for kind, s := range map[string]store.Store{"memory": embedded.NewMemory(embedded.Config{}), "file": dir, "redis": redis} {
		server := serve(t, s, dueqhttp.Options{ReadOnly: true}, unchanged)
		got, latency := described(t, open(t, server.URL))
		want, _ := described(t, s) // which closes the store
		if !reflect.DeepEqual(latency, []string{"latency behind the server", "latency"}) {
			t.Errorf("%s: findings about latency: %q", kind, latency)
		}
		for i := range min(len(got.Servers), len(want.Servers)) { // these change while they are looked at
			got.Servers[i].MemoryUsed, got.Servers[i].Clients = want.Servers[i].MemoryUsed, want.Servers[i].Clients
			if !got.Servers[i].LastSnapshot.Equal(want.Servers[i].LastSnapshot) {
				t.Errorf("%s: last snapshot %s, want %s", kind, got.Servers[i].LastSnapshot, want.Servers[i].LastSnapshot)
			}
			got.Servers[i].LastSnapshot, want.Servers[i].LastSnapshot = time.Time{}, time.Time{}
		}
		for i := range min(len(got.Findings), len(want.Findings)) {
			if want.Findings[i].Check == "memory" {
				got.Findings[i].Found = want.Findings[i].Found
			}
		}
		if want.Kind != kind || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v, want\n%+v", kind, got, want)
		}
	}
}

func TestDescribe_ErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded.NewMemory(embedded.Config{}), dueqhttp.Options{}, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Dueq-Store", "1")
			w.WriteHeader(http.StatusForbidden)
		})
	})
	if _, err := open(t, server.URL).Describe(t.Context()); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid for the token", err)
	}
}
