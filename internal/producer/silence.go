package producer

import (
	"context"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	// silentAfter is how long a partition leaves pushes without an answer until it counts as silent.
	// A server that answers later than that delays its messages more than another partition would.
	silentAfter = 500 * time.Millisecond
	// probeEvery is the least time between two questions to a partition whose last push has failed,
	// and probeFor how long it has to answer.
	probeEvery = time.Second
	probeFor   = time.Second
)

// silence knows whether a partition answers.
type silence struct {
	mu       sync.Mutex
	inFlight int       // pushes
	since    time.Time // when it has answered last, or the oldest push began if that was later
	failed   bool      // the last push ended without an answer
	probed   time.Time // when it was asked last
}

// begin notes the begin of a push.
func (s *silence) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight == 0 {
		s.since = time.Now()
	}
	s.inFlight++
}

// end notes the end of a push.
func (s *silence) end(answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	s.note(answered)
}

func (s *silence) note(answered bool) {
	s.failed = !answered
	if answered {
		s.since = time.Now()
	}
}

// lasts reports whether the partition is silent, and whether it is time to ask it.
func (s *silence) lasts() (silent, ask bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.failed && s.inFlight == 0 {
		return false, false
	}
	now := time.Now()
	if !s.failed {
		return now.Sub(s.since) > silentAfter, false // the push will say when that ends
	}
	if ask = now.Sub(s.probed) >= probeEvery; ask {
		s.probed = now
	}
	return true, ask
}

// Silent reports whether a partition has not answered lately, so that a message that may go to
// another one should. It makes a silent one be asked now and then whether it answers again.
func (p *Producer) Silent(to store.Partition) bool {
	s := &p.destination(to).silence
	silent, ask := s.lasts()
	if ask {
		p.probe(to, s)
	}
	return silent
}

func (p *Producer) probe(to store.Partition, s *silence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return // Stop waits for those that have begun
	}
	p.probes.Go(func() {
		ctx, end := context.WithTimeout(p.life, probeFor)
		defer end()
		if _, err := p.store.Now(ctx, to); err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.note(true)
		}
	})
}
