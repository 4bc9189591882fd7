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
	of := &p.byID
	if r.State == store.Done {
		of = &p.done.byID
	}
	candidates := named(of, r.IDs)
	if r.All {
		candidates = p.inState(store.ListRequest{State: r.State, Limit: r.Limit}, start(), now)
	}
	n := 0
	for _, e := range candidates {
		// An id that was given twice is gone the second time.
		if n == r.Limit || e.state == gone || e.stateAt(now) != r.State {
			continue
		}
		n++
		if r.State == store.Done { // which has been counted
			p.forget(e)
			continue
		}
		p.count(countPurged)
		p.remove(e, now)
	}
	return n
}

// named returns the messages of an index that have one of the ids.
func named(of *index, ids []store.ID) []*entry {
	var found []*entry
	for _, id := range ids {
		if e := of.get(id); e != nil {
			found = append(found, e)
		}
	}
	return found
}
