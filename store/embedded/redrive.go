package embedded

import "github.com/dueq-dev/dueq/store"

func (p *partition) redriveAll(r store.RedriveRequest, now instant) []store.PushResult {
	return p.numbered(r.Caller, r.Number, len(r.Items), now, func() []store.PushResult {
		results := make([]store.PushResult, len(r.Items))
		for i, item := range r.Items {
			results[i] = p.redriveOne(item, r.Of, now)
		}
		return results
	})
}

func (p *partition) redriveOne(item store.Redrive, of int, now instant) store.PushResult {
	e := p.byID.get(item.ID)
	if e == nil || e.state != dead {
		return store.PushResult{Code: store.CodeNotFound}
	}
	if s := p.queue.load(); e.keyed() && s.From != 0 && of != s.Partitions {
		return store.PushResult{Code: store.CodeMoved}
	}
	if e.keyed() {
		if holder := p.byKey[e.key()]; holder != nil {
			return store.PushResult{Code: store.CodeDuplicate, Holder: holder.id}
		}
	}
	// Deliveries are kept: attempts still increase, so that no receipt is issued twice.
	past := e.past()
	past.failures, past.snoozes = 0, 0
	p.count(countRedriven)
	p.note(e, past)
	p.redrive(e, now.after(item.Delay))
	return store.PushResult{Code: store.CodeOK}
}
