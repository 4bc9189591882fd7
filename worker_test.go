package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// crew is a worker that runs in the background, with counts of the calls of its handlers.
type crew struct {
	*rig
	worker *dueq.Worker
	done   chan error

	mu      sync.Mutex
	handled map[string]int // by queue
	now     map[string]int // handlers that run
	peak    map[string]int
	all     int // the peak of all together
}

func (r *rig) crew(o dueq.WorkerOptions) *crew {
	r.Helper()
	w, err := dueq.NewWorker(r.client, o)
	r.must(err)
	return &crew{rig: r, worker: w, done: make(chan error, 1), handled: map[string]int{}, now: map[string]int{}, peak: map[string]int{}}
}

// handle registers a handler that takes some time.
func (c *crew) handle(pattern string, takes time.Duration, o dueq.HandleOptions) {
	c.Helper()
	c.must(c.worker.Handle(pattern, func(ctx context.Context, d *dueq.Delivery) error {
		c.count(d.Queue, 1)
		defer c.count(d.Queue, -1)
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, o))
}

func (c *crew) count(queue string, change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[queue] += change
	c.peak[queue] = max(c.peak[queue], c.now[queue])
	if change < 0 {
		c.handled[queue]++
	}
	sum := 0
	for _, n := range c.now {
		sum += n
	}
	c.all = max(c.all, sum)
}

func (c *crew) of(queue string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handled[queue]
}

// peaks returns how many handlers have run at a time, of a queue and of all.
func (c *crew) peaks(queue string) (of, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peak[queue], c.all
}

// run starts the worker; end stops it.
func (c *crew) run() {
	go func() { c.done <- c.worker.Run(c.Context()) }()
}

func (c *crew) end() {
	c.Helper()
	c.worker.Stop()
	c.must(<-c.done)
}

// fill sends n messages that are due to a queue.
func (c *crew) fill(queue string, n int) {
	c.Helper()
	for n > 0 {
		batch := make([]dueq.Message, min(n, 1000))
		results, err := c.spared.Queue(queue).SendBatch(c.Context(), batch)
		c.must(err)
		for _, r := range results {
			c.must(r.Err)
		}
		n -= len(batch)
	}
}

func TestWorker_SharesFollowTheWeights(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name        string
		concurrency int
		takes       time.Duration
		prefetch    bool
	}{
		{"as many handlers as weights", 10, 20 * ms, true},
		{"shares that are not whole handlers", 4, 20 * ms, true},
		{"one handler", 1, 5 * ms, true},
		{"slow handlers", 10, 700 * ms, true},
		{"nothing prefetched", 10, 20 * ms, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				c := r.crew(dueq.WorkerOptions{Concurrency: test.concurrency, NoPrefetch: !test.prefetch})
				weights := map[string]int{"high": 6, "middle": 3, "low": 1}
				const sent = 6000
				for queue, weight := range weights {
					c.handle(queue, test.takes, dueq.HandleOptions{Weight: weight})
					c.fill(queue, sent)
				}
				c.run()
				r.sleep(sent * test.takes / time.Duration(test.concurrency))
				all := c.of("high") + c.of("middle") + c.of("low")
				for queue, weight := range weights {
					if got, want := float64(c.of(queue))/float64(all), float64(weight)/10; math.Abs(got-want) > 0.02 {
						t.Errorf("%s: %.1f %% of the messages, want %.0f %%", queue, 100*got, 100*want)
					}
				}
				if _, peak := c.peaks(""); all < sent*95/100 || peak != test.concurrency {
					t.Errorf("%d messages with %d handlers, want about %d with %d", all, peak, sent, test.concurrency)
				}
				c.end()
			})
		})
	}
}

