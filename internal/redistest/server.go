// Package redistest runs real redis-server processes for tests, on loopback only.
package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startTimeout is how long a server may take to answer its first PING, and a Cluster or a sentinel to
// be ready: on a busy machine the programs that start may wait long for a processor.
const startTimeout = time.Minute

// Server is one redis-server process with a directory of its own.
type Server struct {
	addr string // host:port, or the path of a unix socket
	dir  string
	args []string
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
	ward *exec.Cmd     // kills the server when the test process ends without running its cleanups
}

// Start runs a server for one test, with further arguments as in redis.conf
// ("--maxmemory", "10mb"), and stops it when the test ends. Without other arguments it
// keeps nothing on disk. DUEQ_REDIS_SERVER names the program, redis-server by default.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "redistest") //nolint:usetesting // tb.TempDir fails the test when the server still writes
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := newServer(tb, dir, args...)
	if err == nil {
		err = s.start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	return s
}

// newServer prepares a server on a port that is its own until the test ends.
func newServer(tb testing.TB, dir string, args ...string) (*Server, error) {
	tb.Helper()
	port, err := reservePort(tb)
	if err != nil {
		return nil, err
	}
	return &Server{
		addr: loopback(port), dir: dir,
		args: append(append(plain(dir), "--port", strconv.Itoa(port)), args...),
	}, nil
}

// plain are the arguments of a server that keeps nothing on disk, and does not wait for
// further replicas before it serves the first.
func plain(dir string) []string {
	return []string{
		"--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--loglevel", "warning", "--logfile", "redis.log", "--repl-diskless-sync-delay", "0",
	}
}

// program finds the server, or says how to get one.
func program() (string, error) {
	name := os.Getenv("DUEQ_REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("these tests need a Redis server, and there is no %s: "+
			"run `make test`, or install it (apt-get install redis-server, brew install redis), "+
			"or set DUEQ_REDIS_SERVER to a redis-server or valkey-server: %w", name, err)
	}
	return path, nil
}

func (s *Server) start() error {
	path, err := program()
	if err != nil {
		return err
	}
	s.cmd = exec.Command(path, s.args...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.gone = make(chan struct{})
	go func(cmd *exec.Cmd, gone chan struct{}) {
		_ = cmd.Wait()
		close(gone)
	}(s.cmd, s.gone)
	if err := s.guard(); err != nil {
		s.Kill()
		return err
	}
	return s.awaitReady()
}

// guard starts a shell that waits for the end of its input, which is the end of this
// process, and then kills the server.
func (s *Server) guard() error {
	ward := exec.Command("sh", "-c", `read -r _; kill -9 "$1"`, "sh", strconv.Itoa(s.cmd.Process.Pid))
	if _, err := ward.StdinPipe(); err != nil {
		return err
	}
	if err := ward.Start(); err != nil {
		return err
	}
	s.ward = ward
	return nil
}

func (s *Server) awaitReady() error {
	rdb := redis.NewClient(s.Options())
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for {
		if err := s.ping(ctx, rdb); err == nil || strings.HasPrefix(err.Error(), "NOAUTH") {
			return nil
		}
		select {
		case <-s.gone:
			return fmt.Errorf("redis-server ended at once:\n%s", s.log())
		case <-ctx.Done():
			s.Kill()
			return fmt.Errorf("redis-server did not answer within %s:\n%s", startTimeout, s.log())
		case <-retry.C:
		}
	}
}

// ping dials first, for a client whose dial fails writes that to the log.
func (s *Server) ping(ctx context.Context, rdb *redis.Client) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, s.Options().Network, s.addr)
	if err != nil {
		return err
	}
	_ = conn.Close()
	return rdb.Ping(ctx).Err()
}

func (s *Server) log() string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "redis.log"))
	return string(b)
}

// Addr returns host:port, or the path of the shared server's socket.
func (s *Server) Addr() string { return s.addr }

// Options returns what a client needs to reach the server.
func (s *Server) Options() *redis.Options {
	network := "tcp"
	if strings.HasPrefix(s.addr, "/") {
		network = "unix"
	}
	return &redis.Options{
		Network: network, Addr: s.addr, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialerRetries: 1, ReadTimeout: 30 * time.Second, PoolSize: 20,
	}
}

// Client returns a client that is closed when the test ends.
func (s *Server) Client(tb testing.TB) *redis.Client {
	tb.Helper()
	rdb := redis.NewClient(s.Options())
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Kill ends the process with SIGKILL and waits until it is gone. It may be called again.
func (s *Server) Kill() {
	if s.gone == nil {
		return
	}
	if s.ward != nil {
		// First, for it must not kill the next process with the server's pid.
		_ = s.ward.Process.Kill()
		_ = s.ward.Wait()
		s.ward = nil
	}
	_ = s.cmd.Process.Kill() // by its own pid; an error means that it has ended
	<-s.gone
}

// Restart starts the process again, on the same address and directory, after Kill.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.Kill()
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
}
