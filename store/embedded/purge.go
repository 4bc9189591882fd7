package embedded

import "github.com/dueq-dev/dueq/store"

func (p *partition) purge(r store.PurgeRequest, now instant) store.PurgeResult {
	answer, novelty := p.managers.recall(r.Caller, r.Number, now)
	switch novelty {
	case repeated:
		return store.PurgeResult{Removed: answer.count}
	case outdated:
		return store.PurgeResult{Stale: true}
	case fresh:
	}
	n := p.removeAll(r, now)
	p.rememberManaged(r.Caller, r.Number, pushAnswer{count: n}, now)
	return store.PurgeResult{Removed: n}
}

func (p *partition) removeAll(r store.PurgeRequest, now instant) int {
	candidates := p.named(r.IDs)
	if r.All {
		candidates = p.inState(r.State, start(), r.Limit, now)
	}
	n := 0
	for _, e := range candidates {
		// An id that was given twice is gone the second time.
		if n == r.Limit || e.state == gone || e.stateAt(now) != r.State {
			continue
		}
		p.count(countPurged)
		p.remove(e, now)
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
