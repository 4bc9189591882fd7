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
	config   Config
	held     *holdings
	gates    []*gate // of the partitions
	places   *capacity
	outcomes *outcomes

	punctual int // looks in a row that were not late
}

func newLapse(w *work) *lapse {
	return &lapse{config: w.config, held: w.held, gates: w.gates, places: w.capacity, outcomes: w.settler.outcomes, punctual: calm}
}

// Run looks after leases until ctx ends.
func (l *lapse) Run(ctx context.Context) {
	ticker := time.NewTicker(l.config.lookEvery())
	defer ticker.Stop()
	for {
		select {
		case due := <-ticker.C:
			l.judgeLoad(time.Since(due))
			l.endLapsing()
		case <-ctx.Done():
			return
		}
	}
}

// calm is how many looks in a row have to be punctual before more handlers are run.
const calm = 10

// judgeLoad has fewer handlers run at a time when looks come late, for extensions then do,
// too; and more again after enough looks that do not. The first late look in a while
// changes nothing: the process may have been suspended.
func (l *lapse) judgeLoad(late time.Duration) {
	if late > l.config.Lease/6 {
		if l.punctual < calm {
			l.places.starved()
		}
		l.punctual = 0
		return
	}
	l.punctual++
	if l.punctual%calm == 0 {
		l.places.unstarved()
	}
}

// lookEvery is how often leases are looked at.
func (c *Config) lookEvery() time.Duration { return min(c.Lease/10, time.Second) }

// margin is how long before its end a lease is given up, so that this happens in time
// also when it was just not so far at the last look.
func (c *Config) margin() time.Duration { return 2 * c.lookEvery() }

// endLapsing gives up what is within the margin. A verdict on such a delivery is still
// tried, and succeeds if no claim has put the message back; so claims that are under way
// are given up.
func (l *lapse) endLapsing() {
	now := time.Now()
	for _, h := range l.held.all() {
		if h.remaining(now) > l.config.margin() {
			continue
		}
		if _, wanted := h.wanted(now, l.config.overtime()); wanted {
			l.gates[h.Partition.Index].interrupt()
		}
		if phase, cause := h.state(); phase == open && cause == nil {
			l.outcomes.lapsing.log(func() []any { return attributes(h, slog.Duration("held", now.Sub(h.claim.began))) })
			h.stop(store.ErrLeaseLost)
		}
	}
}
