package redistest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is what the sentinel of StartSentinel calls its master.
const MasterName = "dueqmaster"

// StartSentinel runs a master, a replica of it, and a sentinel that makes the replica
// the master soon after the master is gone. It returns when all know each other.
func StartSentinel(tb testing.TB) (sentinel, master, replica *Server) {
	tb.Helper()
	master = Start(tb)
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		tb.Fatal(err)
	}
	replica = Start(tb, "--replicaof", host+" "+port)
	sentinel = startSentinel(tb, host, port)
	awaitSentinel(tb, sentinel, replica)
	return sentinel, master, replica
}

func startSentinel(tb testing.TB, host, port string) *Server {
	tb.Helper()
	dir := tb.TempDir()
	s, err := newServer(dir)
	if err != nil {
		tb.Fatal(err)
	}
	_, own, err := net.SplitHostPort(s.addr)
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(dir, "sentinel.conf")
	// A sentinel rewrites its file: it takes no options from the command line.
	lines := []string{
		"port " + own, "bind 127.0.0.1", "dir " + dir, "logfile redis.log",
		"sentinel monitor " + MasterName + " " + host + " " + port + " 1",
		"sentinel down-after-milliseconds " + MasterName + " 500",
		"sentinel failover-timeout " + MasterName + " 3000",
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.args = []string{file, "--sentinel"}
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	return s
}

// awaitSentinel waits until the replica is in step and the sentinel has noticed it.
func awaitSentinel(tb testing.TB, sentinel, replica *Server) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	watcher := redis.NewSentinelClient(sentinel.Options())
	defer func() { _ = watcher.Close() }()
	follower := replica.Client(tb)
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		known, _ := watcher.Replicas(ctx, MasterName).Result()
		info, _ := follower.Info(ctx, "replication").Result()
		if len(known) == 1 && strings.Contains(info, "master_link_status:up") {
			return
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			tb.Fatalf("the sentinel knows %d replicas after %s; the replica says:\n%s", len(known), startTimeout, info)
		}
	}
}