func TestWorker_IdleQueueLeavesItsShare(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{Concurrency: 10})
		c.handle("high", time.Second, dueq.HandleOptions{Weight: 1000})
		c.handle("low", time.Second, dueq.HandleOptions{})
		c.fill("low", 1000)
		c.run()
		r.sleep(30*time.Second + time.Millisecond)
		if got := c.of("low"); got != 300 {
			t.Errorf("%d messages handled in 30 s, want 300", got)
		}
		c.fill("high", 100)
		r.sleep(5 * time.Second)
		if got := c.of("high"); got < 30 {
			t.Errorf("%d messages of the heavy queue handled in 5 s, want 30 at least", got)
		}
		c.end()
	})
}

func TestWorker_HungQueueKeepsToItsConcurrency(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{Concurrency: 10, Grace: time.Second})
		c.handle("hangs", 24*time.Hour, dueq.HandleOptions{Weight: 100, Concurrency: 3})
		c.handle("works", 100*time.Millisecond, dueq.HandleOptions{})
		c.fill("hangs", 100)
		c.fill("works", 4200)
		c.run()
		r.sleep(time.Minute + time.Second)
		if hang, all := c.peaks("hangs"); c.of("works") != 4200 || all != 10 || hang != 3 {
			t.Errorf("%d messages, want 4200; %d handlers at a time, want 10, of which %d hang, want 3", c.of("works"), all, hang)
		}
		if s := r.statsOf("hangs"); s.Leased != 3 {
			t.Errorf("%d messages are leased, want the 3 that have a handler", s.Leased)
		}
		c.end()
	})
}

func (r *rig) statsOf(queue string) dueq.Stats {
	r.Helper()
	s, err := r.spared.Queue(queue).Stats(context.WithoutCancel(r.Context()))
	r.must(err)
	return s
}

// While others have all handlers, a queue claims nothing that it could not start.
func TestWorker_NothingIsHeldWithoutAHandler(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{Concurrency: 5})
		c.handle("slow", time.Minute, dueq.HandleOptions{})
		c.handle("waits", time.Minute, dueq.HandleOptions{})
		c.fill("slow", 100)
		c.run()
		r.sleep(time.Second)
		c.fill("waits", 100)
		r.sleep(30 * time.Second)
		slow, waits := r.statsOf("slow"), r.statsOf("waits")
		if slow.Leased != 5 || waits.Leased != 0 || slow.Counters.Released+waits.Counters.Released != 0 {
			t.Errorf("%d and %d leased, %d and %d released, want 5 and 0, 0 and 0", slow.Leased, waits.Leased, slow.Counters.Released, waits.Counters.Released)
		}
		r.sleep(30 * time.Second)
		if slow, waits := r.statsOf("slow").Leased, r.statsOf("waits").Leased; slow+waits != 5 || waits < 1 {
			t.Errorf("%d and %d leased, want 5 in all, and some of each", slow, waits)
		}
		c.end()
	})
}

func TestWorker_GlobsFindQueues(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{})
		var mu sync.Mutex
		got := map[string]string{}
		for _, pattern := range []string{"mail.*", "*.bulk", "mail.urgent", "sms-[0-9]"} {
			r.must(c.worker.Handle(pattern, func(_ context.Context, d *dueq.Delivery) error {
				mu.Lock()
				defer mu.Unlock()
				got[d.Queue] = pattern
				return nil
			}, dueq.HandleOptions{}))
		}
		c.fill("mail.urgent", 1)
		c.fill("mail.bulk", 1)
		c.run()
		r.sleep(time.Second)
		for _, queue := range []string{"sms.bulk", "sms-7", "sms-x", "mail.late"} {
			c.fill(queue, 1)
		}
		r.sleep(5 * time.Second)
		c.end()
		want := map[string]string{"mail.urgent": "mail.urgent", "mail.bulk": "mail.*", "sms.bulk": "*.bulk", "sms-7": "sms-[0-9]", "mail.late": "mail.*"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("handled %v, want %v", got, want)
		}
	})
}

