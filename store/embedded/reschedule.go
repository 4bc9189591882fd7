package embedded

import "github.com/dueq-dev/dueq/store"

func (p *partition) reschedule(r store.RescheduleRequest, now instant) []store.Code {
	return codesOf(p.numbered(r.Caller, r.Number, len(r.Moves), now, func() []store.PushResult {
		results := make([]store.PushResult, len(r.Moves))
		for i := range r.Moves {
			results[i].Code = p.rescheduleOne(&r.Moves[i], now)
		}
		return results
	}))
}

func (p *partition) rescheduleOne(m *store.Move, now instant) store.Code {
	e := p.find(m.Ref)
	if code := refusal(e); code != store.CodeOK {
		return code
	}
	due := now.due(m.Due, m.Delay)
	if now.tooFar(due) {
		return store.CodeTooFar
	}
	p.schedule(e, due)
	return store.CodeOK
}
