package storetest

import "github.com/dueq-dev/dueq/store"

// This file has what the model remembers of messages that are gone.

// sentBefore returns the message that a push repeats.
func (m *model) sentBefore(msg store.Message) (id store.ID, ok bool) {
	if r, ok := m.gone[msg.ID]; ok && r.until > m.floor() {
		return msg.ID, true
	}
	if msg.DedupID.IsZero() {
		return store.ID{}, false
	}
	for id, e := range m.messages {
		if e.DedupID == msg.DedupID {
			return id, true
		}
	}
	for id, r := range m.gone {
		if r.name == msg.DedupID && r.until > m.floor() {
			return id, true
		}
	}
	return store.ID{}, false
}

// remembers returns the least number of messages that a store must remember.
func (m *model) remembers() (n int64) {
	for _, r := range m.gone {
		if r.until > max(m.floor(), m.latest) {
			n++
		}
	}
	return n
}

// certain reports whether the clock has never been set back. If it has, a store may have forgotten
// messages whose time is not over any more.
func (m *model) certain(id store.ID, name store.DedupID) bool {
	for other, r := range m.gone {
		if (other == id || !name.IsZero() && r.name == name) && r.until > m.floor()-1 && r.until <= m.latest {
			return false
		}
	}
	return true
}

// dedup gives a message of a push a dedup id and a time to be remembered for, or makes it the
// repetition of a message that is gone.
func (r *trial) dedup(m *store.Message, s step, pick int) {
	if id := r.pickID(pick); s.Flag && pick%3 == 1 && r.m.gone[id].until > r.m.floor() && r.m.certain(id, store.DedupID{}) {
		m.ID = id
	}
	if name := store.NewDedupID(string(rune('a' + s.Key%3))); pick%4 < 2 && r.m.certain(m.ID, name) {
		m.DedupID = name
	}
	if pick%3 != 0 {
		m.Remember = min(r.span(step{Span: s.Pick[3] % 10}), store.MaxRemember)
	}
}