// A queue that is deleted is not made again by its worker, and one of the same name that is
// made later is consumed like any other.
func TestWorker_QueueCreatedAgainIsConsumed(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{})
		c.handle("tenant.*", time.Second, dueq.HandleOptions{})
		c.fill("tenant.a", 1)
		c.fill("tenant.b", 1)
		c.run()
		r.sleep(10 * time.Second)
		r.must(r.spared.DeleteQueue(r.Context(), "tenant.a", nil))
		r.sleep(time.Hour)
		if _, err := r.spared.Queue("tenant.a").Settings(r.Context()); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("an hour after it was deleted: %v, want ErrNotFound", err)
		}
		c.fill("tenant.a", 1)
		c.fill("tenant.b", 1)
		r.sleep(10 * time.Second)
		if a, b := c.of("tenant.a"), c.of("tenant.b"); a != 2 || b != 2 {
			r.Errorf("%d messages of the queue that came back were handled, and %d of the other: want 2 each", a, b)
		}
		c.end()
	})
}

// The list of queues can be out of date when it arrives.
func TestWorker_QueueDeletedAfterItWasListedIsNotMadeAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{})
		c.handle("tenant.*", 0, dueq.HandleOptions{})
		r.must(r.spared.Queue("tenant.a").Create(r.Context(), dueq.Settings{}))
		r.net.set(func(op string) fault {
			if op == "queues" {
				return replyLate
			}
			return works
		})
		c.run()
		r.sleep(time.Second)
		r.must(r.spared.DeleteQueue(r.Context(), "tenant.a", nil))
		r.sleep(time.Minute)
		if _, err := r.spared.Queue("tenant.a").Settings(r.Context()); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("a minute after it was deleted: %v, want ErrNotFound", err)
		}
		c.end()
	})
}

func TestWorker_LooksForQueuesInOneCall(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{})
		c.handle("*", 0, dueq.HandleOptions{})
		for i := range 20 {
			c.fill(fmt.Sprint("queue", i), 1)
		}
		c.run()
		r.sleep(time.Second)
		lists, configures := r.net.count("queues"), r.net.count("configure")
		r.sleep(time.Minute)
		if lists, configures := r.net.count("queues")-lists, r.net.count("configure")-configures; lists != 12 || configures != 0 {
			t.Errorf("%d lists of queues in a minute and %d reads of settings, want 12 and 0", lists, configures)
		}
		c.end()
	})
}

func TestWorker_OutageIsSurvived(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{})
		c.handle("ma*", 0, dueq.HandleOptions{})
		c.handle("work", 0, dueq.HandleOptions{})
		r.net.set(everything(refused))
		c.run()
		c.fill("mail", 1)
		c.fill("work", 1)
		r.sleep(time.Minute)
		r.net.set(nil)
		r.sleep(10 * time.Second)
		if c.of("mail") != 1 || c.of("work") != 1 {
			t.Errorf("%d and %d messages handled, want 1 each", c.of("mail"), c.of("work"))
		}
		c.end()
	})
}

// The slots of a claim that hangs are free for other queues after a moment.
func TestWorker_HungClaimLendsItsSlots(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{Concurrency: 2})
		r.must(r.spared.Queue("broken").Create(r.Context(), dueq.Settings{Partitions: 4}))
		c.handle("broken", 0, dueq.HandleOptions{Weight: 1000})
		c.handle("works", 100*time.Millisecond, dueq.HandleOptions{})
		r.must(r.spared.Queue("works").Create(r.Context(), dueq.Settings{}))
		r.net.breakPartitions(hangs, 1, 2, 3)
		c.run()
		c.fill("works", 1000)
		r.sleep(20 * time.Second)
		if got := c.of("works"); got < 380 {
			t.Errorf("%d messages handled in 20 s, want about 400", got)
		}
		c.end()
	})
}

