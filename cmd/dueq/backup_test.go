package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
)

func TestBackup_CopiesADirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + dir}}
	s.run("send", "--queue", "orders", "hello")
	if got := s.run("backup", dir+".backup"); !strings.Contains(got.out, "data.backup") {
		t.Errorf("backup: %q", got.out)
	}
	s.env["DUEQ_STORE"] = "file:" + dir + ".backup"
	if got := s.run("receive", "--queue", "orders"); !strings.Contains(got.out, "hello") {
		t.Errorf("received %q", got.out)
	}
}

func TestBackup_DirectoryInUseNamesTheOtherWay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	client, err := dueq.Open(t.Context(), "file:"+dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	var out, errs strings.Builder
	code := run(t.Context(), []string{"backup", dir + ".backup", "--store", "file:" + dir}, console{
		in: strings.NewReader(""), out: &out, err: &errs, env: func(string) string { return "" },
	})
	if code != exitUnavailable || !strings.Contains(errs.String(), "Client.Backup") {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}
