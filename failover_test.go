package dueq_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

var failovers = flag.Int("sentinel.failovers", 0, "failovers of each kind, with and without Replicas; 0: one of two kinds, with Replicas")

// failover is a queue on a master that a sentinel watches, with senders and a consumer.
type failover struct {
	*testing.T
	ctx              context.Context
	watcher          *redistest.Server // the sentinel
	sentinel         *redis.SentinelClient
	master, replica  *redistest.Server
	link             *redistest.Link
	sender, consumer *dueq.Queue
	senders          sync.WaitGroup
	quit             context.CancelFunc
	replicas         int
	acknowledged     atomic.Int64
	mu               sync.Mutex
	open             map[string]bool // acknowledged, and not handled yet
	seen             tally
}

// failoverKinds are the ways in which a master is lost.
var failoverKinds = []struct {
	name  string
	brief bool // is in the short form
	lose  func(f *failover)
}{
	{"killed", false, func(f *failover) { f.master.Kill() }},
	{"stopped", false, func(f *failover) {
		f.must(f.master.Freeze())
		f.Cleanup(func() { _ = f.master.Thaw() })
	}},
	{"cut off", true, func(f *failover) { f.link.Cut() }},
	{"cut off while the queue grows", true, func(f *failover) {
		f.senders.Go(f.grow)
		f.link.Cut()
	}},
	{laggingReplica, true, func(f *failover) {
		f.must(f.replica.Freeze())
		f.must(f.master.Client(f).ClientKillByFilter(f.ctx, "TYPE", "replica").Err()) // otherwise it still receives what is in flight
		lag := time.NewTimer(150 * time.Millisecond)
		defer lag.Stop()
		<-lag.C
		f.master.Kill()
		f.must(f.replica.Thaw())
	}},
}

// servedAgainWithin is three times what it should take. The full form compares the time with it, the
// tests of every change only wait: the machine may be busy.
const servedAgainWithin = 9 * time.Second

const laggingReplica = "killed while its replica lags"

// TestSentinel_FailoversUnderLoad loses a master in several ways while messages are sent and
// consumed. With Replicas: 1 no acknowledged message is lost; without, some are when the replica
// lags, which shows that the test would notice.
func TestSentinel_FailoversUnderLoad(t *testing.T) {
	t.Parallel()
	for _, kind := range failoverKinds {
		for i := range max(1, *failovers) {
			for _, replicas := range []int{1, 0} {
				if *failovers == 0 && (!kind.brief || replicas == 0) {
					continue
				}
				t.Run(fmt.Sprintf("%s/replicas %d/%d", kind.name, replicas, i), func(t *testing.T) {
					t.Parallel()
					f := startFailover(t, replicas)
					took := f.fail(kind.lose)
					lost := f.lost()
					t.Logf("served again %s after the promotion; %d of %d acknowledged messages lost", took.Round(time.Millisecond), lost, f.acknowledged.Load())
					switch {
					case replicas == 1 && lost > 0:
						t.Errorf("%d of %d acknowledged messages lost, want none", lost, f.acknowledged.Load())
					case replicas == 0 && kind.name == laggingReplica && lost == 0:
						t.Error("no message lost although the replica did not get the last ones")
					}
					if *failovers > 0 && took > servedAgainWithin {
						t.Errorf("served again %s after the promotion, want at most %s", took, servedAgainWithin)
					}
				})
			}
		}
	}
}

func startFailover(t *testing.T, replicas int) *failover {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	f := &failover{T: t, ctx: ctx, replicas: replicas, open: map[string]bool{}}
	f.watcher, f.master, f.replica, f.link = redistest.StartSentinelBehindLink(t)
	url := "redis+sentinel://" + f.watcher.Addr() + "/" + redistest.MasterName
	f.sentinel = redis.NewSentinelClient(f.watcher.Options())
	t.Cleanup(func() { _ = f.sentinel.Close() })
	f.sender = open(ctx, t, url+"?replica_timeout=50ms&replicas="+strconv.Itoa(replicas)) // shorter than the replica lags
	f.consumer = open(ctx, t, url)
	f.must(f.consumer.Create(ctx, dueq.Settings{}))
	f.consume()
	sending, quit := context.WithCancel(ctx)
	f.quit = quit
	for i := range 4 {
		f.senders.Go(func() { f.send(sending, i) })
	}
	f.await("messages", func() bool { return f.seen.total() > 100 })
	return f
}

