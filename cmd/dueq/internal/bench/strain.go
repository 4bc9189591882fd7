package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/cmd/dueq/internal/bench/raw"
)

// strain is how the server treats its other users meanwhile: how fast it answers a
// PING, and how many calls it calls slow.
type strain struct {
	server *raw.Server
	pings  []Figure // ms
	slow   Figure
}

// pingEvery is how often it is asked, so seldom that this costs nothing beside the load.
const pingEvery = 5 * time.Millisecond

// during watches the server while work runs. A nil strain, or one without a server,
// watches nothing.
func (s *strain) during(ctx context.Context, work func() error) error {
	if s == nil || s.server == nil {
		return work()
	}
	before, refused := s.server.SlowCalls(ctx)
	ended := make(chan struct{})
	var pinging sync.WaitGroup
	pinging.Go(func() { s.ping(ctx, ended) })
	err := work()
	close(ended)
	pinging.Wait()
	after, refusedToo := s.server.SlowCalls(ctx)
	if refused != nil || refusedToo != nil {
		s.slow = unknown()
	}
	s.slow += Figure(after - before)
	return err
}

func (s *strain) ping(ctx context.Context, ended <-chan struct{}) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		if took, err := s.server.Ping(ctx); err == nil { // whoever works notices an outage
			s.pings = append(s.pings, milliseconds(took))
		}
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

func (s *strain) complete(d *Drained) {
	if s.server == nil {
		d.Slow, d.Ping = unknown(), Ping{unknown(), unknown(), unknown()}
		return
	}
	slices.Sort(s.pings)
	d.Slow, d.Ping = s.slow, Ping{quantile(s.pings, 0.5), quantile(s.pings, 0.99), quantile(s.pings, 1)}
}

func milliseconds(d time.Duration) Figure { return Figure(d.Seconds() * 1000) }
