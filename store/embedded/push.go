package embedded

import (
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// pushAnswer is the answer to a push. If all results are OK, as in most, results is nil.
type pushAnswer struct {
	count   int
	results []store.PushResult
}

func rememberedResults(results []store.PushResult) pushAnswer {
	a := pushAnswer{count: len(results)}
	if slices.ContainsFunc(results, func(r store.PushResult) bool { return r != store.PushResult{} }) {
		a.results = slices.Clone(results)
	}
	return a
}

func (a pushAnswer) again() []store.PushResult {
	if a.results == nil {
		return make([]store.PushResult, a.count)
	}
	return slices.Clone(a.results)
}

func (p *partition) push(r store.PushRequest, now instant) ([]store.PushResult, error) {
	if p.vanished {
		return nil, errVanished
	}
	answer, novelty := p.producers.recall(r.Producer, r.Number, now)
	if novelty == repeated {
		return answer.again(), nil
	}
	// Under the partition's mutex: once a client that knows of a growth was answered, messages that were
	// routed by the number of partitions before are refused.
	for i := range r.Messages {
		err := p.repartitioned(r.Messages[i].Of)
		if novelty == fresh && err != nil {
			return nil, err
		}
	}
	if err := p.comparable(r.Messages); err != nil && novelty == fresh {
		return nil, err
	}
	results := make([]store.PushResult, len(r.Messages))
	for i := range r.Messages {
		if novelty == outdated {
			results[i].Code = store.CodeStale
		} else {
			results[i] = p.pushOne(&r.Messages[i], now)
		}
	}
	if novelty == fresh {
		p.rememberPush(r.Producer, r.Number, results, now)
	}
	return results, nil
}

// comparable returns an error if a message has the id of a stored one that cannot be read:
// whether they are the same is unknown, so the push can be neither accepted nor refused.
func (p *partition) comparable(messages []store.Message) error {
	for i := range messages {
		e := p.byID.get(messages[i].ID)
		if e == nil {
			continue
		}
		if _, err := p.payload(e); err != nil {
			return &store.Error{Queue: p.queue.name, ID: e.id.String(), Err: err}
		}
	}
	return nil
}

func (p *partition) pushOne(m *store.Message, now instant) store.PushResult {
	if e := p.byID.get(m.ID); e != nil {
		return store.PushResult{Code: p.sameAs(e, m)}
	}
	if id, ok := p.memory.sentBefore(m, now); ok {
		p.count(countDeduplicated)
		if id == m.ID {
			return store.PushResult{Code: store.CodeOK}
		}
		return store.PushResult{Code: store.CodeKnown, Holder: id}
	}
	f := p.planFor(m, p.byKey[m.Key], p.full(0), now)
	f.holdOnly(m)
	if f.result.Code == store.CodeDuplicate {
		p.count(countDuplicates)
	}
	p.carryOut(m, f, now)
	return f.result
}

// full reports whether the partition refuses one more message when it has more than now by
// the given number.
func (p *partition) full(more int) bool {
	limit := p.queue.load().LivePerPartition()
	return limit > 0 && int64(p.byID.len()-p.dead.len()+more) >= limit
}

// plan is what a push does with a message that the partition does not have.
type plan struct {
	result   store.PushResult
	due      int64
	declares *entry  // the message becomes this one
	evicts   *entry  // loses its key, and is removed
	counts   counter // why
}

// planFor returns the plan for a message. holder has its key; nil if none has. It
// changes nothing.
func (p *partition) planFor(m *store.Message, holder *entry, full bool, now instant) plan {
	f := plan{due: now.due(m.Due, m.Delay)}
	switch {
	case now.tooFar(f.due):
		f.result.Code = store.CodeTooFar
		return f
	case m.TTL > 0 && f.due >= now.after(m.TTL):
		f.result.Code = store.CodeExpires
		return f
	case m.Repeat != "" && holder != nil && holder.repeat() != "":
		f.result.Holder, f.declares = holder.id, holder
		return f
	}
	if why, ok := givesWay(holder, m.Replace, now); ok {
		f.evicts, f.counts = holder, why // the number of messages stays the same
		return f
	}
	switch {
	case full:
		f.result.Code = store.CodeFull
	case holder != nil:
		f.result = store.PushResult{Code: store.CodeDuplicate, Holder: holder.id}
	}
	return f
}

// holdOnly changes the plan for a message that takes the place of none, if it must (OnlyHeld).
func (f *plan) holdOnly(m *store.Message) {
	alone := f.declares == nil && f.evicts == nil
	if m.OnlyHeld && alone && (f.result.Code == store.CodeOK || f.result.Code == store.CodeFull) {
		f.result = store.PushResult{Code: store.CodeMoved}
	}
}

// givesWay reports whether the holder of a key, nil if there is none, gives it to a new
// message, and is removed, and what that counts as.
func givesWay(holder *entry, replace bool, now instant) (why counter, ok bool) {
	switch {
	case holder == nil || holder.state == leased:
		return 0, false
	case holder.expired(now):
		return countExpired, true
	default:
		return countReplaced, replace
	}
}

// carryOut does what the plan for a message says. A refusal changes nothing.
func (p *partition) carryOut(m *store.Message, f plan, now instant) {
	switch {
	case f.result.Code != store.CodeOK:
		return
	case f.declares != nil:
		p.declare(f.declares, m, f.due)
		return
	case f.evicts != nil:
		p.takenOver++
		p.count(f.counts)
		p.remove(f.evicts, now)
	}
	e := &entry{id: m.ID, at: f.due, content: newPayload(m), maxAttempts: uint16(m.MaxAttempts)}
	e.setKeyed(m.Key != "")
	if m.TTL > 0 {
		e.extra().expiry = now.after(m.TTL)
	}
	if m.Remember > 0 || !m.DedupID.IsZero() {
		e.extra().remember, e.extra().dedup = m.Remember, m.DedupID
	}
	e.setRepeat(m.Repeat)
	p.insert(e, waiting)
	p.count(countSent)
}

// sameAs reports whether a message was pushed again, and is not another one with the same id.
func (p *partition) sameAs(e *entry, m *store.Message) store.Code {
	content, err := p.payload(e)
	if err == nil && !e.isLetter() && int(e.maxAttempts) == m.MaxAttempts && content == newPayload(m) {
		return store.CodeOK
	}
	return store.CodeConflict
}

// declare makes a recurring message what m is, unless its schedule is that already. The
// occurrence that is under way keeps its holder, its attempts and its lease.
func (p *partition) declare(e *entry, m *store.Message, due int64) {
	if e.repeat() == m.Repeat {
		return
	}
	if e.state == leased {
		p.replace(e, m, leased, e.at)
		return
	}
	if past := e.past(); past.deliveries > 0 {
		p.note(e, history{deliveries: past.deliveries, earlier: past.deliveries, ended: past.ended, suspicion: past.suspicion})
	}
	p.replace(e, m, waiting, due)
}
