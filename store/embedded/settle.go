package embedded

import "github.com/dueq-dev/dueq/store"

func (p *partition) settle(r store.SettleRequest, now instant) []store.Code {
	codes := make([]store.Code, len(r.Items))
	for i := range r.Items {
		item := &r.Items[i]
		if e := p.held(item.Receipt); e != nil {
			codes[i] = p.settleOne(e, r.Verdict, item, now)
		} else {
			codes[i] = p.settledBefore(r.Verdict, item.Receipt)
		}
	}
	return codes
}

func (p *partition) settleOne(e *entry, v store.Verdict, item *store.Settlement, now instant) store.Code {
	switch {
	case v == store.Extend:
		return p.extend(e, now.after(item.Delay))
	case v == store.Start:
		p.begin(e)
		return p.extend(e, now.after(item.Delay))
	case v == store.Ack:
		p.count(countAcked)
		p.remove(e)
		return store.CodeOK
	case e.stopping():
		p.count(countCancelled)
		p.remove(e)
		return store.CodeCancelled
	}
	due := now.after(item.Delay)
	switch v {
	case store.Nack:
		p.count(countNacked)
		return p.fail(e, nacked, item.Failure, due, now)
	case store.Reject:
		p.reject(e, item.Failure, now)
	case store.Snooze:
		p.snooze(e, item.Failure, due)
	default: // Release
		p.count(countReleased)
		p.release(e, item.Failure)
		p.schedule(e, due)
	}
	return store.CodeOK
}

// release ends a delivery unharmed. What was suspected of the message stays unless its
// handler had started, and so has returned.
func (p *partition) release(e *entry, text string) {
	past := e.past().and(released, text)
	if e.begun() {
		past.suspicion = store.Unsuspected
	}
	p.note(e, past)
}

// snooze ends a delivery that its handler wants to have later. That the handler has
// returned clears the suspicion.
func (p *partition) snooze(e *entry, text string, due int64) {
	past := e.past().and(snoozed, text)
	past.snoozes++
	past.suspicion = store.Unsuspected
	p.count(countSnoozed)
	p.note(e, past)
	p.schedule(e, due)
}

// extend never brings a deadline nearer. A holder that should stop is told so, and
// still gets the time to.
func (p *partition) extend(e *entry, deadline int64) store.Code {
	if deadline > e.at {
		p.lease(e, deadline)
	}
	if e.stopping() {
		return store.CodeCancelled
	}
	return store.CodeOK
}

func (p *partition) reject(e *entry, text string, now instant) {
	past := e.past().and(rejected, text)
	past.failures++
	past.suspicion = store.Unsuspected
	p.count(countRejected)
	p.count(countDeadLettered)
	p.note(e, past)
	p.bury(e, now.ms)
}

// settledBefore answers for a receipt that is not, or no longer, one of a lease: a
// verdict that is given again has been carried out, anything else comes too late.
func (p *partition) settledBefore(v store.Verdict, r store.Receipt) store.Code {
	e := p.byID.get(r.ID)
	if e == nil {
		return store.CodeGone
	}
	past := e.past()
	if past.deliveries == 0 || int(past.deliveries) != r.Attempt || past.ended != endingOf(v) {
		return store.CodeLeaseLost
	}
	if v == store.Nack && e.state == dead {
		return store.CodeDead
	}
	return store.CodeOK
}

// endingOf returns what a verdict leaves in the history, 0 for those that leave none.
func endingOf(v store.Verdict) ending {
	switch v {
	case store.Nack:
		return nacked
	case store.Release:
		return released
	case store.Snooze:
		return snoozed
	case store.Reject:
		return rejected
	case store.Ack, store.Extend, store.Start:
	}
	return 0
}
