package redistest

import (
	"context"
	"fmt"
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

// StartSentinel runs a master, a replica of it, and a sentinel, and returns when all know each other.
// The sentinel waits long for a master that does not answer, for on a busy machine one that is well
// may answer late; a test that is about to lose the master calls ReplaceMasterSoon.
func StartSentinel(tb testing.TB) (sentinel, master, replica *Server) {
	tb.Helper()
	master = Start(tb)
	sentinel, replica = watch(tb, master.Addr())
	awaitWrites(tb, master)
	return sentinel, master, replica
}

// StartSentinelBehindLink is StartSentinel with a link through which all others reach the master.
func StartSentinelBehindLink(tb testing.TB) (sentinel, master, replica *Server, link *Link) {
	tb.Helper()
	master = Start(tb)
	link = startLink(tb, master.Addr())
	sentinel, replica = watch(tb, link.listener.Addr().String())
	awaitWrites(tb, master)
	return sentinel, master, replica, link
}

// ReplaceMasterSoon makes a sentinel replace a master that has not answered for half a second.
func ReplaceMasterSoon(tb testing.TB, sentinel *Server) {
	tb.Helper()
	if err := sentinel.Client(tb).Do(tb.Context(), "SENTINEL", "SET", MasterName, "down-after-milliseconds", "500").Err(); err != nil {
		tb.Fatal(err)
	}
}

// watch runs a replica and a sentinel of the master at an address.
func watch(tb testing.TB, addr string) (sentinel, replica *Server) {
	tb.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		tb.Fatal(err)
	}
	replica = Start(tb, "--replicaof", host+" "+port)
	awaitReplica(tb, replica)
	// Not before: a sentinel asks a master for its replicas at once, and then every 10 s.
	sentinel = startSentinel(tb, host, port)
	awaitSentinel(tb, sentinel)
	return sentinel, replica
}

func startSentinel(tb testing.TB, host, port string) *Server {
	tb.Helper()
	dir := tb.TempDir()
	s, err := newServer(tb, dir)
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
		"sentinel down-after-milliseconds " + MasterName + " 600000",
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

// awaitReplica waits until the replica is in sync.
func awaitReplica(tb testing.TB, replica *Server) {
	tb.Helper()
	follower := replica.Client(tb)
	await(tb, "the replica's link to be up", func(ctx context.Context) (bool, string) {
		info, err := follower.Info(ctx, "replication").Result()
		return strings.Contains(info, "master_link_status:up"), fmt.Sprint(info, err)
	})
}

// awaitWrites waits until the replica gets what is written to the master. The master holds that back
// until the replica has reported for the first time, up to a second after its link is up.
func awaitWrites(tb testing.TB, master *Server) {
	tb.Helper()
	rdb := master.Client(tb)
	conn := rdb.WithTimeout(2 * startTimeout).Conn() // longer than the WAIT, which is about the writes of its connection only
	defer func() { _ = conn.Close() }()
	err := conn.Set(tb.Context(), "redistest", "", 0).Err()
	if err == nil {
		err = conn.Del(tb.Context(), "redistest").Err()
	}
	if err != nil {
		tb.Fatal(err)
	}
	if n, err := conn.Wait(tb.Context(), 1, startTimeout).Result(); err != nil || n < 1 {
		tb.Fatalf("%d replicas have the writes of the master, want 1: %v", n, err)
	}
}

// awaitSentinel waits until the sentinel has noticed the replica.
func awaitSentinel(tb testing.TB, sentinel *Server) {
	tb.Helper()
	watcher := redis.NewSentinelClient(sentinel.Options())
	defer func() { _ = watcher.Close() }()
	await(tb, "the sentinel to know a replica", func(ctx context.Context) (bool, string) {
		known, err := watcher.Replicas(ctx, MasterName).Result()
		return len(known) == 1, fmt.Sprint(known, err)
	})
}

// await repeats a check until it succeeds. If that takes too long it fails the test with the
// last result.
func await(tb testing.TB, what string, ask func(ctx context.Context) (ok bool, seen string)) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		ok, seen := ask(tb.Context())
		if ok {
			return
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			tb.Fatalf("waited %s for %s, last seen:\n%s", startTimeout, what, seen)
		}
	}
}
