package embedded

import (
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// pushAnswer is what a push was answered. Most are all OK: then results is nil.
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

// comparable returns an error if a message has the id of one that cannot be read: whether
// they are the same is not known then, and nothing may be answered for certain.
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
	due := now.due(m.Due, m.Delay)
	if now.tooFar(due) {
		return store.PushResult{Code: store.CodeTooFar}
	}
	if m.TTL > 0 && due >= now.after(m.TTL) {
		return store.PushResult{Code: store.CodeExpires}
	}
	if holder := p.byKey[m.Key]; m.Repeat != "" && holder != nil && holder.repeat() != "" {
		p.declare(holder, m, due)
		return store.PushResult{Code: store.CodeOK, Holder: holder.id}
	}
	if holder := p.byKey[m.Key]; holder == nil || !p.givesWay(holder, m.Replace, now) {
		// In the place of another message it takes none.
		if room := p.queue.load().Room(); room > 0 && int64(p.byID.len()-p.dead.len()) >= room {
			return store.PushResult{Code: store.CodeFull}
		}
		if holder != nil {
			p.count(countDuplicates)
			return store.PushResult{Code: store.CodeDuplicate, Holder: holder.id}
		}
	}
	e := &entry{id: m.ID, at: due, content: newPayload(m), maxAttempts: uint16(m.MaxAttempts)}
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
	return store.PushResult{Code: store.CodeOK}
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

// givesWay removes the holder of a key if a new message may take it.
func (p *partition) givesWay(holder *entry, replace bool, now instant) bool {
	switch {
	case holder.state == leased:
		return false
	case holder.expired(now):
		p.count(countExpired)
	case replace:
		p.count(countReplaced)
	default:
		return false
	}
	p.remove(holder, now)
	return true
}
