package dueq_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests stops the shared Redis server behind the tests, before leaks are looked for.
type tests struct{ m *testing.M }

func (t tests) Run() int { return redistest.Main(t.m) }

// rig is a store in memory inside a bubble of synthetic time. It has a client whose calls pass a
// network that can fail, and one whose calls do not.
type rig struct {
	*testing.T
	net    *network
	client *dueq.Client // over the network
	spared *dueq.Client
	q      *dueq.Queue // of client
	direct *dueq.Queue // of the client without a network
	logged *safeBuffer
}

// inBubble runs test with a rig, and audits the queue at the end.
func inBubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		s := embedded.NewMemory(embedded.Config{})
		r := &rig{T: t, net: &network{Store: s}, logged: &safeBuffer{}}
		log := slog.New(slog.NewTextHandler(r.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		r.client = opened(t)(dueq.New(r.net, &dueq.Options{Logger: log}))
		r.spared = opened(t)(dueq.New(s, &dueq.Options{Logger: slog.New(slog.DiscardHandler)}))
		r.q, r.direct = r.client.Queue("work"), r.spared.Queue("work")
		test(r)
		r.net.set(nil)
		r.audit()
		r.must(r.client.Close())
		r.must(r.spared.Close())
	})
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// audit fails the test unless the queue is consistent.
func (r *rig) audit() {
	r.Helper()
	ctx := context.WithoutCancel(r.Context())
	report, err := r.direct.Check(ctx)
	if errors.Is(err, dueq.ErrNotFound) {
		return
	}
	r.must(err)
	for _, p := range report.Problems {
		r.Errorf("audit: %s: %s", p.ID, p.Text)
	}
	s := r.stats()
	live := s.Scheduled + s.Ready + s.Leased + s.Dead
	if s.Counters.Sent != s.Counters.Gone()+live {
		r.Errorf("audit: sent %d, gone %d, live %d", s.Counters.Sent, s.Counters.Gone(), live)
	}
}

func (r *rig) stats() dueq.Stats {
	r.Helper()
	s, err := r.direct.Stats(context.WithoutCancel(r.Context()))
	r.must(err)
	return s
}

func (r *rig) send(m dueq.Message) string {
	r.Helper()
	id, err := r.direct.Send(r.Context(), m)
	r.must(err)
	return id
}

func (r *rig) get(id string) dueq.Record {
	r.Helper()
	return r.find(dueq.ID(id))
}

func (r *rig) find(ref dueq.Ref) dueq.Record {
	r.Helper()
	record, err := r.direct.Get(context.WithoutCancel(r.Context()), ref)
	r.must(err)
	return record
}

// pass lets the synthetic time of a bubble pass, or in a benchmark real time.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // takes no time in a bubble

// sleep lets time pass, then waits until all goroutines are blocked.
func (r *rig) sleep(d time.Duration) {
	pass(d)
	synctest.Wait()
}

// consuming is a Consume that runs in the background.
type consuming struct {
	stop context.CancelFunc
	done chan error
}

// consume starts a Consume.
func (r *rig) consume(q *dueq.Queue, h dueq.Handler, c dueq.ConsumeOptions) *consuming {
	ctx, stop := context.WithCancel(r.Context())
	running := &consuming{stop: stop, done: make(chan error, 1)}
	go func() { running.done <- q.Consume(ctx, h, c) }()
	return running
}

// end stops the consumer, and returns its error and how long that took.
func (c *consuming) end() (time.Duration, error) {
	began := time.Now()
	c.stop()
	err := <-c.done
	return time.Since(began), err
}

// network is a store whose calls can fail on their way.
type network struct {
	store.Store
	mu      sync.Mutex
	fault   func(op string) fault
	broken  map[int]fault // what happens to calls that are about a partition
	calls   map[string]int
	claimed func() // called after each claim
	known   sync.Map
}

// fault is what happens to a call.
type fault int

const (
	works fault = iota
	refused
	replyLost // the call is made, the caller sees an error
	hangs     // until the caller's ctx ends
	replyLate // by lateBy, unless the caller's ctx ends before
	isInvalid // a permanent error
	stalls    // as replyLate, but the call does not return sooner when its ctx ends
	slow      // the call arrives after slowBy
)

// set makes fault decide about every call from now on; nil: all calls succeed.
func (n *network) set(fault func(op string) fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault = fault
}

// breakPartitions makes every call about one of the partitions fail from now on, and no other.
func (n *network) breakPartitions(f fault, indexes ...int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = map[int]fault{}
	for _, i := range indexes {
		n.broken[i] = f
	}
}

// afterClaim calls f after each claim from now on, before the caller has its answer.
func (n *network) afterClaim(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.claimed = f
}

func (n *network) count(op string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[op]
}

// everywhere stands for a partition in calls that are about none.
const everywhere = -1

func (n *network) decide(op string, partition int) fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls == nil {
		n.calls = map[string]int{}
	}
	n.calls[op]++
	if f, ok := n.broken[partition]; ok {
		return f
	}
	if n.fault == nil {
		return works
	}
	return n.fault(op)
}

const (
	lateBy = 3 * time.Second
	slowBy = 10 * time.Millisecond
)

