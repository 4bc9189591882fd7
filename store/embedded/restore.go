package embedded

import (
	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

func restoreEffort(r *store.RestoreRequest) effort {
	e := effort{size: frameSize, use: wal.Add, adds: int64(len(r.Messages))}
	for i := range r.Messages {
		m := r.Messages[i].Message()
		e.size += messageSize + m.Size() + headerSize*len(m.Headers) + len(failurelog.Of(&r.Messages[i]))
	}
	return e
}

// restore stores messages of another store.
func (p *partition) restore(r store.RestoreRequest, now instant) ([]store.Code, error) {
	switch {
	case p.vanished:
		return nil, errVanished
	case !p.queue.load().Paused:
		return nil, store.ErrNotPaused
	}
	codes := make([]store.Code, len(r.Messages))
	for i := range r.Messages {
		codes[i] = p.restoreOne(&r.Messages[i], now)
	}
	return codes, nil
}

func (p *partition) restoreOne(m *store.Record, now instant) store.Code {
	message := m.Message()
	switch _, remembered := p.memory.sentBefore(&message, now); {
	case remembered, p.byID.get(m.ID) != nil, p.done.byID.get(m.ID) != nil:
		return store.CodeKnown
	case m.State == store.Waiting && m.Key != "" && !m.Letter && p.byKey[m.Key] != nil:
		return store.CodeDuplicate
	case m.State == store.Done && p.queue.load().History == 0:
		return store.CodeGone
	}
	s := waiting
	switch m.State { //nolint:exhaustive // Validate allows one more, Waiting
	case store.Dead:
		s = dead
	case store.Done:
		s = done
		p.count(endingCounter(m.Ending))
	}
	p.insert(restored(m, &message), s)
	p.count(countSent)
	return store.CodeOK
}

// restored returns the entry of a message. The last of its deliveries was on another store, so
// no receipt of it is valid here.
func restored(m *store.Record, message *store.Message) *entry {
	e := &entry{id: m.ID, at: m.At, content: newPayload(message), maxAttempts: uint16(m.MaxAttempts)}
	e.setKeyed(m.Key != "" && !m.Letter)
	past := history{
		deliveries: uint32(m.Attempt), earlier: uint32(m.Earlier), failures: uint32(m.Failures), snoozes: uint32(m.Snoozes),
		suspicion: m.Suspicion, texts: failurelog.Of(m),
	}
	switch {
	case m.State == store.Done:
		past.ended = endingNamed(m.Ending)
	case past != (history{}):
		past.ended = lost
	}
	if past != (history{}) && past != (history{deliveries: 1, ended: acked}) {
		e.extra().history = past
	}
	if m.Letter {
		e.extra().letter = true
	}
	if m.Expiry > 0 {
		e.extra().expiry = m.Expiry
	}
	if m.State != store.Done && (m.Remember > 0 || !m.DedupID.IsZero()) {
		e.extra().remember, e.extra().dedup = m.Remember, m.DedupID
	}
	e.setRepeat(m.Repeat)
	return e
}

func endingNamed(e store.Ending) ending {
	switch e {
	case store.EndingAcked:
		return acked
	case store.EndingCancelled:
		return cancelled
	default:
		return expired
	}
}

func endingCounter(e store.Ending) counter {
	switch e {
	case store.EndingAcked:
		return countAcked
	case store.EndingCancelled:
		return countCancelled
	default:
		return countExpired
	}
}
