package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// completions returns what a shell is offered at the end of a command line, and the directive.
func (s *session) completions(args ...string) (offered []string, directive string) {
	s.t.Helper()
	got := s.run(append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
	if got.code != exitOK || strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "Completion ended with directive: ") {
		s.t.Fatalf("%q: exit %d, stderr %q", args, got.code, got.err)
	}
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	last := len(lines) - 1
	return lines[:last], lines[last]
}

// The directives that the tests want.
const (
	anyFile  = ":0"
	noFile   = ":4"
	dirsOnly = ":16"
)

func (s *session) offers(want, directive string, args ...string) {
	s.t.Helper()
	if got, d := s.completions(args...); strings.Join(got, " ") != want || d != directive {
		s.t.Errorf("dueq %q: offered %q %s, want %q %s", args, got, d, want, directive)
	}
}

func TestCompletion_NamesOfQueues(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	for _, queue := range []string{"orders", "outbox", "mail"} {
		s.ok("send", "--queue", queue, "body")
	}
	s.offers("orders outbox", noFile, "list", "--queue", "o")
	s.offers("mail orders outbox", noFile, "stats", "-q", "")
	s.offers("mail", noFile, "queue", "settings", "--queue=m")
	s.offers("", noFile, "list", "--queue", "x")
	s.offers("mail", noFile, "--store", s.env["DUEQ_STORE"], "purge", "--queue", "m")
}

func TestCompletion_EveryFlagForAQueueOrAStateHasOne(t *testing.T) {
	t.Parallel()
	found := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, name := range []string{"queue", "state", "output"} {
			if f := cmd.LocalFlags().Lookup(name); f != nil {
				found++
				if _, ok := cmd.GetFlagCompletionFunc(name); !ok {
					t.Errorf("%s --%s is not completed", cmd.CommandPath(), name)
				}
			}
		}
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(newRoot(&app{}))
	if found < 20 {
		t.Errorf("found %d flags", found)
	}
}

func TestCompletion_StatesChoicesAndFiles(t *testing.T) {
	t.Parallel()
	s := without(t)
	s.offers("ready leased scheduled dead done", noFile, "list", "--state", "")
	s.offers("ready scheduled dead done", noFile, "purge", "--state", "")
	s.offers("text json", noFile, "stats", "-o", "")
	s.offers("", anyFile, "send", "--queue", "q", "--file", "")
	s.offers("", anyFile, "serve", "--tls-cert", "")
	s.offers("", anyFile, "import", "--queue", "q", "")
	s.offers("", dirsOnly, "backup", "")
	s.offers("", noFile, "show", "--queue", "q", "")
	s.offers("settings", noFile, "queue", "se")
}

func TestCompletion_FailuresAreSilent(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")) // accepts, and does not answer
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	for _, store := range []string{"", "no-such-scheme:x", "redis://127.0.0.1:1", "http://127.0.0.1:1", "unix://" + silent.Addr().String()} {
		s := &session{t: t, env: map[string]string{"DUEQ_STORE": store}}
		s.offers("", noFile, "list", "--queue", "")
	}
}

func TestCompletion_DirectoryIsNotOpened(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "dueq")
	s := &session{t: t, env: map[string]string{"XDG_DATA_HOME": home}}
	s.offers("", noFile, "list", "--queue", "")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was made: %v", err)
	}
	s.ok("send", "--queue", "orders", "body")
	s.offers("", noFile, "list", "--queue", "")
	s.serve()
	s.offers("orders", noFile, "list", "--queue", "")
}

func TestCompletion_ScriptsOfShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if script := without(t).ok("completion", shell); !strings.Contains(script, "__complete") {
			t.Errorf("%s: the script does not ask the program", shell)
		}
	}
}