func TestWorker_OneQueueThatCannotBeConsumedEndsNoOther(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{})
		c.handle("bad", 0, dueq.HandleOptions{})
		c.handle("good", 0, dueq.HandleOptions{})
		r.must(r.spared.Queue("good").Create(r.Context(), dueq.Settings{}))
		r.must(r.spared.Queue("bad").Create(r.Context(), dueq.Settings{Partitions: 2}))
		r.net.breakPartitions(isInvalid, 1)
		c.run()
		c.fill("good", 1)
		c.fill("bad", 10)
		r.sleep(30 * time.Second)
		const tried = `a queue cannot be consumed; the worker tries again later" queue=bad in=1m0s`
		if n := strings.Count(r.logged.String(), tried); c.of("good") != 1 || n != 1 {
			t.Errorf("%d messages handled, the bad queue tried %d times, want once; logged:\n%s", c.of("good"), n, r.logged.String())
		}
		r.net.breakPartitions(works)
		r.sleep(40 * time.Second)
		if c.of("bad") != 10 {
			t.Errorf("%d messages handled after the fault, want 10", c.of("bad"))
		}
		c.end()
	})
}

func TestWorker_StopGivesBackAndWaits(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{Concurrency: 4, Grace: time.Minute})
		c.handle("a", 30*time.Second, dueq.HandleOptions{})
		c.handle("b", 30*time.Second, dueq.HandleOptions{})
		c.fill("a", 10)
		c.fill("b", 10)
		c.run()
		r.sleep(10 * time.Second)
		began := time.Now()
		c.worker.Stop()
		c.end()
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("stopped after %s, want the 20s that the handlers still took", took)
		}
		a, b := r.statsOf("a"), r.statsOf("b")
		if a.Ready+b.Ready != 16 || a.Leased+b.Leased+a.Scheduled+b.Scheduled != 0 || a.Counters.Acked+b.Counters.Acked != 4 {
			t.Errorf("%+v\n%+v\nwant 16 ready and 4 acked", a, b)
		}
		if err := c.worker.Run(r.Context()); !errors.Is(err, dueq.ErrClosed) {
			t.Errorf("Run after Stop: %v, want ErrClosed", err)
		}
	})
}

func TestWorker_CloseEndsRun(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{})
		c.handle("a*", time.Hour, dueq.HandleOptions{})
		c.fill("a", 1)
		c.run()
		r.sleep(time.Second)
		r.must(r.client.Close())
		if err := <-c.done; !errors.Is(err, dueq.ErrClosed) {
			t.Errorf("Run: %v, want ErrClosed", err)
		}
		if s := r.statsOf("a"); s.Ready != 1 {
			t.Errorf("%+v, want the message to be given back", s)
		}
	})
}

func TestWorker_HandlersThatPanicOrExitGiveUpTheirSlots(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{Concurrency: 2, Backoff: dueq.Backoff(time.Second, time.Second)})
		tries := &tally{}
		r.must(c.worker.Handle("work", func(_ context.Context, d *dueq.Delivery) error {
			switch tries.add(d.ID) {
			case 1:
				panic("oh no")
			case 2:
				runtime.Goexit()
			}
			return nil
		}, dueq.HandleOptions{}))
		c.fill("work", 10)
		c.run()
		r.sleep(time.Minute)
		if s := r.stats(); s.Counters.Acked != 10 {
			t.Errorf("%d acked, want 10", s.Counters.Acked)
		}
		c.end()
	})
}

func TestWorker_AtMostOnceHandlesAllItHasTaken(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{Concurrency: 3, AtMostOnce: true, Grace: time.Minute})
		c.handle("a", time.Second, dueq.HandleOptions{})
		c.handle("b", time.Second, dueq.HandleOptions{})
		c.fill("a", 50)
		c.fill("b", 50)
		c.run()
		r.sleep(5500 * time.Millisecond)
		c.end()
		a, b := r.statsOf("a"), r.statsOf("b")
		if gone := int(a.Counters.Acked + b.Counters.Acked); gone != c.of("a")+c.of("b") || gone != 18 {
			t.Errorf("%d taken, %d and %d handled, want 18 in all", gone, c.of("a"), c.of("b"))
		}
	})
}

