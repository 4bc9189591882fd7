package embedded

import "github.com/dueq-dev/dueq/store"

// lapseMost bounds how many messages a step forgets because their time is over.
const lapseMost = 100

// memory is what a partition remembers of messages that are gone, so that they are not
// stored again, and who has a dedup id. A message that is gone is an entry whose at is
// the instant from which it is forgotten.
type memory struct {
	gone  index
	ends  order
	named map[store.DedupID]*entry // live messages, and those that are gone
	peak  int                      // the most that named has had since it was made
	most  int                      // bound of the number of messages remembered
}

func newMemory() memory {
	return memory{gone: newIndex(), named: make(map[store.DedupID]*entry), most: store.MaxRemembered}
}

// sentBefore returns the id under which a message was sent before: its own, or that of the
// message with its dedup id.
func (m *memory) sentBefore(of *store.Message, now instant) (id store.ID, ok bool) {
	if e := m.gone.get(of.ID); e != nil && !now.reached(e.at) {
		return e.id, true
	}
	e := m.named[of.DedupID]
	if of.DedupID.IsZero() || e == nil || e.state == gone && now.reached(e.at) {
		return store.ID{}, false
	}
	return e.id, true
}

// take gives a live message its dedup id. What was remembered under its names is forgotten:
// its time was over.
func (m *memory) take(e *entry) {
	if old := m.gone.get(e.id); old != nil {
		m.forget(old)
	}
	name := e.dedup()
	if name.IsZero() {
		return
	}
	if old := m.named[name]; old != nil && old.state == gone {
		m.forget(old)
	}
	m.name(name, e)
}

func (m *memory) name(name store.DedupID, e *entry) {
	m.named[name] = e
	m.peak = max(m.peak, len(m.named))
}

// free takes the dedup id from a live message.
func (m *memory) free(e *entry) {
	name := e.dedup()
	if name.IsZero() || m.named[name] != e {
		return
	}
	delete(m.named, name)
	if len(m.named) == 0 && m.peak >= largeMap {
		m.named, m.peak = make(map[store.DedupID]*entry), 0
	}
}

// add remembers a message that is gone.
func (m *memory) add(id store.ID, until int64, name store.DedupID) {
	if old := m.gone.get(id); old != nil {
		m.forget(old)
	}
	e := &entry{id: id, at: until}
	m.gone.add(e)
	m.ends.add(e)
	if !name.IsZero() {
		e.extra().dedup = name
		m.name(name, e)
	}
}

func (m *memory) forget(e *entry) {
	m.gone.drop(e)
	m.ends.drop(e)
	m.free(e)
}

// lapse forgets messages whose time is over, a bounded number of them.
func (m *memory) lapse(now instant) {
	for range lapseMost {
		e := m.ends.reached(now)
		if e == nil {
			return
		}
		m.forget(e)
	}
}

// trim forgets messages until there are not too many, those that would be forgotten soonest
// first, and returns how many it has forgotten.
func (m *memory) trim() (forgotten int) {
	for m.ends.tree != nil && m.ends.len() > m.most {
		first, _ := m.ends.tree.Min()
		m.forget(first.e)
		forgotten++
	}
	return forgotten
}

// sort builds the order of ends after the log was read.
func (m *memory) sort() {
	m.ends = newOrder()
	m.gone.each(func(e *entry) { m.ends.add(e) })
	m.trim()
}
