package embedded

import (
	"errors"

	"github.com/dueq-dev/dueq/store"
)

// settle returns an error when the disk kept it from settling one of the items.
func (p *partition) settle(r store.SettleRequest, now instant) ([]store.Code, error) {
	codes := make([]store.Code, len(r.Items))
	var failed error
	for i := range r.Items {
		item := &r.Items[i]
		e := p.held(item.Receipt)
		switch {
		case e == nil:
			codes[i] = p.settledBefore(r.Verdict, item.Receipt)
		case r.Verdict == store.Again && !e.stopping():
			var err error
			codes[i], err = p.again(e, item, now)
			failed = errors.Join(failed, err)
		case e.parts(r.Verdict, item):
			var err error
			codes[i], err = p.part(e, r.Verdict, item, now)
			failed = errors.Join(failed, err)
		default:
			codes[i] = p.settleOne(e, r.Verdict, item, now)
		}
	}
	return codes, failed
}

func (p *partition) settleOne(e *entry, v store.Verdict, item *store.Settlement, now instant) store.Code {
	switch {
	case v == store.Ack:
		p.count(countAcked)
		p.finish(e, acked, now)
		return store.CodeOK
	case e.stopping():
		p.count(countCancelled)
		p.finish(e, cancelled, now)
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
		p.snooze(e, item.Failure, due, now)
	default: // Release
		p.count(countReleased)
		p.release(e, item.Failure, now)
		p.schedule(e, due)
	}
	return store.CodeOK
}

// release ends a delivery without a failure. A suspicion that the message ends processes
// stays, unless its handler had started: then it has returned.
func (p *partition) release(e *entry, text string, now instant) {
	past := e.past().and(released, text, now)
	if e.begun() {
		past.suspicion = store.Unsuspected
	}
	p.note(e, past)
}

// snooze ends a delivery that its handler postpones. The handler has returned, so a
// suspicion that the message ends processes is cleared.
func (p *partition) snooze(e *entry, text string, due int64, now instant) {
	past := e.past().and(snoozed, text, now)
	past.snoozes++
	past.suspicion = store.Unsuspected
	p.count(countSnoozed)
	p.note(e, past)
	p.schedule(e, due)
}

// again ends an occurrence, and makes the message due for the next one.
func (p *partition) again(e *entry, item *store.Settlement, now instant) (store.Code, error) {
	next := item.Following()
	due, expiry := now.due(next.Due, item.Delay), int64(0)
	if next.TTL > 0 {
		expiry = now.after(next.TTL)
	}
	switch {
	case now.tooFar(due):
		return store.CodeTooFar, nil
	case expiry > 0 && (due >= expiry || e.repeat() != ""):
		return store.CodeExpires, nil
	case next.Repeat != "" && e.repeat() != "" && next.Repeat != e.repeat():
		return store.CodeChanged, nil
	}
	var content payload
	if next.NewBody {
		var err error
		content, err = p.payload(e)
		if errors.Is(err, store.ErrCorrupt) {
			p.condemn(e, err, now)
			return store.CodeDead, nil
		}
		if err != nil {
			return store.CodeOK, err
		}
	}
	done := uint32(e.attempt())
	p.count(countRepeated)
	p.note(e, history{deliveries: done, earlier: done, ended: followed})
	if next.NewBody {
		p.renewWith(e, content.withBody(next.Body), due, expiry)
	} else {
		p.renew(e, due, expiry)
	}
	return store.CodeOK, nil
}

// parts reports whether a verdict makes a dead letter of an occurrence of e and continues with
// the next one.
func (e *entry) parts(v store.Verdict, item *store.Settlement) bool {
	last := v == store.Reject || v == store.Nack && e.past().failures+1 >= uint32(e.maxAttempts)
	return last && item.Next != nil && e.repeat() != "" && !e.stopping()
}

// part makes a dead letter of the occurrence under way, and e due for the next one.
func (p *partition) part(e *entry, v store.Verdict, item *store.Settlement, now instant) (store.Code, error) {
	due := now.due(item.Next.Due, 0)
	switch {
	case now.tooFar(due):
		return store.CodeTooFar, nil
	case item.Next.Repeat != e.repeat():
		return store.CodeChanged, nil
	}
	content, err := p.payload(e)
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return store.CodeOK, err
	}
	counter, how, ended, code := countNacked, nacked, parted, store.CodeDead
	if v == store.Reject {
		counter, how, ended, code = countRejected, rejected, rejected, store.CodeOK
	}
	p.count(counter)
	if err != nil {
		p.condemn(e, err, now)
		return store.CodeDead, nil
	}
	p.insert(p.letter(e, content, item, how, now), dead)
	p.count(countSent)
	p.count(countDeadLettered)
	done := uint32(e.attempt())
	p.note(e, history{deliveries: done, earlier: done, ended: ended})
	p.renew(e, due, 0)
	return code, nil
}

// letter returns what becomes of the occurrence under way.
func (p *partition) letter(e *entry, content payload, item *store.Settlement, how ending, now instant) *entry {
	past := e.past().and(how, item.Failure, now)
	past.failures = min(past.failures+1, uint32(e.maxAttempts))
	past.suspicion = store.Unsuspected
	return &entry{
		id: item.Letter, at: now.ms, content: content.withoutRepeat(), maxAttempts: e.maxAttempts,
		rare: &rare{letter: true, history: past},
	}
}

// extendAll makes leases last longer, and records the start of handlers.
func (p *partition) extendAll(r store.ExtendRequest, now instant) []store.Code {
	codes := make([]store.Code, len(r.Receipts))
	for i, receipt := range r.Receipts {
		e := p.held(receipt)
		if e == nil {
			codes[i] = p.heldBefore(receipt)
			continue
		}
		if r.Start {
			p.begin(e)
		}
		codes[i] = p.extend(e, now.after(r.Lease))
	}
	return codes
}

// heldBefore answers for a receipt that is not, or no longer, one of a lease.
func (p *partition) heldBefore(r store.Receipt) store.Code {
	if p.byID.get(r.ID) == nil {
		return store.CodeGone
	}
	return store.CodeLeaseLost
}

// extend never brings a deadline nearer. A holder that should stop is notified, and
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
	past := e.past().and(rejected, text, now)
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
	switch {
	case past.deliveries == 0 || int(past.deliveries) != r.Attempt:
		return store.CodeLeaseLost
	case v == store.Nack && past.ended == parted:
		return store.CodeDead
	case past.ended != endingOf(v):
		return store.CodeLeaseLost
	case v == store.Nack && e.state == dead:
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
	case store.Again:
		return followed
	case store.Reject:
		return rejected
	case store.Ack, store.Next:
	}
	return 0
}
