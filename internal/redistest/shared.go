package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// The shared server of a test process: the first call of Shared starts it, and Main stops it.
var shared struct {
	once   sync.Once
	server *Server
	err    error
	prefix atomic.Int64
}

// Main runs the tests of a package and stops the shared server behind them, also when
// they fail. Call it in TestMain as m's run function: os.Exit(redistest.Main(m)).
//
// It silences go-redis, which logs every failed dial: tests kill servers on purpose.
func Main(m interface{ Run() int }) int {
	logging.Disable()
	defer func() {
		if shared.server != nil {
			shared.server.Kill()
			_ = os.RemoveAll(shared.server.dir)
		}
	}()
	return m.Run()
}

// Shared returns the server that the tests of this process share. A test keeps to keys
// with a Prefix of its own, and neither flushes nor configures the server.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	shared.once.Do(func() { shared.server, shared.err = startShared() })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server
}

// Prefix returns a key prefix that no other test of this process has.
func Prefix() string { return "t" + strconv.FormatInt(shared.prefix.Add(1), 10) }

// startShared listens on a unix socket, which is faster, and cannot clash.
func startShared() (*Server, error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	s := &Server{addr: filepath.Join(dir, "redis.sock"), dir: dir}
	s.args = append(plain(dir), "--port", "0", "--unixsocket", s.addr, "--enable-debug-command", "local")
	if err := s.start(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("shared server: %w", err)
	}
	return s, nil
}
