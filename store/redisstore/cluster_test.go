package redisstore

import (
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// TestCluster runs a queue whose partitions are on three servers.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	r := newRig(t, redistest.ClusterClient(t, nodes))
	partitions := 6
	_, err := r.Configure(r.ctx(), "q", store.Change{Create: true, Partitions: &partitions})
	r.must(err)
	for i := range partitions {
		r.p.Index = i
		everything(r)
	}
	st := r.stats()
	r.want("sent", st.Counters.Sent, 10*partitions)
	for _, node := range nodes {
		n, err := node.Client(t).DBSize(t.Context()).Result()
		r.must(err)
		if n == 0 {
			t.Errorf("nothing is on %s", node.Addr())
		}
	}
}

// TestCluster_ScriptsFollowAMovedSlot moves a partition's slot while its clients still have the old
// map of the Cluster.
func TestCluster_ScriptsFollowAMovedSlot(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 2)
	r := newRig(t, redistest.ClusterClient(t, nodes))
	r.push(r.messages(5, 10)...)
	redistest.MoveSlot(t, nodes, r.key("msg"))
	r.push(r.messages(5, 10)...)
	r.want("claimed", len(r.claim(10)), 10)
	r.wantClean()
}

func TestCluster_PushWaitsOnTheMasterOfTheSlot(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 2)
	r := newRigWith(t, redistest.ClusterClient(t, nodes), Config{Prefix: redistest.Prefix(), Replicas: 1, ReplicaTimeout: 1e6, Logger: quiet()})
	request := r.request(r.messages(1, 10))
	_, err := r.Push(r.ctx(), r.p, request)
	if err == nil {
		t.Fatal("replicated without a replica")
	}
	redistest.MoveSlot(t, nodes, r.key("msg"))
	_, again := r.Push(r.ctx(), r.p, request)
	r.want("the same after a move", again, err)
	r.want("sent", r.stats().Counters.Sent, 1)
}
