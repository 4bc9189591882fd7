package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
)

// TestOpen_SaysWhyItCannotConnect has the ways in which a store refuses a connection. None of them
// takes until the limit for silence.
func TestOpen_SaysWhyItCannotConnect(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "no.sock")
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	trusted := strings.TrimPrefix(secure.URL, "https://")
	locked := "redis://:hunter2@" + withPassword(t, "sesame").Addr()
	for url, texts := range map[string][]string{
		"redis://u:hunter2@127.0.0.1:1":                   {"open redis://127.0.0.1:1", "connection refused"},
		"redis+cluster://u:hunter2@127.0.0.1:1":           {"connection refused"},
		"redis+sentinel://127.0.0.1:1/master":             {"connection refused"},
		"redis+sentinel://127.0.0.1:1,127.0.0.1:2/m":      {"connection refused"},
		"unix://" + missing:                               {"no such file"},
		"http://127.0.0.1:1":                              {"connection refused"},
		"http+unix://" + missing:                          {"no such file"},
		"rediss://" + trusted:                             {"x509"},
		"https://" + trusted:                              {"x509"},
		locked:                                            {"WRONGPASS"},
		strings.Replace(locked, ":hunter2@", "", 1):       {"NOAUTH"},
		"unix://" + redistest.Shared(t).Addr() + "?db=99": {"DB index is out of range"},
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			got := without(t).run("stats", "--store", url)
			checkFailure(t, got, exitUnavailable, append(texts, "store unavailable"), []string{url})
			if strings.Contains(got.err, "no answer") || strings.Contains(got.err, "hunter2") || strings.Contains(got.err, "open: open") {
				t.Errorf("%s: %s", url, got.err)
			}
		})
	}
}

// withPassword returns a server of its own that wants a password.
func withPassword(t *testing.T, password string) *redistest.Server {
	t.Helper()
	server := redistest.Start(t)
	if err := server.Client(t).ConfigSet(t.Context(), "requirepass", password).Err(); err != nil {
		t.Fatal(err)
	}
	return server
}

// A server that accepts connections and says nothing is given up after a while.
func TestOpen_SilenceIsGivenUp(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, scheme := range []string{"redis://", "rediss://", "http://"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			without(t).fails(exitUnavailable, []string{scheme + "127.0.0.1:", "no answer within 3s", "store unavailable"}, "stats", "--store", scheme+silent.Addr().String())
		})
	}
}