func (f *failover) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *failover) await(what string, ok func() bool) {
	f.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case <-f.ctx.Done():
			f.Fatalf("waited for %s until %s", what, context.Cause(f.ctx))
		}
	}
}

// grow gives the queue more partitions, and waits until the growth has ended. What a replica may lack
// can be lost and is repeated then.
func (f *failover) grow() {
	const partitions = 4
	known := false
	f.await("the queue to grow", func() bool {
		s, err := f.sender.Settings(f.ctx)
		switch {
		case err != nil:
			return false
		case s.Partitions == partitions:
			return s.GrowingFrom == 0
		case known && f.replicas > 0:
			f.Errorf("the queue has %d partitions again", s.Partitions)
			return true
		}
		_, err = f.sender.Update(f.ctx, func(s *dueq.Settings) { s.Partitions = partitions })
		known = known || err == nil
		return false
	})
}

// send sends messages that are due later, so that many are pending whenever the master is lost.
func (f *failover) send(ctx context.Context, sender int) {
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for i := range math.MaxInt {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		m := dueq.Message{Delay: 200 * time.Millisecond}
		if i%2 == 0 {
			m.Key = fmt.Sprintf("sender-%d-%d", sender, i)
		}
		id, err := f.sender.Send(call, m)
		cancel()
		if err != nil {
			continue
		}
		f.acknowledged.Add(1)
		f.mu.Lock()
		f.open[id] = f.seen.of(id) == 0
		f.mu.Unlock()
	}
}

func (f *failover) consume() {
	ctx, stop := context.WithCancel(f.ctx)
	done := make(chan error, 1)
	go func() {
		done <- f.consumer.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.seen.add(d.ID)
			f.open[d.ID] = false
			return nil
		}, dueq.ConsumeOptions{Lease: 2 * time.Second}) // acks that the replica lacks are made up for when leases end
	}()
	f.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			f.Error(err)
		}
	})
}

// fail loses the master, and returns how long after the promotion a message is stored and handled
// by clients that knew the old master. The promotion is when the sentinel names the replica as the
// master, because clients cannot know earlier.
func (f *failover) fail(lose func(f *failover)) time.Duration {
	f.Helper()
	redistest.ReplaceMasterSoon(f, f.watcher)
	began := time.Now()
	lose(f)
	f.await("the promotion", func() bool {
		addr, err := f.sentinel.GetMasterAddrByName(f.ctx, redistest.MasterName).Result()
		return err == nil && strings.Join(addr, ":") == f.replica.Addr()
	})
	promoted := time.Now()
	f.Logf("promoted after %s", promoted.Sub(began).Round(time.Millisecond))
	id := ""
	f.await("a message to be stored", func() bool {
		call, cancel := context.WithTimeout(f.ctx, time.Second)
		defer cancel()
		var err error
		id, err = f.consumer.Send(call, dueq.Message{})
		return err == nil
	})
	f.await("it to be handled", func() bool { return f.seen.of(id) > 0 })
	return time.Since(promoted)
}

// lost stops the senders, waits until nothing is pending, and returns how many acknowledged messages
// have not been handled. It fails the test if the audit finds a problem.
func (f *failover) lost() int {
	f.Helper()
	f.quit()
	f.senders.Wait()
	f.await("everything to be handled", func() bool {
		s, err := f.consumer.Stats(f.ctx)
		return err == nil && s.Scheduled+s.Ready+s.Leased == 0
	})
	report, err := f.consumer.Check(f.ctx)
	f.must(err)
	for _, p := range report.Problems {
		f.Errorf("check: %s: %s", p.ID, p.Text)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, missing := range f.open {
		if missing {
			n++
		}
	}
	return n
}
