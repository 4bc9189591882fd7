package consumer

import (
	"context"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// lapse ends the work on deliveries whose leases could run out soon: extending them
// has failed for too long, or they are not to be extended any more. It goes by the
// local monotonic clock, counted from before the call that began the lease, so it can
// only be early.
type lapse struct {
	config Config
	held   *holdings
	gates  []*gate // of the partitions
}

// Run looks after leases until ctx ends.
func (l *lapse) Run(ctx context.Context) {
	ticker := time.NewTicker(l.config.lookEvery())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.endLapsing()
		case <-ctx.Done():
			return
		}
	}
}

// lookEvery is how often leases are looked at.
func (c *Config) lookEvery() time.Duration { return min(c.Lease/10, time.Second) }

// margin is how long before its end a lease is given up, so that this happens in time
// also when it was just not so far at the last look.
func (c *Config) margin() time.Duration { return 2 * c.lookEvery() }

// endLapsing gives up what is within the margin. A verdict on such a delivery is still
// tried, and succeeds if no claim has put the message back; so claims are held back where
// there is one that the store does not know yet.
func (l *lapse) endLapsing() {
	now := time.Now()
	for _, h := range l.held.all() {
		if h.overdue(now, l.config.margin()) {
			l.gates[h.Partition.Index].close()
		}
		phase, cause := h.state()
		if phase == open && cause == nil && h.remaining(now) <= l.config.margin() {
			l.config.Log.Warn("dueq: lease about to run out, its handler is told to stop",
				attributes(h, slog.Duration("held", now.Sub(h.since)))...)
			h.stop(store.ErrLeaseLost)
		}
	}
}
