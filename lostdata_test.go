package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// In these tests Redis loses data while a sender and a consumer run. Both continue without a restart.

// losing is a queue with two clients that have used it before data gets lost.
type losing struct {
	*testing.T
	ctx        context.Context
	url        string
	partitions int
	sender     *dueq.Queue
	consumer   *dueq.Queue
	seen       chan string // ids, as the running consumer handles them
	stop       func()
}

// startLosing makes a queue and starts a consumer. It returns when the consumer has handled a
// message of each partition.
func startLosing(t *testing.T, url string, partitions int) *losing {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	l := &losing{T: t, ctx: ctx, url: url, partitions: partitions, seen: make(chan string, 10_000)}
	l.sender, l.consumer = open(ctx, t, url), open(ctx, t, url)
	err := l.sender.Create(ctx, dueq.Settings{Partitions: partitions, MaxBody: 5000, MaxMessages: 9000})
	l.must(err)
	consuming, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- l.consumer.Consume(consuming, func(_ context.Context, d *dueq.Delivery) error {
			l.seen <- d.ID
			return nil
		}, dueq.ConsumeOptions{Lease: time.Second})
	}()
	l.stop = sync.OnceFunc(func() {
		stop()
		l.must(<-done)
	})
	t.Cleanup(l.stop)
	l.wantDelivered(l.sender, 3*partitions)
	return l
}

func (l *losing) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// wantDelivered sends messages, which the running consumer must all get.
func (l *losing) wantDelivered(from *dueq.Queue, n int) {
	l.Helper()
	missing := map[string]bool{}
	for range n {
		id, err := from.Send(l.ctx, dueq.Message{})
		l.must(err)
		missing[id] = true
	}
	for len(missing) > 0 {
		select {
		case id := <-l.seen:
			delete(missing, id)
		case <-l.ctx.Done():
			l.Fatalf("%d of %d messages were not delivered", len(missing), n)
		}
	}
}

// awaitAcks waits until all that was delivered is acknowledged. An older snapshot has the lease of what was not.
func (l *losing) awaitAcks() {
	l.Helper()
	for {
		stats, err := l.sender.Stats(l.ctx)
		l.must(err)
		if stats.Leased == 0 {
			return
		}
	}
}

// wantWhole checks after a loss of data that the old clients and a new one use the same partitions
// and settings.
func (l *losing) wantWhole() {
	l.Helper()
	l.wantDelivered(l.sender, 10*l.partitions)
	fresh := open(l.ctx, l.T, l.url)
	l.wantDelivered(fresh, 10*l.partitions)
	l.stop()
	queues := []*dueq.Queue{l.sender, l.consumer, fresh}
	l.wantSettings(queues)
	l.wantPauseHolds(queues)
	l.wantUniqueKeys(queues)
	report, err := fresh.Check(l.ctx)
	l.must(err)
	for _, p := range report.Problems {
		l.Errorf("check: %s: %s", p.ID, p.Text)
	}
}

func (l *losing) wantSettings(queues []*dueq.Queue) {
	l.Helper()
	want := dueq.Settings{Partitions: l.partitions, MaxBody: 5000, MaxMessages: 9000}
	for i, q := range queues {
		stats, err := q.Stats(l.ctx)
		l.must(err)
		if stats.Settings != want {
			l.Errorf("client %d: settings %+v, want %+v", i, stats.Settings, want)
		}
	}
}

// wantPauseHolds pauses with one client after the other, and receives from every partition
// with each.
func (l *losing) wantPauseHolds(queues []*dueq.Queue) {
	l.Helper()
	for _, pausing := range queues {
		l.must(pausing.Pause(l.ctx))
		_, err := pausing.Send(l.ctx, dueq.Message{})
		l.must(err)
		for i, q := range queues {
			for range l.partitions {
				if got, err := q.Receive(l.ctx, dueq.ReceiveOptions{}); len(got) > 0 || !errors.Is(err, dueq.ErrPaused) {
					l.Errorf("client %d: %d deliveries, %v from a paused queue", i, len(got), err)
				}
			}
		}
		l.must(pausing.Resume(l.ctx))
	}
}

