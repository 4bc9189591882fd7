package redisstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// another returns a second store on the same keys, as another process would have.
func (r *rig) another() *rig {
	return newRigWith(r.t, r.rdb, r.config)
}

func (r *rig) configure(c store.Change) store.Settings {
	r.t.Helper()
	settings, err := r.Configure(r.ctx(), r.p.Queue, c)
	r.must(err)
	settings.Version, settings.ChangedBy = 0, ""
	return settings
}

func TestCheck_NamesDifferencesOfSettings(t *testing.T) {
	t.Parallel()
	partitions := 3
	made := func(t *testing.T) *rig {
		r := sharedRig(t)
		r.configure(store.Change{Create: true, Partitions: &partitions})
		r.wantClean()
		return r
	}
	for name, c := range map[string]struct {
		lose func(r *rig)
		want string
	}{
		"meta is lost": {
			func(r *rig) { r.must(r.rdb.Del(r.ctx(), r.metaKey("q")).Err()) },
			"the settings of the queue are missing, its partitions have them",
		},
		"another number": {
			func(r *rig) { r.must(r.rdb.HSet(r.ctx(), r.side(1), "partitions", 5).Err()) },
			"partition 1 is one of 5, but the queue has 3 partitions",
		},
		"one too many": {
			func(r *rig) { r.must(r.rdb.Copy(r.ctx(), r.side(1), r.side(3), 0, false).Err()) },
			"partition 3 exists, but the queue has 3 partitions: its messages are not delivered",
		},
		"an older partition": {
			func(r *rig) { r.must(r.rdb.HSet(r.ctx(), r.side(2), "version", 1000).Err()) },
			"partition 2 has settings older than the queue's",
		},
		"older settings": {
			func(r *rig) { r.must(r.rdb.HSet(r.ctx(), r.metaKey("q"), "version", 1000).Err()) },
			"the settings of the queue are older than those of its partitions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := made(t)
			c.lose(r)
			r.want("problems", r.problems(), []store.Problem{{Text: c.want}})
		})
	}
}

// side returns the key of a partition's settings.
func (r *rig) side(index int) string {
	return r.partitionKeys(store.Partition{Queue: "q", Index: index}, 1)[0]
}

func TestPush_BeyondTheQueuesPartitionsIsRefused(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(1, 10)...)
	r.p.Index = 1
	_, err := r.Push(r.ctx(), r.p, r.request(r.messages(1, 10)))
	r.want("push", errors.Is(err, store.ErrRepartitioned), true)
	_, err = r.Claim(r.ctx(), r.p, r.claimRequest(1))
	r.want("claim", errors.Is(err, store.ErrRepartitioned), true)
	r.want("keys of the partition", r.rdb.Exists(r.ctx(), r.key("side")).Val(), 0)
}

// A change of settings of which a part was lost is made again, on the latest settings.
func TestConfigure_FindsLaterSettingsInAPartition(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	partitions, most, paused := 3, int64(7), true
	r.configure(store.Change{Create: true, Partitions: &partitions})
	old := r.rdb.Dump(r.ctx(), r.metaKey("q")).Val()
	r.configure(store.Change{MaxMessages: &most})
	r.must(r.rdb.RestoreReplace(r.ctx(), r.metaKey("q"), 0, old).Err())
	r = r.another()
	got := r.configure(store.Change{Paused: &paused})
	r.want("settings", got, store.Settings{Partitions: 3, MaxBody: store.DefaultMaxBody, MaxMessages: 7, Paused: true})
	r.want("as read", r.configure(store.Change{}), got)
	r.wantClean()
	for i := range partitions {
		r.want("paused", r.rdb.HGet(r.ctx(), r.side(i), "paused").Val(), "1")
	}
}

// A client that knows only older settings does not overwrite what a partition has.
func TestConfigure_OlderSettingsDoNotReplaceLaterOnes(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	seven, nine := int64(7), int64(9)
	r.configure(store.Change{Create: true, MaxMessages: &seven})
	older := r.recall("q").queueSettings
	want := r.configure(store.Change{MaxMessages: &nine})
	got, err := r.configurePartition(r.ctx(), "configure", r.p, older)
	r.must(err)
	r.want("the limit", got.MaxMessages, want.MaxMessages)
	r.want("of the partition", r.rdb.HGet(r.ctx(), r.side(0), "max_messages").Val(), "9")
}

// A queue is not made while a server that may have its partitions does not answer.
func TestConfigure_DoesNotMakeAQueueThatMayExist(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	rdb := redistest.ClusterClient(t, nodes)
	r := newRig(t, rdb)
	partitions := 6
	r.configure(store.Change{Create: true, Partitions: &partitions})
	r.must(rdb.Del(r.ctx(), r.metaKey("q")).Err())
	home, err := rdb.MasterForKey(r.ctx(), r.metaKey("q"))
	r.must(err)
	for _, n := range nodes {
		if n.Addr() != home.Options().Addr {
			r.must(n.Freeze())
			defer func() { r.must(n.Thaw()) }()
			break
		}
	}
	ctx, cancel := context.WithTimeout(r.ctx(), time.Second)
	defer cancel()
	_, err = r.another().Configure(ctx, "q", store.Change{Create: true})
	r.want("refused", errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded), true)
	r.want("meta", rdb.Exists(r.ctx(), r.metaKey("q")).Val(), 0)
}

// When settings are restored, that is logged once.
func TestPush_RestoredSettingsAreLogged(t *testing.T) {
	t.Parallel()
	log := &lines{}
	r := newRigWith(t, redistest.Shared(t).Client(t), Config{Prefix: redistest.Prefix(), Logger: log.logger()})
	partitions := 2
	r.configure(store.Change{Create: true, Partitions: &partitions})
	r.must(r.rdb.Del(r.ctx(), r.metaKey("q"), r.key("side")).Err())
	for range 2 {
		r.push(r.messages(1, 10)...)
	}
	const want = "its latest settings are restored"
	if strings.Count(log.String(), want) != 1 {
		t.Errorf("want %q once in:\n%s", want, log)
	}
}
