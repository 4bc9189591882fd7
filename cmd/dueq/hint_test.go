package main

import (
	"strings"
	"testing"
)

func TestHint_NearestName(t *testing.T) {
	t.Parallel()
	names := []string{"orders", "mail", "reports", "q"}
	for word, want := range map[string]string{
		"oders": "orders", "ordres": "orders", "Orders": "orders", "orderss": "orders", "mial": "mail", "repotrs": "reports",
		"invoices": "", "x": "q", "": "q", "ma": "", strings.Repeat("orders", 20): "",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestHint_QueueThatWasMeant(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.ok("send", "-q", "orders", "body")
	for _, args := range [][]string{{"list"}, {"receive"}, {"pause"}, {"stats"}, {"queue", "settings"}} {
		s.fails(exitNotFound, []string{`"oders"`, "not found", "did you mean orders?"}, append(args, "-q", "oders")...)
	}
	for queue, id := range map[string]string{"invoices": "key:a", "orders": "key:a"} {
		if got := s.run("show", "-q", queue, id); got.code != exitNotFound || strings.Contains(got.err, "did you mean") {
			t.Errorf("show in %s: %+v", queue, got)
		}
	}
}

func TestRun_VersionFlag(t *testing.T) {
	t.Parallel()
	s := without(t)
	if flag, command := s.ok("--version"), s.ok("version"); flag != command || !strings.HasPrefix(flag, "dueq ") {
		t.Errorf("--version prints %q, version prints %q", flag, command)
	}
}