// wantPaused sends messages to every partition and receives none.
func (l *losing) wantPaused(q *dueq.Queue) {
	l.Helper()
	before, err := q.Stats(l.ctx)
	l.must(err)
	for range l.partitions {
		_, err := q.Send(l.ctx, dueq.Message{})
		l.must(err)
	}
	for range 2 * l.partitions {
		if got, err := q.Receive(l.ctx, dueq.ReceiveOptions{}); !errors.Is(err, dueq.ErrPaused) {
			l.Fatalf("%d deliveries, %v from a paused queue", len(got), err)
		}
	}
	after, err := q.Stats(l.ctx)
	l.must(err)
	if got := after.Ready - before.Ready; got != int64(l.partitions) {
		l.Fatalf("%d of %d messages sent to a paused queue are ready", got, l.partitions)
	}
}

// wantUniqueKeys sends each key with all clients, and then receives everything.
func (l *losing) wantUniqueKeys(queues []*dueq.Queue) {
	l.Helper()
	const keys = 40
	for k := range keys {
		m := dueq.Message{Key: fmt.Sprint("key", k)}
		if _, err := queues[k%len(queues)].Send(l.ctx, m); err != nil {
			l.Errorf("key %d: %v", k, err)
		}
		for i, q := range queues {
			if _, err := q.Send(l.ctx, m); !errors.Is(err, dueq.ErrDuplicate) {
				l.Errorf("key %d again, by client %d: %v, want ErrDuplicate", k, i, err)
			}
			if _, err := q.Get(l.ctx, dueq.Key(m.Key)); err != nil {
				l.Errorf("client %d: get key %d: %v", i, k, err)
			}
		}
	}
	got := 0
	for {
		found, err := queues[len(queues)-1].Receive(l.ctx, dueq.ReceiveOptions{Max: 500})
		l.must(err)
		if len(found) == 0 {
			break
		}
		for _, d := range found {
			l.must(d.Ack(l.ctx))
		}
		got += len(found)
	}
	if want := keys + len(queues); got != want { // and one message for each pause
		l.Errorf("received %d messages, want %d", got, want)
	}
	stats, err := queues[0].Stats(l.ctx)
	l.must(err)
	if live := stats.Scheduled + stats.Ready + stats.Leased + stats.Dead; live != 0 {
		l.Errorf("%d messages are left: %+v", live, stats)
	}
}

func TestLostData_EverythingIsFlushed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := startLosing(t, "redis://"+server.Addr(), 4)
	l.must(server.Client(t).FlushAll(l.ctx).Err())
	l.wantWhole()
}

func TestLostData_MetaIsDeleted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := startLosing(t, "redis://"+server.Addr(), 4)
	l.must(server.Client(t).Del(l.ctx, "dueq:{work}:meta").Err())
	// First, with a client that does not know the queue.
	fresh := open(l.ctx, t, l.url)
	l.must(fresh.Pause(l.ctx))
	for range l.partitions {
		if _, err := fresh.Receive(l.ctx, dueq.ReceiveOptions{}); !errors.Is(err, dueq.ErrPaused) {
			t.Errorf("%v from a paused queue", err)
		}
	}
	l.must(fresh.Resume(l.ctx))
	l.wantWhole()
}

