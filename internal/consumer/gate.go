package consumer

import (
	"context"
	"sync"
	"time"
)

// gate holds back the claims of one partition while verdicts on leases that have run out
// are late. The store accepts such a verdict until a claim has put the message back, so
// after an outage the verdicts must arrive before this consumer's own next claim.
type gate struct {
	mu     sync.Mutex
	late   int                // calls with verdicts that are late
	shut   chan struct{}      // closed when claims may go on; nil: they may
	cancel context.CancelFunc // of the claim under way
}

func newGates(n int) []*gate {
	gates := make([]*gate, n)
	for i := range gates {
		gates[i] = &gate{}
	}
	return gates
}

// settleLate notes that a call with verdicts is late, or that one that was is over. The
// last of these opens the gate.
func (g *gate) settleLate(late bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if late {
		g.late++
		return
	}
	g.late--
	if g.late == 0 && g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// close is called when there is a verdict on a lease that has run out, or is about to. It
// does nothing unless a call with verdicts is late. A claim that is under way is given up:
// its store may be repeating it until it is reached again.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.late == 0 || g.shut != nil {
		return
	}
	g.shut = make(chan struct{})
	if g.cancel != nil {
		g.cancel()
	}
}

// wait blocks until the gate is open, and reports whether it is: not when ctx has ended
// before.
func (g *gate) wait(ctx context.Context) bool {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return true
		}
		select {
		case <-shut:
		case <-ctx.Done():
			return false
		}
	}
}

// call returns the context of a claim, which also ends when the gate is closed. At most
// one claim is under way at a time.
func (g *gate) call(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel = cancel
	if g.shut != nil {
		cancel()
	}
	return ctx, func() {
		cancel()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.cancel = nil
	}
}
