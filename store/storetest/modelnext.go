package storetest

import (
	"maps"

	"github.com/dueq-dev/dueq/store"
)

// This file has the model's Next.

// next acks a message and stores the others, or changes nothing.
func (m *model) next(item store.Settlement) store.Code {
	if !m.holds(item.Receipt) {
		return m.followedBefore(item)
	}
	before := m.clone()
	m.finish(m.messages[item.Receipt.ID], store.EndingAcked, &m.counters.Acked)
	var fresh []store.Message
	for _, msg := range item.Messages {
		if m.messages[msg.ID] != nil {
			continue
		}
		if _, known := m.sentBefore(msg); known {
			m.counters.Deduplicated++
			continue
		}
		fresh = append(fresh, msg)
	}
	for _, msg := range fresh {
		if result := m.pushOne(msg); result.Code != store.CodeOK {
			*m = *before
			return result.Code
		}
	}
	return store.CodeOK
}

// followedBefore returns the code for a receipt that is not that of a current delivery.
func (m *model) followedBefore(item store.Settlement) store.Code {
	if m.messages[item.Receipt.ID] != nil {
		return store.CodeLeaseLost
	}
	for _, msg := range item.Messages {
		_, known := m.sentBefore(msg)
		holder := m.holder(msg.Key)
		declared := msg.Repeat != "" && holder != nil && holder.Repeat != ""
		if m.messages[msg.ID] == nil && !known && !declared {
			return store.CodeLeaseLost
		}
	}
	return store.CodeGone
}

// followedLater is followedBefore after the other items of the call, for a store that may have
// forgotten messages because its clock was set back.
func (m *model) followedLater(item store.Settlement) store.Code {
	for _, msg := range item.Messages {
		if !m.certain(msg.ID, msg.DedupID) {
			return store.CodeLeaseLost
		}
	}
	return m.followedBefore(item)
}

// clone returns a copy of the model, to restore it.
func (m *model) clone() *model {
	c := *m
	c.gone = maps.Clone(m.gone)
	c.messages, c.done = cloneEntries(m.messages), cloneEntries(m.done)
	return &c
}

func cloneEntries(all map[store.ID]*entry) map[store.ID]*entry {
	c := make(map[store.ID]*entry, len(all))
	for id, e := range all {
		entry := *e
		c[id] = &entry
	}
	return c
}