// Everything is lost, and the first call is that of a new client, which makes the queue with other
// settings.
func TestLostData_QueueIsMadeAgainWithOtherPartitions(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3, 7} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			l := startLosing(t, "redis://"+server.Addr(), 4)
			fresh := open(l.ctx, t, l.url)
			// In one transaction, because otherwise a running client makes the queue again first.
			rdb := server.Client(t)
			_, err := rdb.TxPipelined(l.ctx, func(p redis.Pipeliner) error {
				p.FlushAll(l.ctx)
				p.HSet(l.ctx, "dueq:{work}:meta", "layout", 1, "version", time.Now().UnixMilli()+1, "partitions", partitions,
					"max_body", 5000, "max_messages", 9000, "paused", 0)
				return nil
			})
			l.must(err)
			err = fresh.Create(l.ctx, dueq.Settings{Partitions: partitions, MaxBody: 5000, MaxMessages: 9000})
			l.must(err)
			l.partitions = partitions
			l.wantWhole()
		})
	}
}

func TestLostData_ClusterNodeRestartsEmpty(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.Addr())
	}
	l := startLosing(t, "redis+cluster://"+strings.Join(hosts, ","), 6)
	master, err := redistest.ClusterClient(t, nodes).MasterForKey(l.ctx, "dueq:{work}:meta")
	l.must(err)
	for _, n := range nodes {
		if n.Addr() == master.Options().Addr {
			n.Restart(t) // only the map of the Cluster is on its disk
		}
	}
	l.wantWhole()
}

// An older snapshot is restored, for all keys and for some of them.
func TestLostData_OldSnapshotIsRestored(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]func(key string) bool{
		"of everything":     func(string) bool { return true },
		"of the settings":   func(key string) bool { return strings.HasSuffix(key, "}:meta") },
		"of one partition":  func(key string) bool { return strings.Contains(key, "{work:1}") },
		"of all partitions": func(key string) bool { return strings.Contains(key, "{work:") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			l := startLosing(t, "redis://"+server.Addr(), 4)
			rdb := server.Client(t)
			l.awaitAcks()
			snapshot := dump(l, rdb, old)
			l.must(l.sender.Pause(l.ctx))
			restore(l, rdb, snapshot)
			l.wantPaused(l.sender) // it knows of the pause
			l.wantPaused(open(l.ctx, t, l.url))
			l.must(l.sender.Resume(l.ctx))
			l.wantWhole()
		})
	}
}

func dump(l *losing, rdb *redis.Client, wanted func(string) bool) map[string]string {
	l.Helper()
	keys, err := rdb.Keys(l.ctx, "*").Result()
	l.must(err)
	snapshot := map[string]string{}
	for _, key := range keys {
		if wanted(key) {
			snapshot[key], err = rdb.Dump(l.ctx, key).Result()
			l.must(err)
		}
	}
	return snapshot
}

func restore(l *losing, rdb *redis.Client, snapshot map[string]string) {
	l.Helper()
	_, err := rdb.TxPipelined(l.ctx, func(p redis.Pipeliner) error {
		for key, value := range snapshot {
			p.RestoreReplace(l.ctx, key, 0, value)
		}
		return nil
	})
	l.must(err)
}

// A replica becomes master that lacks the last changes: new partitions, and a pause.
func TestLostData_ReplicaLacksTheLastSecond(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := redistest.StartSentinel(t)
	l := startLosing(t, "redis+sentinel://"+sentinel.Addr()+"/"+redistest.MasterName, 4)
	conn := master.Client(t).WithTimeout(2 * time.Minute).Conn() // longer than the WAIT
	l.must(conn.Set(l.ctx, "last", "1", 0).Err())                // WAIT waits for the writes of its own connection only
	if n, err := conn.Do(l.ctx, "WAIT", 1, 60_000).Int(); err != nil || n < 1 {
		t.Fatalf("%d replicas have the queue: %v", n, err)
	}
	l.must(conn.Close())
	l.must(replica.Freeze())
	l.must(master.Client(t).ClientKillByFilter(l.ctx, "TYPE", "replica").Err()) // otherwise it still receives writes that are in flight
	l.must(l.sender.Pause(l.ctx))
	redistest.ReplaceMasterSoon(t, sentinel)
	master.Kill()
	l.must(replica.Thaw())
	l.wantPaused(l.sender)
	l.must(l.sender.Resume(l.ctx))
	l.wantWhole()
}
