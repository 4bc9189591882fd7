package storetest

import "github.com/dueq-dev/dueq/store"

// This file has the model's recurring messages.

// declare gives a recurring message the content and schedule of m, unless its schedule is the same.
func (m *model) declare(e *entry, msg store.Message, due int64) {
	if e.Repeat == msg.Repeat {
		return
	}
	msg.ID, msg.DedupID, msg.Remember = e.ID, e.DedupID, e.Remember
	e.Message = msg
	if e.state == store.Leased {
		return
	}
	e.at = due
	if e.deliveries > 0 {
		e.earlier, e.failures, e.snoozes, e.texts = e.deliveries, 0, 0, nil
	}
}

// part makes a dead letter of an occurrence that failed for good, and schedules the message for the
// next one.
func (m *model) part(e *entry, v store.Verdict, item store.Settlement) store.Code {
	due := m.due(item.Next.Due, 0)
	switch {
	case m.tooFar(due):
		return store.CodeTooFar
	case item.Next.Repeat != e.Repeat:
		return store.CodeChanged
	}
	m.end(e, v, 1, item.Failure)
	letter := *e
	letter.ID, letter.Repeat, letter.letter = item.Letter, "", true
	letter.DedupID, letter.Remember = store.DedupID{}, 0
	letter.failures = min(e.failures, e.MaxAttempts)
	m.messages[item.Letter] = &letter
	m.die(&letter)
	m.counters.Sent++
	e.earlier, e.failures, e.snoozes, e.texts, e.begun = e.deliveries, 0, 0, nil, false
	e.state, e.at = store.Scheduled, due
	if v == store.Reject {
		m.counters.Rejected++
		return store.CodeOK
	}
	m.counters.Nacked++
	e.ending = "parted"
	return store.CodeDead
}
