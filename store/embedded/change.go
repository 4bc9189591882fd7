package embedded

import (
	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
)

// The methods of this file are the only ones that change a partition. Operations decide
// what to change and call them. The same changes in the same order lead to the same
// partition: that is how the log is replayed.

// counter is the index of a counter in store.Counters.All.
type counter int

const (
	countSent counter = iota
	countDelivered
	countAcked
	countNacked
	countReleased
	countRejected
	countLeaseLost
	countDeadLettered
	countCancelled
	countReplaced
	countExpired
	countRedriven
	countPurged
	countDuplicates
	countSnoozed
	countRepeated
	countDeadExpired
	countDeduplicated
	countForgotten
	counters // how many there are
)

// count adds to a counter.
func (p *partition) count(c counter) {
	p.counts[c]++
	p.journal.counted(c)
}

// insert adds a message: (none) -> waiting until e.at, or dead since then. It takes its key
// unless it is dead.
func (p *partition) insert(e *entry, s state) {
	p.journal.put(e, s)
	p.add(e, s)
}

// remove drops a message with all that is known of it: any state -> (gone). Its key
// is free. Its names are remembered if it asked for that.
func (p *partition) remove(e *entry, now instant) {
	p.drop(e)
	p.recall(e, now)
}

// recall begins to remember the names of a message that is gone, if it asked for that.
func (p *partition) recall(e *entry, now instant) {
	if span := e.remember(); span > 0 {
		p.remember(e.id, now.after(span), e.dedup())
		p.memory.lapse(now)
		for range p.memory.trim() {
			p.count(countForgotten)
		}
	}
}

// drop is remove, and nothing is remembered.
func (p *partition) drop(e *entry) {
	p.journal.removed(e)
	p.freeKey(e)
	p.memory.free(e)
	p.leave(e)
	p.forgetLease(e)
	e.state = gone
	p.byID.drop(e)
	p.shrink()
}

// remember keeps the names of a message that is gone until an instant. No change is logged
// when they are forgotten then.
func (p *partition) remember(id store.ID, until int64, name store.DedupID) {
	p.journal.remembered(id, until, name)
	p.memory.add(id, until, name)
}

// end makes a message done: any state -> done. Its key is free; what was known of its lease
// is dropped.
func (p *partition) end(e *entry, how ending, at int64) {
	p.journal.ended(e, how, at)
	p.freeKey(e)
	p.memory.free(e)
	p.leave(e)
	p.byID.drop(e)
	p.queue.store.live.ended(e)
	past := e.past()
	if how == acked || e.state == leased {
		past.deliveries++
	}
	past.ended = how
	p.forgetLease(e)
	if e.rare != nil || past != (history{deliveries: 1, ended: acked}) {
		e.extra().history = past
	}
	p.toDone(e, at)
	p.shrink()
}

// forget drops a done message: done -> (gone).
func (p *partition) forget(e *entry) {
	p.journal.forgotten(e)
	p.leave(e)
	e.state = gone
	p.done.drop(e)
}

// schedule makes a message due: any state -> waiting. What was known of its lease is
// dropped.
func (p *partition) schedule(e *entry, due int64) {
	p.journal.moved(opSchedule, e, due)
	p.leave(e)
	e.state, e.at = waiting, due
	p.forgetLease(e)
	p.waiting.add(e)
}

// lease hands a message out, or gives its holder another deadline:
// waiting, leased -> leased.
func (p *partition) lease(e *entry, deadline int64) {
	p.journal.moved(opLease, e, deadline)
	p.leave(e)
	e.state, e.at = leased, deadline
	p.leased.add(e)
}

// hold sets the holder of a message that was handed out. Holders are not logged.
func (p *partition) hold(e *entry, by traits) {
	p.holders.drop(e.holder())
	p.holders.add(by)
	e.setHolder(by)
}

// forgetLease drops what is known of a lease that has ended.
func (p *partition) forgetLease(e *entry) {
	p.hold(e, 0)
	if e.rare != nil {
		e.rare.stopping, e.rare.begun = false, false
	}
}

// bury makes a message a dead letter: any state -> dead. Its key is free; what was known
// of its lease is dropped.
func (p *partition) bury(e *entry, at int64) {
	p.journal.moved(opBury, e, at)
	p.freeKey(e)
	p.leave(e)
	e.state, e.at = dead, at
	p.forgetLease(e)
	p.toDead(e)
}

// redrive brings a dead letter back with its key, and without a TTL: dead -> waiting.
func (p *partition) redrive(e *entry, due int64) {
	p.journal.moved(opRedrive, e, due)
	if e.rare != nil {
		e.rare.expiry = 0
	}
	p.leave(e)
	e.state, e.at = waiting, due
	p.waiting.add(e)
	p.takeKey(e)
}

// renew makes a message due with another expiry: leased -> waiting. What was known of its
// lease is dropped.
func (p *partition) renew(e *entry, due, expiry int64) {
	p.journal.renewed(e, due, expiry)
	p.setExpiry(e, expiry)
	p.leave(e)
	e.state, e.at = waiting, due
	p.forgetLease(e)
	p.waiting.add(e)
}

