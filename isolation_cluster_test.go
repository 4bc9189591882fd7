package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// fleet is a queue with six partitions on a Cluster of three masters, each partition
// with a sender, and a consumer of all.
type fleet struct {
	testing.TB
	nodes   []*redistest.Server
	rdb     *redis.ClusterClient
	queue   *dueq.Queue
	victim  *redistest.Server // the master that fails
	broken  []int             // the partitions on it
	senders sync.WaitGroup
	quit    context.CancelFunc
	stop    context.CancelFunc
	done    chan error

	stored   [somePartitions]atomic.Int64 // messages whose Send returned no error
	mu       sync.Mutex
	handled  [somePartitions]int
	late     []time.Duration // of messages of the other partitions
	open     map[string]bool // stored, and not handled yet
	seen     tally
	failures int // counted against messages
}

const fleetPrefix = "fleet"

// startFleet starts a Cluster in which the other masters still serve when one is gone. appendfsync
// is the setting of all masters.
func startFleet(tb testing.TB, appendfsync string) *fleet {
	tb.Helper()
	f := &fleet{TB: tb, open: map[string]bool{}, done: make(chan error, 1)}
	f.nodes = redistest.StartCluster(tb, 3, "--cluster-require-full-coverage", "no", "--appendonly", "yes", "--appendfsync", appendfsync)
	f.rdb = redistest.ClusterClient(tb, f.nodes)
	name := f.choose()
	client := opened(tb)(dueq.NewRedis(f.rdb, &dueq.Options{Prefix: fleetPrefix, Logger: slog.New(slog.DiscardHandler)}))
	tb.Cleanup(func() { _ = client.Close() })
	f.queue = client.Queue(name)
	if err := f.queue.Create(tb.Context(), dueq.Settings{Partitions: somePartitions}); err != nil {
		tb.Fatal(err)
	}
	return f
}

// choose finds a name under which one master has two partitions, and makes it the victim.
func (f *fleet) choose() string {
	f.Helper()
	for i := range 100 {
		name, partitions := fmt.Sprint("q", i), map[string][]int{}
		for p := range somePartitions {
			master, err := f.rdb.MasterForKey(f.Context(), f.key(name, p, "due"))
			if err != nil {
				f.Fatal(err)
			}
			addr := master.Options().Addr
			partitions[addr] = append(partitions[addr], p)
		}
		for _, node := range f.nodes {
			if len(partitions[node.Addr()]) == len(brokenOnes) {
				f.victim, f.broken = node, partitions[node.Addr()]
				return name
			}
		}
	}
	f.Fatal("no name with two partitions on a master")
	return ""
}

func (f *fleet) key(queue string, partition int, kind string) string {
	return fmt.Sprintf("%s:{%s:%d}:%s", fleetPrefix, queue, partition, kind)
}

// run sends to each partition every few milliseconds, one after the other, and consumes.
func (f *fleet) run(every time.Duration) {
	sending, quit := context.WithCancel(f.Context())
	consuming, stop := context.WithCancel(f.Context())
	f.quit, f.stop = quit, stop
	for p := range somePartitions {
		f.senders.Go(func() {
			timer := time.NewTimer(every * time.Duration(p) / somePartitions)
			defer timer.Stop()
			<-timer.C
			f.send(sending, p, every)
		})
	}
	go func() {
		f.done <- f.queue.Consume(consuming, func(ctx context.Context, d *dueq.Delivery) error {
			f.note(d, time.Since(d.Due))
			// Slow enough that the consumer prefetches few messages.
			work, done := context.WithTimeout(ctx, 10*time.Millisecond)
			defer done()
			<-work.Done()
			return nil
		}, dueq.ConsumeOptions{})
	}()
}

