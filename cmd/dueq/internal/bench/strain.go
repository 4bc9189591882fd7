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

// during watches the server while work runs. Without a server there is nothing to
// watch.
func (s *strain) during(ctx context.Context, work func() error) error {
	if s.server == nil {
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
		if took, err := s.server.Ping(ctx); err == nil { // those who work notice an outage
			s.pings = append(s.pings, milliseconds(took))
		}
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

// of returns a series of drains with the strain they were.
func (s *strain) of(drains Series) *Drained {
	if s.server == nil {
		return &Drained{drains, Ping{unknown(), unknown(), unknown()}, unknown()}
	}
	slices.Sort(s.pings)
	return &Drained{drains, Ping{quantile(s.pings, 0.5), quantile(s.pings, 0.99), quantile(s.pings, 1)}, s.slow}
}

func milliseconds(d time.Duration) Figure { return Figure(d.Seconds() * 1000) }
