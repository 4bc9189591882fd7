package redistest

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// StartCluster runs a Cluster of n masters, without replicas, for one test, with further
// arguments as in redis.conf, and returns once every node knows the whole Cluster.
func StartCluster(tb testing.TB, n int, args ...string) []*Server {
	tb.Helper()
	nodes := make([]*Server, n)
	for i := range nodes {
		nodes[i] = Start(tb, append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000"}, args...)...)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	for i, node := range nodes {
		join(ctx, tb, node, nodes[0], i*slots/n, (i+1)*slots/n-1)
	}
	for _, node := range nodes {
		awaitCluster(ctx, tb, node, n)
	}
	return nodes
}

// join assigns slots to a node and connects it to another node.
func join(ctx context.Context, tb testing.TB, node, other *Server, from, to int) {
	tb.Helper()
	rdb := node.Client(tb)
	if err := rdb.ClusterAddSlotsRange(ctx, from, to).Err(); err != nil {
		tb.Fatal(err)
	}
	host, port, err := net.SplitHostPort(other.Addr())
	if err == nil && node != other {
		err = rdb.ClusterMeet(ctx, host, port).Err()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func awaitCluster(ctx context.Context, tb testing.TB, node *Server, n int) {
	tb.Helper()
	rdb := node.Client(tb)
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		info := rdb.ClusterInfo(ctx).Val()
		list := rdb.ClusterNodes(ctx).Val()
		if strings.Contains(info, "cluster_state:ok") && strings.Count(list, " connected ") == n {
			return
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("the cluster did not form:\n%s\n%s", info, list)
		case <-retry.C:
		}
	}
}

// ClusterClient returns a client of a Cluster that is closed when the test ends.
func ClusterClient(tb testing.TB, nodes []*Server) *redis.ClusterClient {
	tb.Helper()
	addrs := make([]string, len(nodes))
	for i, node := range nodes {
		addrs[i] = node.Addr()
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// MoveSlot moves the slot of a key, with all its keys, to another of the nodes.
func MoveSlot(tb testing.TB, nodes []*Server, key string) {
	tb.Helper()
	ctx := tb.Context()
	slot, err := nodes[0].Client(tb).ClusterKeySlot(ctx, key).Result()
	if err != nil {
		tb.Fatal(err)
	}
	n := len(nodes)
	from := min(int(slot)*n/slots, n-1)
	for from+1 < n && int(slot) >= (from+1)*slots/n {
		from++
	}
	source, target := nodes[from], nodes[(from+1)%n]
	do := func(on *Server, args ...any) any {
		tb.Helper()
		reply, err := on.Client(tb).Do(ctx, args...).Result()
		if err != nil {
			tb.Fatalf("%v: %v", args, err)
		}
		return reply
	}
	sourceID, targetID := do(source, "CLUSTER", "MYID"), do(target, "CLUSTER", "MYID")
	do(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID)
	do(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID)
	host, port, _ := net.SplitHostPort(target.Addr())
	for _, moved := range do(source, "CLUSTER", "GETKEYSINSLOT", slot, 1000).([]any) {
		do(source, "MIGRATE", host, port, moved, 0, 5000)
	}
	for _, node := range []*Server{target, source} {
		do(node, "CLUSTER", "SETSLOT", slot, "NODE", targetID)
	}
}
