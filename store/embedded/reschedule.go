package embedded

import "github.com/dueq-dev/dueq/store"

func (p *partition) reschedule(moves []store.Move, now instant) []store.Code {
	codes := make([]store.Code, len(moves))
	for i := range moves {
		codes[i] = p.rescheduleOne(&moves[i], now)
	}
	return codes
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