func over[T any](ctx context.Context, n *network, op string, partition int, call func() (T, error)) (T, error) {
	var none T
	switch n.decide(op, partition) {
	case works:
		return call()
	case refused:
		return none, errors.Join(errors.New(op+": connection refused"), store.ErrUnavailable)
	case isInvalid:
		return none, errors.Join(errors.New(op+": not understood"), store.ErrInvalid)
	case replyLost:
		_, _ = call()
		return none, errors.Join(errors.New(op+": reply lost"), store.ErrUnavailable)
	case replyLate:
		answer, err := call()
		timer := time.NewTimer(lateBy)
		defer timer.Stop()
		select {
		case <-timer.C:
			return answer, err
		case <-ctx.Done():
			return none, ctx.Err()
		}
	case stalls:
		answer, err := call()
		pass(lateBy)
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
		return answer, err
	case hangs:
		<-ctx.Done()
		return none, ctx.Err()
	case slow:
		pass(slowBy)
		return call()
	default:
		panic("no such fault")
	}
}

func (n *network) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	return over(ctx, n, "push", p.Index, func() ([]store.PushResult, error) { return n.Store.Push(ctx, p, r) })
}

func (n *network) Claim(ctx context.Context, p store.Partition, r store.ClaimRequest) (store.ClaimResult, error) {
	n.mu.Lock()
	claimed := n.claimed
	n.mu.Unlock()
	if claimed != nil {
		defer claimed()
	}
	return over(ctx, n, "claim", p.Index, func() (store.ClaimResult, error) { return n.Store.Claim(ctx, p, r) })
}

func (n *network) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	return over(ctx, n, string(r.Verdict), p.Index, func() ([]store.Code, error) { return n.Store.Settle(ctx, p, r) })
}

func (n *network) Extend(ctx context.Context, p store.Partition, r store.ExtendRequest) ([]store.Code, error) {
	op := "extend"
	if r.Start {
		op = "start"
	}
	return over(ctx, n, op, p.Index, func() ([]store.Code, error) { return n.Store.Extend(ctx, p, r) })
}

func (n *network) Queues(ctx context.Context) ([]string, error) {
	return over(ctx, n, "queues", everywhere, func() ([]string, error) { return n.Store.Queues(ctx) })
}

func (n *network) Beat(ctx context.Context, r store.BeatRequest) (store.BeatResult, error) {
	return over(ctx, n, "beat", everywhere, func() (store.BeatResult, error) { return n.Store.Beat(ctx, r) })
}

func (n *network) Duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	return over(ctx, n, "duties", everywhere, func() ([]store.Duties, error) { return n.Store.Duties(ctx, r) })
}

func (n *network) Leave(ctx context.Context, p store.Partition, r store.LeaveRequest) error {
	_, err := over(ctx, n, "leave", p.Index, func() (struct{}, error) { return struct{}{}, n.Store.Leave(ctx, p, r) })
	return err
}

func (n *network) Configure(ctx context.Context, queue string, c store.Change) (store.Settings, error) {
	s, err := over(ctx, n, "configure", everywhere, func() (store.Settings, error) { return n.Store.Configure(ctx, queue, c) })
	if err == nil {
		n.known.Store(queue, true)
	}
	return s, err
}

// Known returns settings only after they were read over the network.
func (n *network) Known(queue string) (store.Settings, bool) {
	if _, ok := n.known.Load(queue); !ok {
		return store.Settings{}, false
	}
	return n.Store.Known(queue)
}

func (n *network) List(ctx context.Context, p store.Partition, r store.ListRequest) (store.Page, error) {
	return over(ctx, n, "list", p.Index, func() (store.Page, error) { return n.Store.List(ctx, p, r) })
}

// Watch is counted, and never fails.
func (n *network) Watch(ctx context.Context, queue string, notify func(store.Event)) error {
	n.mu.Lock()
	if n.calls == nil {
		n.calls = map[string]int{}
	}
	n.calls["watch"]++
	n.mu.Unlock()
	return n.Store.Watch(ctx, queue, notify)
}

// Close does not close the store, which the other client still uses.
func (n *network) Close() error { return nil }

// always and first make faults.
func always(f fault, ops ...string) func(string) fault {
	return func(op string) fault {
		for _, o := range ops {
			if o == op {
				return f
			}
		}
		return works
	}
}

func everything(f fault) func(string) fault { return func(string) fault { return f } }

// every makes each n-th call go wrong, alternately in one of two ways.
func every(n int) func(string) fault {
	var mu sync.Mutex
	calls := 0
	return func(string) fault {
		mu.Lock()
		defer mu.Unlock()
		calls++
		switch calls % (2 * n) {
		case n:
			return replyLost
		case 0:
			return refused
		}
		return works
	}
}

// tally counts deliveries by id.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *tally) add(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	c.seen[id]++
	return c.seen[id]
}

func (c *tally) of(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[id]
}

func (c *tally) distinct() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

func (c *tally) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, times := range c.seen {
		n += times
	}
	return n
}

type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// opened returns a function that takes the result of a constructor, and fails the test on
// an error.
func opened(tb testing.TB) func(*dueq.Client, error) *dueq.Client {
	tb.Helper()
	return func(c *dueq.Client, err error) *dueq.Client {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return c
	}
}