// end stops the senders, waits until all stored messages are handled, and stops the consumer. It
// fails the test if a message was delivered twice or a failure was counted.
func (f *fleet) end() {
	f.Helper()
	f.quit()
	f.senders.Wait()
	f.await("everything to be handled", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.open) == 0
	})
	f.stop()
	if err := <-f.done; err != nil {
		f.Error(err)
	}
	if f.seen.total() != f.seen.distinct() || f.failures > 0 {
		f.Errorf("%d deliveries of %d messages, %d failures counted: want one each, and none", f.seen.total(), f.seen.distinct(), f.failures)
	}
}

// await polls until ok, and returns how long that took.
func (f *fleet) await(what string, ok func() bool) time.Duration {
	f.Helper()
	began := time.Now()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		if time.Since(began) > time.Minute {
			f.Fatalf("waited a minute for %s", what)
		}
		<-poll.C
	}
	return time.Since(began)
}

// send waits for each send, as a sender with a deadline does.
func (f *fleet) send(ctx context.Context, partition int, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		key := f.keyOf(partition, i)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		id, err := f.queue.Send(call, dueq.Message{Key: key})
		cancel()
		if err != nil {
			continue
		}
		f.stored[partition].Add(1)
		f.mu.Lock()
		f.open[id] = true
		if f.seen.of(id) > 0 {
			delete(f.open, id)
		}
		f.mu.Unlock()
	}
}

// keyOf returns a key that belongs to the partition and is used for the i-th message only.
func (f *fleet) keyOf(partition, i int) string {
	for n := 0; ; n++ {
		key := strconv.Itoa(i) + "-" + strconv.Itoa(n)
		if route.ByKey(key, somePartitions) == partition {
			return key
		}
	}
}

func (f *fleet) note(d *dueq.Delivery, late time.Duration) {
	id, err := store.ParseID(d.ID)
	if err != nil {
		f.Error(err)
	}
	partition := id.Partition()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handled[partition]++
	f.seen.add(d.ID)
	delete(f.open, d.ID)
	f.failures += d.Failures
	if !slices.Contains(f.broken, partition) {
		f.late = append(f.late, late)
	}
}

// figures are measured on the partitions that are not broken, during a span.
type figures struct {
	sent, handled int
	late          measure.Spread
}

func (f figures) String() string {
	return fmt.Sprintf("%d sent, %d handled, late %s", f.sent, f.handled, f.late)
}

// measure lets the fleet run for a span.
func (f *fleet) measure(span time.Duration) figures {
	f.mu.Lock()
	f.late = nil
	f.mu.Unlock()
	before := f.healthySent()
	timer := time.NewTimer(span)
	defer timer.Stop()
	<-timer.C
	after := f.healthySent()
	f.mu.Lock()
	defer f.mu.Unlock()
	return figures{sent: after - before, handled: len(f.late), late: measure.SpreadOf(f.late)}
}

func (f *fleet) healthySent() int {
	n := 0
	for p := range somePartitions {
		if !slices.Contains(f.broken, p) {
			n += int(f.stored[p].Load())
		}
	}
	return n
}

// recovered waits until the broken partitions store and deliver again, and returns how
// long that took.
func (f *fleet) recovered() time.Duration {
	f.Helper()
	progress := func() []int {
		f.mu.Lock()
		defer f.mu.Unlock()
		var all []int
		for _, p := range f.broken {
			all = append(all, f.handled[p], int(f.stored[p].Load()))
		}
		return all
	}
	before := progress()
	return f.await("the broken partitions to be served", func() bool {
		all := true
		for i, n := range progress() {
			all = all && n > before[i]
		}
		return all
	})
}

// trouble is a failure of the victim, and how it is ended.
type trouble struct {
	name       string
	begin, end func(f *fleet) error
}

func (f *fleet) configure(name, value string) error {
	return f.victim.Client(f).ConfigSet(f.Context(), name, value).Err()
}

// awaitVictim waits until a master that was started again has joined the Cluster: Redis
// makes it refuse writes for 2 s.
func (f *fleet) awaitVictim() {
	f.Helper()
	rdb := f.victim.Client(f)
	f.await("the master to join", func() bool {
		return strings.Contains(rdb.ClusterInfo(f.Context()).Val(), "cluster_state:ok")
	})
}

