package bench

import (
	"context"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/rawredis"
)

// strain is the effect of a load on other clients of the server: how fast it answers a PING, and
// how many calls are in its SLOWLOG.
type strain struct {
	server *rawredis.Server
	pings  []time.Duration
	slow   Figure
}

// pingEvery is the interval of the PINGs, long enough to cost almost nothing.
const pingEvery = 5 * time.Millisecond

// during measures the strain while work runs. Without a server it measures nothing.
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
		if took, err := s.server.Ping(ctx); err == nil { // an outage is reported by work
			s.pings = append(s.pings, took)
		}
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

// of returns a series of drains with their strain.
func (s *strain) of(drains Series) *Drained {
	d := &Drained{drains, Ping{unknown(), unknown(), unknown()}, unknown()}
	if s.server != nil {
		d.Slow = s.slow
	}
	if len(s.pings) > 0 {
		p := measure.SpreadOf(s.pings)
		d.Ping = Ping{Figure(p.P50), Figure(p.P99), Figure(p.Max)}
	}
	return d
}
