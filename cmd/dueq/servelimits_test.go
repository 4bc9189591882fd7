package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// connect opens n connections to the server, and writes a text to each. The test closes them.
func (s *served) connect(n int, text string) []net.Conn {
	s.Helper()
	all := make([]net.Conn, n)
	for i := range all {
		conn, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			_, err = io.WriteString(conn, text)
		}
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { _ = conn.Close() })
		all[i] = conn
	}
	return all
}

// hungUp waits until the server has closed a connection, and returns what it sent before.
func (s *served) hungUp(conn net.Conn) string {
	s.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		s.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.Fatal("the server has not closed the connection within a minute")
	}
	return string(text)
}

func TestServe_SlowCallersDelayNobodyAndAreDropped(t *testing.T) {
	t.Parallel()
	server := inMemory(t).serve()
	slow := server.connect(100, "POST /v1/queues/work/messages HTTP/1.1\r\nHost: local")
	for range 100 {
		server.want(http.StatusCreated, "POST", "/v1/queues/work/messages", `{}`, "")
	}
	for _, conn := range slow {
		server.hungUp(conn)
	}
}

func TestServe_LongPollsAreAnsweredTogether(t *testing.T) {
	t.Parallel()
	server := inMemory(t).serve()
	const polls = 100
	server.want(http.StatusOK, "PUT", "/v1/queues/work", `{}`, "")
	waiting := make([]<-chan int, polls)
	for i := range waiting {
		waiting[i] = server.waitForMessage("work")
	}
	server.want(http.StatusCreated, "POST", "/v1/queues/work/batch", `{"messages":[`+strings.Repeat("{},", polls-1)+`{}]}`, "")
	for i, answered := range waiting {
		if status := <-answered; status != http.StatusOK {
			t.Errorf("poll %d: status %d, want 200 with a message of its own", i, status)
		}
	}
}

func TestServe_BoundsRequestsThatWait(t *testing.T) {
	t.Parallel()
	server := inMemory(t).serve("--max-waiting", "1")
	server.want(http.StatusOK, "PUT", "/v1/queues/work", `{}`, "")
	waits := server.oneThatWaits("work")
	server.want(http.StatusCreated, "POST", "/v1/queues/work/messages", `{}`, "")
	if status := <-waits; status != http.StatusOK {
		t.Errorf("the other: status %d, want 200 with the message", status)
	}
}

// spaces is a body without an end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestServe_LargeBodiesAreRefusedInFlatMemory(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	cmd, out := s.start(nil, "serve", "--listen", "127.0.0.1:0")
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	const size = 1 << 30
	before := peakMemory(t, cmd.Process.Pid)
	for _, declared := range []int64{size, -1} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSpace(line)+"/v1/queues/work/messages", io.LimitReader(spaces{}, size))
		if err != nil {
			t.Fatal(err)
		}
		request.ContentLength = declared
		request.Header.Set("Content-Type", "application/json")
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("declared length %d: status %d, want 413", declared, response.StatusCode)
		}
	}
	const most = size / 4 // the limit of a request is 8 MiB; a build with the race detector has several times the memory
	if grown := peakMemory(t, cmd.Process.Pid) - before; grown > most {
		t.Errorf("the memory of the server has grown by %d MiB", grown>>20)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// peakMemory returns the most memory in bytes that a process has had, 0 where /proc does not say.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("/proc has no VmHWM: %v", err)
	}
	return kib << 10
}
