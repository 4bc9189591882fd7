package embedded

import (
	"fmt"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// A store that lost some of its changes can be in states that none of its steps lead
// to. Repairing brings it back to one that some steps could have led to, and never
// drops a message: whatever is doubtful becomes a dead letter.

// keyTaken is the failure text of such dead letters.
const keyTaken = "another message had its key when the store was repaired"

// checkRead checks the partitions after the log was read, and with repair mends them. It
// finds damage that the checksums of the log do not.
func (s *Store) checkRead(log *wal.Log, repair bool, now instant) error {
	s.damage = log.Damage()
	for _, p := range s.allPartitions() {
		name := store.Partition{Queue: p.queue.name, Index: p.index}
		problems := p.totals()
		if len(problems) > 0 && !repair {
			return fmt.Errorf("%w: partition %s: %s", store.ErrCorrupt, name, problemTexts(problems))
		}
		if len(problems) > 0 {
			s.damage = append(s.damage, p.damage(problems))
		}
		if len(s.damage) > 0 {
			p.mend(now)
		}
	}
	return nil
}

// damage returns the problems of a partition as damage.
func (p *partition) damage(problems []store.Problem) Damage {
	name := store.Partition{Queue: p.queue.name, Index: p.index}
	return Damage{File: name.String(), Reason: problemTexts(problems)}
}

// mend brings a partition in order.
func (p *partition) mend(now instant) {
	p.byID.each(func(e *entry) { p.mendEntry(e, now) })
	p.keyed = len(p.byKey)
	var c store.Counters
	p.addCounters(&c)
	p.counts[countSent] = c.Gone() + int64(p.byID.len())
}

func (p *partition) mendEntry(e *entry, now instant) {
	if e.state != leased {
		p.forgetLease(e) // the change that ended the lease was lost
	}
	past := e.past()
	if ended := past.earlier + past.failures + past.snoozes; ended > past.deliveries {
		past.deliveries = ended
		p.note(e, past)
	}
	if e.keyed() && e.state != dead && p.byKey[e.key()] != e {
		p.note(e, past.with(keyTaken, now))
		p.leave(e)
		e.state, e.at = dead, now.ms
		p.forgetLease(e)
		p.toDead(e)
		p.count(countDeadLettered)
	}
}
