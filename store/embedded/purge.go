package embedded

import "github.com/dueq-dev/dueq/store"

func (p *partition) purge(r store.PurgeRequest, now instant) int {
	candidates := p.named(r.IDs)
	if len(r.IDs) == 0 {
		candidates = p.inState(r.State, start(), r.Limit, now)
	}
	n := 0
	for _, e := range candidates {
		// An id that was given twice is gone the second time.
		if n == r.Limit || e.state == gone || e.stateAt(now) != r.State {
			continue
		}
		p.count(countPurged)
		p.remove(e)
		n++
	}
	return n
}

// named returns the live messages that have one of the ids.
func (p *partition) named(ids []store.ID) []*entry {
	var found []*entry
	for _, id := range ids {
		if e := p.byID.get(id); e != nil {
			found = append(found, e)
		}
	}
	return found
}
