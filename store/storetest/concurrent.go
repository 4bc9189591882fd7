package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// contest is a run of several producers and consumers on one queue, and the calls that they made.
type contest struct {
	t     testing.TB
	s     store.Store
	p     store.Partition
	seed  uint64
	total int64
	acked atomic.Int64
	done  chan struct{} // closed when every message is acked

	mu      sync.Mutex
	history map[store.ID][]porcupine.Operation
	due     map[store.ID]int64 // earliest instant of delivery by the client's clock, µs
}

// Sizes of a contest, and how often a consumer does something wrong, in percent.
const (
	contestProducers = 4
	contestConsumers = 6
	contestEach      = 150 // messages of a producer
	contestLease     = shortLease

	percentCrash   = 3 // never settled
	percentLate    = 3 // settled a second lease later
	percentNack    = 8
	percentRelease = 8
	percentExtend  = 5
	percentRepeat  = 15 // claims and acks whose reply gets lost
)

// Concurrent runs producers and faulty consumers on one queue of a store with a real clock until
// every message is acked. Then it checks their calls: no message was lost or early or had two valid
// receipts at once, each delivery beyond the first has a reason, and the calls on each message are
// linearizable.
func Concurrent(t *testing.T, h Harness) {
	c := &contest{
		t: t, s: h.Store, p: store.Partition{Queue: "contest"}, seed: rand.Uint64(), total: contestProducers * contestEach,
		done: make(chan struct{}), history: map[store.ID][]porcupine.Operation{}, due: map[store.ID]int64{},
	}
	t.Logf("seed %d", c.seed)
	const timeout = 5 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var wg sync.WaitGroup
	for i := range contestProducers {
		wg.Go(func() { c.produce(ctx, i) })
	}
	for i := range contestConsumers {
		wg.Go(func() { c.consume(ctx, contestProducers+i) })
	}
	wg.Wait()
	if n := c.acked.Load(); n != c.total {
		t.Fatalf("seed %d: %d of %d messages acked within %v", c.seed, n, c.total, timeout)
	}
	c.check()
	Audit(t, h.Store, c.p.Queue)
}

func (c *contest) random(who int) *rand.Rand { return rand.New(rand.NewPCG(c.seed, uint64(who))) }

func (c *contest) produce(ctx context.Context, who int) {
	random := c.random(who)
	const batch = 5
	for n := range uint64(contestEach / batch) {
		r := store.PushRequest{Producer: fmt.Sprintf("p%d", who), Number: n + 1}
		for range batch {
			m := store.Message{ID: route.NewID(0), Body: []byte("body"), MaxAttempts: store.MaxAttempts, New: true, Delay: random.Int64N(3) * random.Int64N(300)}
			r.Messages = append(r.Messages, m)
		}
		c.expect(r.Messages)
		for again := true; again; again = random.IntN(100) < percentRepeat {
			results, err := c.s.Push(ctx, c.p, r)
			if err != nil || len(results) != batch || results[0].Code != store.CodeOK {
				c.t.Errorf("push: %v, %v", results, err)
				return
			}
		}
	}
}

// expect records the earliest time at which messages that are about to be pushed may be delivered.
func (c *contest) expect(ms []store.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().UnixMicro()
	for _, m := range ms {
		c.due[m.ID] = now + m.Delay*1000
	}
}

func (c *contest) consume(ctx context.Context, who int) {
	k := &worker{contest: c, who: who, random: c.random(who)}
	for number := uint64(1); ; number++ {
		wait, ok := k.work(ctx, number)
		if !ok {
			return
		}
		const poll = 20 * time.Millisecond // for what others push meanwhile
		select {
		case <-c.done:
			return
		case <-ctx.Done():
			return
		case <-time.After(min(wait, poll)):
		}
	}
}

// worker is one consumer of a contest.
type worker struct {
	*contest
	who    int
	random *rand.Rand
	late   []lateDelivery
}

type lateDelivery struct {
	receipt store.Receipt
	at      time.Time // when it is to be settled
}

// chance returns true with a probability in percent.
func (k *worker) chance(percent int) bool { return k.random.IntN(100) < percent }

// work makes one claim and settles the deliveries of it, and those kept back earlier whose time has
// come.
func (k *worker) work(ctx context.Context, number uint64) (time.Duration, bool) {
	r := store.ClaimRequest{Consumer: fmt.Sprintf("c%d", k.who), Number: number, Max: 1 + k.random.IntN(8), Lease: contestLease}
	call := time.Now().UnixMicro()
	res, err := k.s.Claim(ctx, k.p, r)
	for err == nil && k.chance(percentRepeat) {
		res, err = k.s.Claim(ctx, k.p, r) // the reply to the first try got lost
	}
	if err != nil {
		k.t.Errorf("claim: %v", err)
		return 0, false
	}
	for _, d := range res.Deliveries {
		k.record(d.Receipt, "claim", call, store.CodeOK)
	}
	for _, d := range res.Deliveries {
		k.handle(ctx, d.Receipt)
	}
	k.settleLate(ctx)
	return res.Wait, true
}