func TestWorker_BadInputIsRefused(t *testing.T) {
	inBubble(t, func(r *rig) {
		ok := func(context.Context, *dueq.Delivery) error { return nil }
		w, err := dueq.NewWorker(r.client, dueq.WorkerOptions{})
		r.must(err)
		none := w.Run(r.Context())
		r.must(w.Handle("orders", ok, dueq.HandleOptions{}))
		_, noClient := dueq.NewWorker(nil, dueq.WorkerOptions{})
		_, negative := dueq.NewWorker(r.client, dueq.WorkerOptions{Concurrency: -1})
		_, lease := dueq.NewWorker(r.client, dueq.WorkerOptions{Lease: time.Millisecond})
		ctx, stop := context.WithCancel(r.Context())
		stop()
		tests := []struct {
			name string
			err  error
			want string
		}{
			{"no client", noClient, "client: is nil"},
			{"concurrency", negative, "concurrency: -1 is outside 1 to 10000"},
			{"lease", lease, "lease: 1ms is outside"},
			{"nothing to do", none, "worker: handles no queue"},
			{"bad glob", w.Handle("a[", ok, dueq.HandleOptions{}), `queue: "a[" has a [ without its ]`},
			{"bad name", w.Handle("a b", ok, dueq.HandleOptions{}), "queue"},
			{"no name", w.Handle("", ok, dueq.HandleOptions{}), "queue"},
			{"no handler", w.Handle("a", nil, dueq.HandleOptions{}), "handler: is nil"},
			{"weight", w.Handle("a", ok, dueq.HandleOptions{Weight: 1001}), "weight: 1001 is outside 1 to 1000"},
			{"negative weight", w.Handle("a", ok, dueq.HandleOptions{Weight: -1}), "weight: -1 is outside 1 to 1000"},
			{"queue's concurrency", w.Handle("a", ok, dueq.HandleOptions{Concurrency: -1}), "concurrency: -1 is outside 1 to 10000"},
			{"twice", w.Handle("orders", ok, dueq.HandleOptions{}), `queue: "orders" is registered already`},
			{"run", w.Run(ctx), ""},
			{"run twice", w.Run(ctx), "worker: was run before"},
			{"too late", w.Handle("a", ok, dueq.HandleOptions{}), `queue: "a" is registered after the call of Run`},
		}
		for _, test := range tests {
			if test.want == "" && test.err != nil || test.want != "" && (!errors.Is(test.err, dueq.ErrInvalid) || !strings.Contains(test.err.Error(), test.want)) {
				t.Errorf("%s: %v, want %q", test.name, test.err, test.want)
			}
		}
		if w.Handler("orders") == nil || w.Handler("other") != nil {
			t.Error("Handler: want one of orders only")
		}
	})
}

func TestWorker_EachQueueHasItsOwnShareOfAGlob(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.crew(dueq.WorkerOptions{Concurrency: 8})
		c.handle("tenant.*", 50*time.Millisecond, dueq.HandleOptions{Concurrency: 3})
		c.fill("tenant.loud", 2000)
		c.run()
		r.sleep(5 * time.Second)
		for i := range 3 {
			c.fill(fmt.Sprint("tenant.quiet", i), 30)
		}
		r.sleep(5*time.Second + 2*time.Second) // until the worker has found the queue and handled its message
		for i := range 3 {
			if got := c.of(fmt.Sprint("tenant.quiet", i)); got != 30 {
				t.Errorf("tenant %d: %d messages handled, want 30", i, got)
			}
		}
		if peak, _ := c.peaks("tenant.loud"); peak != 3 {
			t.Errorf("%d handlers of one queue, want 3", peak)
		}
		c.end()
	})
}
