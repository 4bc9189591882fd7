package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// manyQueues makes queues q-00, q-01 and so on, with 1 to 3 partitions, each with a message.
func manyQueues(r *rig, n int) {
	r.t.Helper()
	for i := range n {
		queue, partitions := fmt.Sprintf("q-%02d", i), 1+i%3
		_, err := r.Configure(r.ctx(), queue, store.Change{Create: true, Partitions: &partitions})
		r.must(err)
		for p := range partitions {
			r.p = store.Partition{Queue: queue, Index: p}
			r.push(r.messages(1, 10)...)
		}
	}
}

// wantStats checks the statistics of those of manyQueues that are left.
func wantStats(r *rig, all []store.Stats, queues ...int) {
	r.t.Helper()
	r.want("queues", len(all), len(queues))
	for at, i := range queues {
		r.want("queue", all[at].Queue, fmt.Sprintf("q-%02d", i))
		r.want("partitions of "+all[at].Queue, all[at].Settings.Partitions, 1+i%3)
		r.want("ready in "+all[at].Queue, all[at].Ready, 1+i%3)
		r.want("sent to "+all[at].Queue, all[at].Counters.Sent, 1+i%3)
	}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestStats_PipelinesDoNotGrowWithTheQueues(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	g := &gate{}
	r.rdb.AddHook(g)
	for made := range 4 {
		_, err := r.Configure(r.ctx(), fmt.Sprint("other-", made), store.Change{Create: true})
		r.must(err)
	}
	for _, n := range []int{1, 60} {
		manyQueues(r, n)
		r.beat(store.BeatRequest{Client: "x", TTL: 10_000, Join: []store.Member{{Queue: "q-00", Consumer: "a"}, {Queue: "q-00", Consumer: "b"}}})
		r.must(r.rdb.ScriptFlush(r.ctx()).Err())
		_, err := r.Stats(r.ctx(), "") // loads the scripts
		r.must(err)
		g.pipelines, g.direct = nil, nil
		all, err := r.Stats(r.ctx(), "")
		r.must(err)
		r.want("pipelines", len(g.pipelines), 2)
		r.want("single commands", len(g.direct), 0)
		r.want("queues", len(all), n+4)
		r.want("consumers", all[4].Consumers, 2)
	}
}

func TestStats_ScriptsAreLoadedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	manyQueues(r, 30)
	r.must(r.rdb.ScriptFlush(r.ctx()).Err())
	g := &gate{}
	r.rdb.AddHook(g)
	all, err := r.Stats(r.ctx(), "")
	r.must(err)
	wantStats(r, all, upTo(30)...)
	r.want("pipelines", len(g.pipelines), 2+2)
	r.want("single commands", len(g.direct), 2*2) // by the hash, then the source, of each of two scripts
}

func TestStats_OfMorePartitionsThanAPipelineHas(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	partitions := askedTogether + 10
	_, err := r.Configure(r.ctx(), "q", store.Change{Create: true, Partitions: &partitions})
	r.must(err)
	for _, i := range []int{0, askedTogether - 2, askedTogether - 1, askedTogether, partitions - 1} {
		r.p.Index = i
		r.push(r.messages(1, 10)...)
	}
	r.want("ready", r.stats().Ready, 5)
}

func TestStats_QueuesThatAreNotThereAreLeftOut(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	manyQueues(r, 6)
	r.must(r.rdb.SAdd(r.ctx(), r.queuesKey(), "a-never-made", "q-02-never-made").Err())
	r.must(r.DeleteQueue(r.ctx(), "q-01", store.DeleteRequest{Force: true}))
	r.must(r.rdb.SAdd(r.ctx(), r.queuesKey(), "q-01").Err())
	r.must(r.rdb.Del(r.ctx(), r.metaKey("q-05")).Err()) // its partitions have its settings
	all, err := r.Stats(r.ctx(), "")
	r.must(err)
	wantStats(r, all, 0, 2, 3, 4, 5)
}

