package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
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

// A store that is named by an empty text is a variable that is not set in a script.
// A directory with millions of messages takes longer to open than a server may to answer.
func TestOpen_DirectoriesHaveNoLimit(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{"file:data": false, "file:data?create=false": false, "redis://localhost": true, "http://localhost:7373": true} {
		ctx, cancel := toOpen(t.Context(), url)
		if _, limited := ctx.Deadline(); limited != want {
			t.Errorf("%s has a limit: %v, want %v", url, limited, want)
		}
		cancel()
	}
}

func TestOpen_EmptyNameIsRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := &session{t: t, env: map[string]string{"HOME": home, "DUEQ_STORE": ""}}
	s.fails(exitUsage, []string{"DUEQ_STORE", "empty"}, "send", "--queue", "q", "body")
	s.fails(exitUsage, []string{"DUEQ_STORE", "empty"}, "stats")
	without(t).fails(exitUsage, []string{"--store", "empty"}, "stats", "--store", "")
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("in the home is %v, %v", left, err)
	}
}

// A mistyped directory is no empty store. Every command but those that send or serve says so.
func TestOpen_ReadingMakesNoStore(t *testing.T) {
	t.Parallel()
	id := "06gztgq2wxzd38tzyh73ma8000"
	reading := [][]string{
		{"stats"},
		{"list", "-q", "q"},
		{"dead", "-q", "q"},
		{"show", "-q", "q", id},
		{"check"},
		{"doctor"},
		{"watch"},
		{"export"},
		{"forecast"},
		{"members", "-q", "q"},
		{"receive", "-q", "q"},
		{"work", "-q", "q", "--exec", "true"},
		{"cancel", "-q", "q", id},
		{"reschedule", "-q", "q", "--delay", "1h", id},
		{"redrive", "-q", "q", "--all"},
		{"delete", "-q", "q", "--yes", id},
		{"purge", "-q", "q", "--state", "dead", "--all", "--yes"},
		{"pause", "-q", "q"},
		{"resume", "-q", "q"},
		{"queue", "settings", "-q", "q"},
		{"queue", "update", "-q", "q", "--lease", "1m"},
		{"queue", "delete", "-q", "q", "--yes"},
		{"backup", "copy"},
		{"check", "--repair"},
	}
	above := t.TempDir()
	plain := filepath.Join(above, "plain") // a directory with other files
	if err := os.Mkdir(plain, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(above, "typo"), plain} {
		s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + dir + "?sync=never"}}
		for _, args := range reading {
			s.fails(exitNotFound, []string{"no store at " + dir}, args...)
		}
	}
	for dir, want := range map[string]int{above: 1, plain: 0} {
		if left, err := os.ReadDir(dir); err != nil || len(left) != want {
			t.Errorf("in %s is %v, %v", dir, left, err)
		}
	}
}

func TestOpen_MakingAStoreIsSaid(t *testing.T) {
	t.Parallel()
	lines := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(lines, []byte(`{"body":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"send", "-q", "q", "body"}, {"import", "-q", "q", lines}, {"queue", "create", "-q", "q"}} {
		dir := filepath.Join(t.TempDir(), "data")
		s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + dir}}
		if got := s.run(args...); got.code != exitOK || !strings.Contains(got.warnings, "no store at "+dir) {
			t.Errorf("dueq %q: %+v", args, got)
		}
		if got := s.run(append(args[:len(args):len(args)], "-o", "json")...); strings.Contains(got.warnings, "note: ") {
			t.Errorf("dueq %q with the store there: %+v", args, got)
		}
	}
}

// What is sent to mem: by one command is gone when that ends.
func TestOpen_SendingToMemoryIsWarnedOf(t *testing.T) {
	t.Parallel()
	if got := inMemory(t).run("send", "-q", "q", "body"); got.code != exitOK || !strings.Contains(got.warnings, "gone when it ends") {
		t.Errorf("send: %+v", got)
	}
	if got := inMemory(t).run("stats"); got.code != exitOK || got.warnings != "" {
		t.Errorf("stats: %+v", got)
	}
}
