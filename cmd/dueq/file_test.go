package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each command opens the directory itself.
func TestOpen_DefaultStoreIsADirectory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"XDG_DATA_HOME", "HOME", "LOCALAPPDATA"} {
		home := t.TempDir()
		s := &session{t: t, env: map[string]string{name: home}}
		s.run("send", "--queue", "orders", "hello")
		if got := s.run("receive", "--queue", "orders"); !strings.Contains(got.out, "hello") {
			t.Errorf("%s: received %q", name, got.out)
		}
		found, err := filepath.Glob(filepath.Join(home, "dueq", "*.log"))
		if more, _ := filepath.Glob(filepath.Join(home, ".local/share/dueq", "*.log")); err != nil || len(found)+len(more) != 1 {
			t.Errorf("%s: logs %v, %v", name, found, more)
		}
	}
}

func TestCheck_RepairsADirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + dir}}
	for _, body := range []string{"first", "second", "third"} {
		s.run("send", "--queue", "orders", body)
	}
	log := filepath.Join(dir, "0000000001.log")
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	data[strings.Index(string(data), "second")] ^= 1
	if err := os.WriteFile(log, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(exitFailure, []string{"0000000001.log, offset ", "corrupt"}, "stats")
	for range 2 { // listing changes nothing
		got := s.run("check")
		if got.code != exitFailure || !strings.HasPrefix(got.out, "0000000001.log: offset ") || strings.Count(got.out, "\n") != 1 || !strings.Contains(got.err, "--repair") {
			t.Errorf("check: %+v", got)
		}
	}
	if got := s.run("--store", "file:"+dir+"?sync=always", "check", "--repair"); got.code != exitOK {
		t.Errorf("repair of a store with options in its URL: %+v", got)
	}
	s.run("check")
	if got := s.run("list", "--queue", "orders"); strings.Count(got.out, "ready") != 2 {
		t.Errorf("left:\n%s", got.out)
	}
	inMemory(t).fails(exitUsage, []string{"--repair"}, "check", "--repair")
}

// A consumer is killed while it holds a message: it has printed part of a body that is larger than
// the buffer of a pipe, so it cannot have acked. Another process gets the message when the lease
// has run out.
func TestReceive_MessageOfAKilledHolderGoesToTheNextProcess(t *testing.T) {
	t.Parallel()
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + filepath.Join(t.TempDir(), "data")}}
	body := strings.Repeat("0123456789", 20_000)
	s.ok("send", "--queue", "orders", body)
	holder, out := s.start(nil, "receive", "--queue", "orders", "--lease", "1s")
	if _, err := out.ReadByte(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, holder); code != -1 {
		t.Fatalf("the holder ended with %d before it was killed", code)
	}
	if got := s.ok("receive", "--queue", "orders", "--wait", "30s"); !strings.Contains(got, body) || !strings.Contains(got, "attempt 2") {
		t.Errorf("the next process received %.200q", got)
	}
	s.ok("check")
}