var troubles = []trouble{
	{"hangs", func(f *fleet) error { return f.victim.Freeze() }, func(f *fleet) error { return f.victim.Thaw() }},
	{
		"is gone", func(f *fleet) error { f.victim.Kill(); return nil },
		func(f *fleet) error { f.victim.Restart(f); f.awaitVictim(); return nil },
	},
	{
		"refuses writes", func(f *fleet) error { return f.configure("min-replicas-to-write", "1") },
		func(f *fleet) error { return f.configure("min-replicas-to-write", "0") },
	},
	{
		"is full", func(f *fleet) error { return f.configure("maxmemory", "1") },
		func(f *fleet) error { return f.configure("maxmemory", "0") },
	},
	{
		"has keys of another type",
		func(f *fleet) error {
			var errs []error
			for _, p := range f.broken {
				key := f.key(f.queue.Name(), p, "due")
				// In one step: a push in between would create the key again, and SET would
				// overwrite it.
				_, err := f.rdb.TxPipelined(f.Context(), func(tx redis.Pipeliner) error {
					tx.Rename(f.Context(), key, key+":kept")
					tx.Set(f.Context(), key, "x", 0)
					return nil
				})
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
		func(f *fleet) error {
			var errs []error
			for _, p := range f.broken {
				key := f.key(f.queue.Name(), p, "due")
				errs = append(errs, f.rdb.Rename(f.Context(), key+":kept", key).Err())
			}
			return errors.Join(errs...)
		},
	},
}

// TestCluster_TroubleOfOneMasterStaysThere compares the messages that the partitions of the other
// masters handle while one master fails with those before. The machine may be busy, and the master may
// be the one that sends the hints of the queue, so a tenth is enough: senders that waited for the
// broken partitions would reach a fiftieth. BenchmarkIsolation reports figures.
func TestCluster_TroubleOfOneMasterStaysThere(t *testing.T) {
	t.Parallel()
	span := *clusterSpan
	f := startFleet(t, "always")
	f.run(20 * time.Millisecond)
	defer f.end()
	for _, trouble := range troubles {
		f.measure(span / 2)
		before := f.measure(span)
		if err := trouble.begin(f); err != nil {
			t.Fatal(err)
		}
		during := f.measure(4 * span)
		if err := trouble.end(f); err != nil {
			t.Fatal(err)
		}
		took := f.recovered()
		t.Logf("%s: before %s; during, four times as long, %s; recovered in %s", trouble.name, before, during, took)
		if during.sent*10 < before.sent*4 || during.handled*10 < before.handled*4 {
			t.Errorf("%s: want a tenth of the rate before at least", trouble.name)
		}
	}
}

// BenchmarkIsolation reports the figures of TestCluster_TroubleOfOneMasterStaysThere: the rate of
// the other masters' partitions relative to the rate before, the lateness of their messages, and
// how long it takes until the broken partitions are served again. Redis does not wait for the disk,
// and the consumer has idle workers, so the figures are those of dueq. It is in this file because it
// uses the same fleet. Run it with -benchtime 1x.
func BenchmarkIsolation(b *testing.B) {
	for _, trouble := range troubles {
		b.Run(strings.ReplaceAll(trouble.name, " ", "-"), func(b *testing.B) {
			const span = 10 * time.Second
			f := startFleet(b, "everysec")
			f.run(20 * time.Millisecond)
			for b.Loop() {
				f.measure(time.Second)
				before := f.measure(span)
				if err := trouble.begin(f); err != nil {
					b.Fatal(err)
				}
				during := f.measure(span)
				if err := trouble.end(f); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(f.recovered().Seconds()*1e3, "recovery-ms")
				b.ReportMetric(float64(during.sent)/float64(before.sent), "sent-ratio")
				b.ReportMetric(float64(during.handled)/float64(before.handled), "handled-ratio")
				b.ReportMetric(before.late.P99, "p99-before-ms")
				b.ReportMetric(during.late.P99, "p99-during-ms")
			}
			f.end()
		})
	}
}