func (k *worker) handle(ctx context.Context, r store.Receipt) {
	switch roll := k.random.IntN(100); {
	case roll < percentCrash:
	case roll < percentCrash+percentLate:
		k.late = append(k.late, lateDelivery{r, time.Now().Add(contestLease * time.Millisecond)})
	case roll < percentCrash+percentLate+percentNack:
		k.give(ctx, store.Nack, r, k.random.Int64N(30))
	case roll < percentCrash+percentLate+percentNack+percentRelease:
		k.give(ctx, store.Release, r, 0)
	default:
		if k.chance(percentExtend) {
			k.give(ctx, Extend, r, contestLease)
		}
		k.give(ctx, store.Ack, r, 0)
	}
}

func (k *worker) settleLate(ctx context.Context) {
	for len(k.late) > 0 && time.Now().After(k.late[0].at) {
		k.give(ctx, store.Ack, k.late[0].receipt, 0)
		k.late = k.late[1:]
	}
}

// give reports a verdict, and reports it again when the reply is said to be lost.
func (k *worker) give(ctx context.Context, v store.Verdict, r store.Receipt, delay int64) {
	call := time.Now().UnixMicro()
	codes, err := Settle(ctx, k.s, k.p, store.SettleRequest{Verdict: v, Items: []store.Settlement{{Receipt: r, Delay: delay}}})
	if err != nil {
		k.t.Errorf("%s: %v", v, err)
		return
	}
	k.record(r, string(v), call, codes[0])
	if v != store.Ack {
		return
	}
	if codes[0] == store.CodeOK && k.acked.Add(1) == k.total {
		close(k.done)
	}
	if k.chance(percentRepeat) {
		k.give(ctx, v, r, delay)
	}
}

// event is a call on one message, as input and output of the checker of linearizability.
type event struct {
	do      string
	attempt int
	code    store.Code
	call    int64 // µs
	end     int64
}

func (k *worker) record(r store.Receipt, do string, call int64, code store.Code) {
	e := event{do: do, attempt: r.Attempt, code: code, call: call, end: time.Now().UnixMicro()}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.history[r.ID] = append(k.history[r.ID], porcupine.Operation{ClientId: k.who, Input: e, Call: e.call, Output: e, Return: e.end})
}

func (c *contest) check() {
	if len(c.history) != int(c.total) {
		c.t.Errorf("seed %d: %d of %d messages were ever delivered", c.seed, len(c.history), c.total)
	}
	for id, ops := range c.history {
		for _, op := range ops {
			if e := op.Input.(event); e.end < c.due[id] { //nolint:forcetypeassert // see record
				c.t.Errorf("seed %d: %v: %s %d us early", c.seed, id, e.do, c.due[id]-e.end)
			}
		}
		if !porcupine.CheckOperations(oneMessage, ops) {
			c.t.Errorf("seed %d: %v: these calls are not linearizable: %+v", c.seed, id, ops)
		}
	}
	all, err := c.s.Stats(c.t.Context(), c.p.Queue)
	if err != nil {
		c.t.Fatalf("stats: %v", err)
	}
	n := all[0].Counters
	if n.Sent != c.total || n.Acked != c.total || n.Delivered-n.Acked != n.Nacked+n.Released+n.LeaseLost {
		c.t.Errorf("seed %d: deliveries without a reason: %+v", c.seed, n)
	}
}

// holding is the state of a message in the checker.
type holding struct {
	attempt int
	held    bool
	until   int64 // the lease does not end before, µs
	gone    bool
}

// oneMessage is the sequential specification of one message.
var oneMessage = porcupine.Model{
	Init: func() any { return holding{} },
	Step: func(state, input, _ any) (bool, any) {
		h, e := state.(holding), input.(event) //nolint:forcetypeassert // made here and in record
		current := h.held && !h.gone && h.attempt == e.attempt
		switch {
		case e.do == "claim":
			free := !h.held || h.until <= e.end
			return !h.gone && e.attempt == h.attempt+1 && free, holding{attempt: e.attempt, held: true, until: e.call + contestLease*1000}
		case e.code == store.CodeGone:
			return h.gone, h
		case e.code == store.CodeLeaseLost:
			ok := !h.gone && (!current || h.until <= e.end) // run out and put back, if current
			h.held = h.held && !current
			return ok, h
		case e.code != store.CodeOK || !current:
			return false, h
		case e.do == string(Extend):
			h.until = max(h.until, e.call+contestLease*1000)
		case e.do == string(store.Ack):
			h.gone = true
		default:
			h.held = false
		}
		return true, h
	},
}
