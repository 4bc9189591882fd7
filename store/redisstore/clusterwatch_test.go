package redisstore

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// clusterWatch is a queue on a Cluster that is being watched.
type clusterWatch struct {
	*rig
	rdb    *redis.ClusterClient
	nodes  []*redistest.Server
	events chan store.Event
	stop   context.CancelFunc
	done   chan error
}

func watchOnCluster(t *testing.T, masters, partitions int) *clusterWatch {
	t.Helper()
	w := &clusterWatch{nodes: redistest.StartCluster(t, masters), events: make(chan store.Event, 1000), done: make(chan error, 1)}
	w.rdb = redistest.ClusterClient(t, w.nodes)
	w.rig = newRig(t, w.rdb)
	_, err := w.Configure(w.ctx(), "q", store.Change{Create: true, Partitions: &partitions})
	w.must(err)
	w.watch()
	t.Cleanup(func() {
		w.stop()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// watch begins the watch and waits until it has all channels.
func (w *clusterWatch) watch() {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() { w.done <- w.Watch(ctx, "q", func(e store.Event) { w.events <- e }) }()
	w.want("at first", w.next(), store.Event{Kind: store.EventResync})
}

// notice sends an event of each partition, and wants each once.
func (w *clusterWatch) notice(partitions int) {
	w.t.Helper()
	for p := range partitions {
		e := store.Event{Kind: store.EventHelp, Partition: p, Helpers: p + 1}
		w.must(w.Notify(w.ctx(), "q", e))
		w.want("event of partition "+strconv.Itoa(p), w.next(), e)
	}
	w.want("other events", len(w.events), 0)
}

// next returns the next event, or fails the test when there is none for long.
func (w *clusterWatch) next() store.Event {
	w.t.Helper()
	select {
	case e := <-w.events:
		return e
	case <-time.After(time.Minute):
		w.t.Fatal("no event for a minute")
		return store.Event{}
	}
}

// until waits for an event of a kind.
func (w *clusterWatch) until(kind store.EventKind) {
	w.t.Helper()
	for w.next().Kind != kind {
	}
}

func (w *clusterWatch) masterOf(partition int) *redistest.Server {
	w.t.Helper()
	master, err := w.rdb.MasterForKey(w.ctx(), w.eventsChannel(store.Partition{Queue: "q", Index: partition}))
	w.must(err)
	for _, node := range w.nodes {
		if node.Addr() == master.Options().Addr {
			return node
		}
	}
	w.t.Fatalf("partition %d is on %s, which is not of the Cluster", partition, master.Options().Addr)
	return nil
}

// subscriptions returns how many connections of a server have subscriptions.
func (w *clusterWatch) subscriptions(node *redistest.Server) int {
	w.t.Helper()
	clients, err := node.Client(w.t).ClientList(w.ctx()).Result()
	w.must(err)
	return len(strings.Split(clients, "cmd=ssubscribe")) - 1
}

func TestClusterWatch_OneConnectionForEachMaster(t *testing.T) {
	t.Parallel()
	const masters, partitions = 3, 12
	w := watchOnCluster(t, masters, partitions)
	var others sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range 20 {
		begun := make(chan store.Event, 100)
		others.Go(func() { _ = w.Watch(ctx, "other"+strconv.Itoa(i), func(e store.Event) { begun <- e }) })
		<-begun
	}
	for _, node := range w.nodes {
		w.want("connections with subscriptions", w.subscriptions(node), 1)
	}
	w.notice(partitions)
	stop()
	others.Wait()
}

// An event reaches the masters' subscribers of its partition only: PUBLISH sends each event to all
// nodes of a Cluster.
func TestClusterWatch_EventsStayOnTheirMaster(t *testing.T) {
	t.Parallel()
	w := watchOnCluster(t, 3, 6)
	w.notice(6)
	w.push(w.messages(1, 10)...)
	w.want("push", w.next(), store.Event{Kind: store.EventWake})
	for _, node := range w.nodes {
		info := infoFields(node.Client(t).Info(t.Context(), "commandstats").Val())
		w.want("calls of PUBLISH", info["cmdstat_publish"], "")
		cluster := infoFields(node.Client(t).ClusterInfo(t.Context()).Val())
		w.want("events between nodes", cluster["cluster_stats_messages_publish_sent"], "")
	}
}

// A master that hangs keeps no events of the others, not even from a Store that begins meanwhile.
func TestClusterWatch_OthersAreHeardWhileAMasterHangs(t *testing.T) {
	t.Parallel()
	const partitions = 6
	w := watchOnCluster(t, 3, partitions)
	second, err := New(w.rdb, w.config)
	w.must(err)
	defer func() { w.must(second.Close()) }()
	victim := w.masterOf(0)
	w.must(victim.Freeze())
	defer func() { w.must(victim.Thaw()) }()
	second.remember("q", w.recall("q").queueSettings)
	heard := make(chan store.Event, 100)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- second.Watch(ctx, "q", func(e store.Event) { heard <- e }) }()
	healthy := 0
	for p := range partitions {
		if w.masterOf(p) == victim {
			continue
		}
		healthy++
		w.awaitSubscribers(p, 2)
		e := store.Event{Kind: store.EventLeft, Partition: p}
		w.must(w.Notify(w.ctx(), "q", e))
		w.want("event", w.next(), e)
		w.want("event of the second watch", <-heard, e)
	}
	if healthy == 0 {
		t.Fatal("all partitions are on one master")
	}
	stop()
	w.must(<-done)
}

// awaitSubscribers waits until the master of a partition has that many subscribers of its channel.
func (w *clusterWatch) awaitSubscribers(partition int, n int64) {
	w.t.Helper()
	channel := w.eventsChannel(store.Partition{Queue: "q", Index: partition})
	rdb := w.masterOf(partition).Client(w.t)
	for rdb.PubSubShardNumSub(w.ctx(), channel).Val()[channel] < n {
		runtime.Gosched()
	}
}

func TestClusterWatch_FollowsAMovedSlot(t *testing.T) {
	t.Parallel()
	const partitions = 4
	w := watchOnCluster(t, 2, partitions)
	for p := range partitions {
		w.p.Index = p
		redistest.MoveSlot(t, w.nodes, w.key("msg"))
		w.until(store.EventGap)
		w.until(store.EventResync)
	}
	w.notice(partitions)
}

// The watch of a queue that gets more partitions, as one that is deleted and made again, hears them.
func TestClusterWatch_HearsPartitionsThatWereAdded(t *testing.T) {
	t.Parallel()
	w := watchOnCluster(t, 2, 2)
	w.must(w.DeleteQueue(w.ctx(), "q", store.DeleteRequest{}))
	more := 9
	_, err := w.Configure(w.ctx(), "q", store.Change{Create: true, Partitions: &more})
	w.must(err)
	w.until(store.EventResync)
	for len(w.events) > 0 {
		<-w.events
	}
	w.notice(more)
}

// A master that is started again is subscribed to again, and the watches know of the gap.
func TestClusterWatch_SubscribesAgainToAMasterThatWasAway(t *testing.T) {
	t.Parallel()
	const partitions = 6
	w := watchOnCluster(t, 3, partitions)
	victim := w.masterOf(0)
	victim.Kill()
	w.until(store.EventGap)
	victim.Restart(t)
	w.until(store.EventResync)
	w.notice(partitions)
	w.stop()
	w.must(<-w.done)
	for _, node := range w.nodes { // the server notices the end of a connection a moment later
		for w.subscriptions(node) > 0 {
			runtime.Gosched()
		}
	}
	w.watch()
	w.notice(partitions)
}

func TestDoc_DocumentedACLIsEnoughOnACluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 2)
	addresses := make([]string, len(nodes))
	for i, node := range nodes {
		addresses[i] = node.Addr()
		allow(t, node.Client(t), "ACL SETUSER dueq ", "On a Cluster also:\n\n```\n")
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addresses, Username: "dueq", Password: "PASSWORD", DisableRoutingPolicies: true, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	r := newRigWith(t, rdb, Config{Prefix: "dueq", Logger: quiet()})
	ctx, stop := context.WithCancel(t.Context())
	events, done := make(chan store.Event, 1000), make(chan error, 1)
	go func() { done <- r.Watch(ctx, "q", func(e store.Event) { events <- e }) }()
	r.want("at first", <-events, store.Event{Kind: store.EventResync})
	everything(r)
	r.want("event", <-events, store.Event{Kind: store.EventWake})
	stop()
	r.must(<-done)
	for _, node := range nodes {
		denied, err := node.Client(t).Do(t.Context(), "ACL", "LOG").Slice()
		r.must(err)
		r.want("denied", denied, []any{})
	}
}
