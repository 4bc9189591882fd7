package embedded

import "github.com/dueq-dev/dueq/store"

func (p *partition) redriveAll(r store.RedriveRequest, now instant) []store.PushResult {
	return p.numbered(r.Caller, r.Number, len(r.IDs), now, func() []store.PushResult {
		results := make([]store.PushResult, len(r.IDs))
		for i, id := range r.IDs {
			results[i] = p.redriveOne(id, now)
		}
		return results
	})
}

func (p *partition) redriveOne(id store.ID, now instant) store.PushResult {
	e := p.byID.get(id)
	if e == nil || e.state != dead {
		return store.PushResult{Code: store.CodeNotFound}
	}
	if e.keyed {
		if holder := p.byKey[e.key()]; holder != nil {
			return store.PushResult{Code: store.CodeDuplicate, Holder: holder.id}
		}
	}
	// Deliveries are kept: attempts go on growing, so that no receipt is issued twice.
	past := e.past()
	past.failures = 0
	p.count(countRedriven)
	p.note(e, past)
	p.redrive(e, now.ms)
	return store.PushResult{Code: store.CodeOK}
}
