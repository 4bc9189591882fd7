package redistest

import (
	"context"
	"fmt"
	"net"
	"slices"
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
	m := OpenSlot(tb, nodes, key)
	m.MigrateRest()
	m.Close()
}

// SlotMove is a slot on its way from one node to the next. Until Close, both nodes have a part of
// it, and commands whose keys are not all on the same node get errors.
type SlotMove struct {
	tb             testing.TB
	source, target *Server
	slot           int64
}

// OpenSlot starts to move the slot of a key, without its keys.
func OpenSlot(tb testing.TB, nodes []*Server, key string) *SlotMove {
	tb.Helper()
	slot, err := nodes[0].Client(tb).ClusterKeySlot(tb.Context(), key).Result()
	if err != nil {
		tb.Fatal(err)
	}
	from := slices.IndexFunc(nodes, func(n *Server) bool { return owns(tb, n, slot) })
	if from < 0 {
		tb.Fatalf("no node owns slot %d", slot)
	}
	m := &SlotMove{tb: tb, source: nodes[from], target: nodes[(from+1)%len(nodes)], slot: slot}
	m.do(m.target, "CLUSTER", "SETSLOT", slot, "IMPORTING", m.do(m.source, "CLUSTER", "MYID"))
	m.do(m.source, "CLUSTER", "SETSLOT", slot, "MIGRATING", m.do(m.target, "CLUSTER", "MYID"))
	return m
}

// owns asks a node whether a slot is its own.
func owns(tb testing.TB, node *Server, slot int64) bool {
	tb.Helper()
	all, err := node.Client(tb).ClusterSlots(tb.Context()).Result() //nolint:staticcheck // CLUSTER SHARDS needs Redis 7
	if err != nil {
		tb.Fatal(err)
	}
	return slices.ContainsFunc(all, func(r redis.ClusterSlot) bool {
		return int64(r.Start) <= slot && slot <= int64(r.End) && r.Nodes[0].Addr == node.Addr()
	})
}

// Migrate moves a key.
func (m *SlotMove) Migrate(key string) {
	m.tb.Helper()
	host, port, err := net.SplitHostPort(m.target.Addr())
	if err != nil {
		m.tb.Fatal(err)
	}
	m.do(m.source, "MIGRATE", host, port, key, 0, 5000)
}

// MigrateRest moves all keys that are still on the old node, one after the other.
func (m *SlotMove) MigrateRest() {
	m.tb.Helper()
	keys, _ := m.do(m.source, "CLUSTER", "GETKEYSINSLOT", m.slot, 1000).([]any)
	for _, key := range keys {
		m.Migrate(fmt.Sprint(key))
	}
}

// Close gives the slot to its new node. All its keys must have been moved.
func (m *SlotMove) Close() {
	m.tb.Helper()
	id := m.do(m.target, "CLUSTER", "MYID")
	for _, node := range []*Server{m.target, m.source} {
		m.do(node, "CLUSTER", "SETSLOT", m.slot, "NODE", id)
	}
}

func (m *SlotMove) do(on *Server, args ...any) any {
	m.tb.Helper()
	rdb := redis.NewClient(on.Options()) // one that ends here: a test may move hundreds of slots
	defer func() { _ = rdb.Close() }()
	reply, err := rdb.Do(m.tb.Context(), args...).Result()
	if err != nil {
		m.tb.Fatalf("%v: %v", args, err)
	}
	return reply
}
