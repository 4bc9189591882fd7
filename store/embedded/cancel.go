package embedded

import "github.com/dueq-dev/dueq/store"

// cancel returns a code for each reference, and an event for each holder that must be
// told to stop.
func (p *partition) cancel(refs []store.Ref) (codes []store.Code, stopped []store.Event) {
	codes = make([]store.Code, len(refs))
	for i, ref := range refs {
		e := p.find(ref)
		codes[i] = refusal(e)
		if codes[i] == store.CodeOK {
			p.count(countCancelled)
			p.remove(e)
		}
		if codes[i] == store.CodeRunning {
			p.stop(e)
			stopped = append(stopped, store.Event{Kind: store.EventStop, Partition: p.index, ID: e.id})
		}
	}
	return codes, stopped
}

// refusal tells why a message cannot be cancelled or rescheduled; OK if it can.
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
