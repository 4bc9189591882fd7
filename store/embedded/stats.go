package embedded

import "github.com/dueq-dev/dueq/store"

// statsStep bounds the messages counted under the lock at a time.
const statsStep = 10_000

// addTo adds the partition's sizes and counters, as of one instant.
func (p *partition) addTo(s *store.Stats, clock func() instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock()
	for !p.waiting.advance(now, statsStep) {
		p.mu.Unlock() // so that other calls do not wait long
		p.mu.Lock()
		now = clock()
	}
	s.Ready += int64(p.waiting.passed)
	s.Scheduled += int64(p.waiting.len() - p.waiting.passed)
	s.Leased += int64(p.leased.len())
	s.Dead += int64(p.dead.len())
	s.Remembered += int64(p.memory.gone.len())
	s.Done += int64(p.done.order.len())
	if first := p.waiting.firstAt(); now.reached(first) {
		s.OldestReady = max(s.OldestReady, now.ms-first)
	}
	p.addCounters(&s.Counters)
}

func (p *partition) addCounters(c *store.Counters) {
	for i, one := range c.All() {
		*one.Value += p.counts[i]
	}
}
