package main

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fakeConn is a connection that notes its end.
type fakeConn struct {
	net.Conn
	name   string
	closed bool
}

func (f *fakeConn) Close() error {
	f.closed = true
	return nil
}

// closedOf returns the names of those that were closed.
func closedOf(all []*fakeConn) string {
	var names []string
	for _, conn := range all {
		if conn.closed {
			names = append(names, conn.name)
		}
	}
	return strings.Join(names, " ")
}

func TestConnections_TheOneThatWasIdleForLongestIsClosed(t *testing.T) {
	t.Parallel()
	c := newConnections(3, slog.New(slog.DiscardHandler))
	var all []*fakeConn
	conn := map[string]*fakeConn{}
	change := func(name string, states ...http.ConnState) {
		if conn[name] == nil {
			conn[name] = &fakeConn{name: name}
			all = append(all, conn[name])
		}
		for _, state := range states {
			c.changed(conn[name], state)
		}
	}
	const begins, active, idle, ended = http.StateNew, http.StateActive, http.StateIdle, http.StateClosed
	change("a", begins, active, idle)
	change("b", begins, active, idle)
	change("c", begins, active, idle)
	change("a", active, idle) // now b has been idle for longest
	change("d", begins)
	if got := closedOf(all); got != "b" {
		t.Fatalf("closed: %q, want b", got)
	}
	change("b", active, idle, ended) // its end is noticed late
	change("c", active)
	change("e", begins, active)
	if got := closedOf(all); got != "a b" {
		t.Fatalf("closed: %q, want a and b", got)
	}
	change("a", ended)
	change("f", begins, ended) // c, d and e are in use
	if got := closedOf(all); got != "a b f" {
		t.Fatalf("closed: %q, want a, b and f", got)
	}
	change("d", ended)
	change("g", begins)
	if got := closedOf(all); got != "a b f" {
		t.Fatalf("closed: %q, want a, b and f", got)
	}
	for _, name := range []string{"c", "e", "g"} {
		change(name, ended)
	}
	if len(c.open) != 0 || c.idle.Len() != 0 {
		t.Errorf("%d connections and %d idle ones are remembered", len(c.open), c.idle.Len())
	}
}

func TestConnections_WarningsHaveABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := newConnections(1, slog.New(slog.NewTextHandler(&log, nil)))
		for range 3 {
			for range 100 {
				c.changed(&fakeConn{}, http.StateNew)
			}
			<-time.After(time.Minute)
		}
		if n := strings.Count(log.String(), "too many connections"); n != 3 {
			t.Errorf("%d warnings in 3 min, want 3:\n%s", n, &log)
		}
	})
}

func TestServe_BoundsConnections(t *testing.T) {
	t.Parallel()
	server := inMemory(t).serve("--max-connections", "3")
	busy := server.connect(3, "GET /livez HTTP/1.1\r\nHost: local") // not idle: a request has begun
	more := server.connect(1, "")[0]
	if text := server.hungUp(more); text != "" {
		t.Errorf("the fourth connection got %q", text)
	}
	for _, conn := range busy {
		if _, err := io.WriteString(conn, "host\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if text := server.hungUp(conn); !strings.HasPrefix(text, "HTTP/1.1 204") {
			t.Errorf("one of the three got %q", text)
		}
	}
}

func TestServe_RateOfATokenIsThatOfTheFlag(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	s := inMemory(t)
	secret := strings.TrimSpace(s.ok("token", "slow", "--scope", "read", "--token-file", file))
	s.env["DUEQ_TOKEN_RATE"] = "1/h"
	server := s.serve("--token-file", file)
	for range 10 {
		server.want(http.StatusOK, "GET", "/v1/queues", "", secret)
	}
	answer := server.want(http.StatusTooManyRequests, "GET", "/v1/queues", "", secret)
	if !strings.Contains(answer, `"field":"token","value":"slow"`) {
		t.Errorf("answer %s", answer)
	}
}
