package embedded

import "github.com/dueq-dev/dueq/store"

// cancel returns a code for each reference, and an event for each holder that must be
// asked to stop.
func (p *partition) cancel(r store.CancelRequest, now instant) (codes []store.Code, stopped []store.Event) {
	results := p.numbered(r.Caller, r.Number, len(r.Refs), now, func() []store.PushResult {
		results := make([]store.PushResult, len(r.Refs))
		for i, ref := range r.Refs {
			e := p.find(ref)
			results[i].Code = refusal(e)
			switch results[i].Code {
			case store.CodeOK:
				p.count(countCancelled)
				p.finish(e, cancelled, now)
			case store.CodeRunning:
				p.stop(e)
				stopped = append(stopped, store.Event{Kind: store.EventStop, Partition: p.index, ID: e.id})
			case store.CodeDead:
				if r.Dead {
					p.count(countPurged)
					p.remove(e, now)
					results[i].Code = store.CodeOK
				}
			default:
			}
		}
		return results
	})
	return codesOf(results), stopped
}

// refusal returns why a message cannot be cancelled or rescheduled; OK if it can.
func refusal(e *entry) store.Code {
	switch {
	case e == nil:
		return store.CodeNotFound
	case e.state == leased:
		return store.CodeRunning
	case e.state == dead:
		return store.CodeDead
	}
	return store.CodeOK
}
