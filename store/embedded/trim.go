package embedded

import "time"

const (
	// trimMost bounds the dead messages that one claim removes.
	trimMost = 500
	// trimAgain is how soon the next claim should be made when there are more.
	trimAgain = 100 * time.Millisecond
)

// trim removes dead messages that have been dead for as long as the queue keeps them, or
// are more than it keeps, in the order of death. It reports whether there are more.
func (p *partition) trim(now instant) bool {
	s := p.queue.load()
	if s.DeadRetention == 0 && s.MaxDead == 0 {
		return false
	}
	for n := 0; ; n++ {
		e := p.dead.first()
		over := e != nil && s.MaxDead > 0 && int64(p.dead.len()) > s.DeadPerPartition()
		if e == nil || !over && (s.DeadRetention == 0 || !now.reached(e.at+s.DeadRetention)) {
			return false
		}
		if n == trimMost {
			return true
		}
		p.count(countDeadExpired)
		p.remove(e, now)
	}
}