// renewWith is renew with another content, which has the same key.
func (p *partition) renewWith(e *entry, content payload, due, expiry int64) {
	p.setExpiry(e, expiry)
	p.forgetLease(e)
	p.setContent(e, content, waiting, due)
}

// replace gives a message all that m has but its id: waiting -> waiting until at,
// leased -> leased until at.
func (p *partition) replace(e *entry, m *store.Message, s state, at int64) {
	e.maxAttempts = uint16(m.MaxAttempts)
	e.setRepeat(m.Repeat)
	p.setContent(e, newPayload(m), s, at)
}

// setContent gives a live message another content with the same key, stored at a position
// of the log.
func (p *partition) setContent(e *entry, content payload, s state, at int64) {
	p.freeKey(e) // the map may use the key in the memory of the old content
	p.leave(e)
	p.queue.store.live.drop(e)
	e.at, e.content, e.stored = at, content, stored{}
	p.journal.put(e, s)
	e.state = s
	if s == leased {
		p.leased.add(e)
	} else {
		p.waiting.add(e)
	}
	p.takeKey(e)
}

func (p *partition) setExpiry(e *entry, expiry int64) {
	if expiry != e.expiry() {
		e.extra().expiry = expiry
	}
}

// stop records that a leased message is to be cancelled.
func (p *partition) stop(e *entry) {
	p.journal.stopped(e)
	e.extra().stopping = true
}

// begin records that the handler of a leased message is about to run.
func (p *partition) begin(e *entry) {
	if e.begun() {
		return
	}
	p.journal.begun(e)
	e.extra().begun = true
}

// note replaces the history of a message. While space is scarce a new failure text takes the place of all
// others.
func (p *partition) note(e *entry, past history) {
	if past.texts != e.past().texts && p.journal.scarce() {
		past.texts = failurelog.Alone(past.texts)
	}
	p.journal.noted(e, past)
	p.queue.store.live.noted(e, past)
	e.extra().history = past
}

// shorten leaves of the failure texts of a message that is about to be logged again the beginning of
// the newest.
func (p *partition) shorten(e *entry) {
	past := e.past()
	newest, alone := failurelog.Newest(past.texts)
	if alone && len(newest.Text) <= scarceText {
		return
	}
	newest.Text = shortText(newest.Text)
	past.texts = failurelog.With("", newest)
	p.queue.store.live.noted(e, past)
	e.extra().history = past
}

// rememberPush keeps a producer's call for its repetition.
func (p *partition) rememberPush(producer string, number uint64, results []store.PushResult, now instant) {
	last := p.producers.last(producer, now)
	last.number, last.answer = number, rememberedResults(results)
	p.journal.pushed(last)
}

// rememberClaim keeps a consumer's call for its repetition.
func (p *partition) rememberClaim(consumer string, number uint64, deliveries []store.Delivery, now instant) {
	last := p.consumers.last(consumer, now)
	last.number, last.answer = number, appendHandedOut(last.answer[:0], deliveries)
	p.journal.claimed(last)
}

// rememberManaged keeps the call of a caller that manages messages for its repetition.
func (p *partition) rememberManaged(caller string, number uint64, answer pushAnswer, now instant) {
	last := p.managers.last(caller, now)
	last.number, last.answer = number, answer
	p.journal.managed(last)
}

// add puts a message where its state says, with its key unless it is dead or done.
func (p *partition) add(e *entry, s state) {
	if s == done {
		p.toDone(e, e.at)
		return
	}
	p.byID.add(e)
	p.memory.take(e)
	p.most = max(p.most, p.byID.len())
	e.state = s
	switch s {
	case waiting:
		p.waiting.add(e)
	case leased:
		p.leased.add(e)
	case dead:
		p.toDead(e)
		return
	case done, gone:
	}
	p.takeKey(e)
}

// leave takes a message out of the order it is in.
func (p *partition) leave(e *entry) {
	switch e.state {
	case waiting:
		p.waiting.drop(e)
	case leased:
		p.leased.drop(e)
	case dead:
		p.dead.drop(e)
		p.deadKeys.drop(e)
	case done:
		p.done.order.drop(e)
		p.done.byKey.drop(e)
	case gone:
	}
}

// toDead puts a message among the dead ones, where it is found by its key.
func (p *partition) toDead(e *entry) {
	p.dead.add(e)
	p.deadKeys.add(e)
}

// toDone puts a message among the done ones.
func (p *partition) toDone(e *entry, at int64) {
	e.state, e.at = done, at
	p.done.add(e)
}

func (p *partition) takeKey(e *entry) {
	if e.keyed() {
		p.byKey[e.key()] = e
		p.keyed++
	}
}

func (p *partition) freeKey(e *entry) {
	if !e.keyed() || e.state == dead {
		return
	}
	p.keyed--
	if p.byKey[e.key()] == e { // in a damaged log, another one can have taken it since
		delete(p.byKey, e.key())
	}
}

// largeMap is the size from which a map is replaced when it is empty, because a Go map never
// becomes smaller.
const largeMap = 4096

// shrink replaces the maps when a large backlog is gone.
func (p *partition) shrink() {
	if p.byID.len() > 0 || p.most < largeMap {
		return
	}
	p.byKey = make(map[string]*entry)
	p.deadKeys = make(endedByKey)
	p.most = 0
}
