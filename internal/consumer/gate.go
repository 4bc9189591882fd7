package consumer

import (
	"context"
	"errors"
	"sync"
	"time"
)

// gatePoll is the interval at which a shut gate is checked.
const gatePoll = 50 * time.Millisecond

// errHeldBack is the cause with which a claim in flight is cancelled.
var errHeldBack = errors.New("claim given up: leases that are held have run out")

// gate holds back the claims of one partition while leases that this consumer still wants
// have run out: the store could not be reached, or the process got no processor. The store
// extends and settles such a lease until a claim puts the message back. So an extension or
// a verdict must arrive before this consumer's own next claim.
type gate struct {
	held      *holdings
	partition int
	margin    time.Duration
	overtime  time.Duration

	mu     sync.Mutex
	until  time.Time               // the gate is open until then, without a check of the held deliveries
	cancel context.CancelCauseFunc // of the claim in flight
}

func newGates(c *Config, held *holdings) []*gate {
	gates := make([]*gate, c.Partitions)
	for i := range gates {
		gates[i] = &gate{held: held, partition: i, margin: c.margin(), overtime: c.overtime()}
	}
	return gates
}

// expect is called when the consumer has a new lease.
func (g *gate) expect(deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if short := deadline.Add(-g.margin); short.Before(g.until) {
		g.until = short
	}
}

// isShut checks the held deliveries only if a lease may have become short since the last check.
func (g *gate) isShut(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.until) {
		return false
	}
	shut, until := false, now.Add(g.overtime)
	for _, h := range g.held.all() {
		if h.Partition.Index != g.partition {
			continue
		}
		deadline, wanted := h.wanted(now, g.overtime)
		short := deadline.Add(-g.margin)
		if !deadline.IsZero() && short.Before(until) {
			until = short
		}
		shut = shut || wanted && !short.After(now)
	}
	g.until = until
	return shut
}

// wait blocks until the gate is open. It returns false if ctx ends before that.
func (g *gate) wait(ctx context.Context) bool {
	for g.isShut(time.Now()) {
		if ctx.Err() != nil {
			return false
		}
		pause(ctx, gatePoll)
	}
	return true
}

// call returns the context of a claim, which [gate.interrupt] ends. At most one claim is in
// flight at a time.
func (g *gate) call(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithTimeout(ctx, timeout)
	ctx, cancel := context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel = cancel
	return ctx, func() {
		end()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.cancel = nil
	}
}

// interrupt cancels the claim in flight, because a store retries it until the server answers. The
// claim is made again when the gate is open.
func (g *gate) interrupt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel(errHeldBack)
	}
}