// The settings in meta may be older than those that a partition has.
func TestStats_LatestSettings(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	manyQueues(r, 6)
	old := r.rdb.Dump(r.ctx(), r.metaKey("q-02")).Val()
	partitions, paused := 5, true
	_, err := r.Configure(r.ctx(), "q-02", store.Change{Partitions: &partitions, Paused: &paused})
	r.must(err)
	r.p = store.Partition{Queue: "q-02", Index: 4}
	r.push(r.messages(1, 10)...)
	r.must(r.rdb.RestoreReplace(r.ctx(), r.metaKey("q-02"), 0, old).Err())
	all, err := r.Stats(r.ctx(), "")
	r.must(err)
	r.want("partitions", all[2].Settings.Partitions, 5)
	r.want("paused", all[2].Settings.Paused, true)
	r.want("ready", all[2].Ready, 4)
	all = append(all[:2], all[3:]...)
	wantStats(r, all, 0, 1, 3, 4, 5)
}

func TestStats_ErrorNamesTheQueue(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(r *rig) string{
		"settings":  func(r *rig) string { return r.metaKey("q-02") },
		"partition": func(r *rig) string { return r.partitionKeys(store.Partition{Queue: "q-02", Index: 1}, 1)[0] },
		"due":       func(r *rig) string { return r.partitionKeys(store.Partition{Queue: "q-02", Index: 1}, 4)[3] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sharedRig(t)
			manyQueues(r, 5)
			r.must(r.rdb.Set(r.ctx(), key(r), "x", 0).Err())
			_, err := r.Stats(r.ctx(), "")
			var of *store.Error
			if !errors.Is(err, store.ErrCorrupt) || !errors.As(err, &of) || of.Queue != "q-02" || of.Op != "stats" {
				t.Errorf("%v, want ErrCorrupt of q-02", err)
			}
		})
	}
}

// loadingError is the answer of a server that has just started.
type loadingError struct{}

func (loadingError) Error() string { return "LOADING Redis is loading the dataset in memory" }
func (loadingError) RedisError()   {}

// loading is a hook that replaces each second answer of the first pipelines.
type loading struct {
	pipelines int
	sizes     []int
}

func (l *loading) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (l *loading) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (l *loading) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if _, ok := cmds[0].(onceCmd); !ok {
			return err // of a connection's set-up
		}
		l.sizes = append(l.sizes, len(cmds))
		if l.pipelines--; l.pipelines >= 0 {
			for i := 1; i < len(cmds); i += 2 {
				cmds[i].SetErr(loadingError{})
			}
		}
		return err
	}
}

func TestStats_OnlyWhatFailedIsAskedAgain(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	manyQueues(r, 9)
	_, err := r.Stats(r.ctx(), "") // loads the scripts
	r.must(err)
	l := &loading{pipelines: 2}
	r.rdb.AddHook(l)
	all, err := r.Stats(r.ctx(), "")
	r.must(err)
	wantStats(r, all, upTo(9)...)
	r.want("commands of the pipelines", slices.Equal(l.sizes, []int{9, 4, 2, 27}), true)
}

func TestStats_OnACluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	r := newRig(t, redistest.ClusterClient(t, nodes))
	manyQueues(r, 30)
	all, err := r.Stats(r.ctx(), "")
	r.must(err)
	wantStats(r, all, upTo(30)...)
	g := &gate{}
	r.rdb.AddHook(g)
	all, err = r.Stats(r.ctx(), "")
	r.must(err)
	wantStats(r, all, upTo(30)...)
	r.want("pipelines", len(g.pipelines), 2)
	r.p = store.Partition{Queue: "q-02", Index: 2}
	redistest.MoveSlot(t, nodes, r.key("side"))
	all, err = r.Stats(r.ctx(), "")
	r.must(err)
	wantStats(r, all, upTo(30)...)
}
