package storetest

import (
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// This file has the model's Cancel, Reschedule, Redrive and Purge.

// numbered returns the remembered results of a call that is repeated, or else calls do for n items
// in order.
func (m *model) numbered(caller string, number uint64, n int, do func(i int) store.PushResult) []store.PushResult {
	memory, known := m.managers[caller]
	switch {
	case known && number == memory.number:
		return memory.results
	case known && number < memory.number:
		return slices.Repeat([]store.PushResult{{Code: store.CodeStale}}, n)
	}
	results := make([]store.PushResult, n)
	for i := range results {
		results[i] = do(i)
	}
	m.managers[caller] = manageMemory{number: number, results: results}
	return results
}

func (m *model) cancelAll(r store.CancelRequest) []store.PushResult {
	return m.numbered(r.Caller, r.Number, len(r.Refs), func(i int) store.PushResult { return store.PushResult{Code: m.cancel(r.Refs[i], r.Dead)} })
}

func (m *model) rescheduleAll(r store.RescheduleRequest) []store.PushResult {
	return m.numbered(r.Caller, r.Number, len(r.Moves), func(i int) store.PushResult { return store.PushResult{Code: m.reschedule(r.Moves[i])} })
}

func (m *model) redriveAll(r store.RedriveRequest) []store.PushResult {
	return m.numbered(r.Caller, r.Number, len(r.Items), func(i int) store.PushResult { return m.redrive(r.Items[i]) })
}

func (m *model) cancel(ref store.Ref, dead bool) store.Code {
	e := m.find(ref)
	switch {
	case e == nil:
		return store.CodeNotFound
	case e.state == store.Dead && dead:
		m.remove(e, &m.counters.Purged)
		return store.CodeOK
	case e.state == store.Dead:
		return store.CodeDead
	case e.state == store.Leased:
		e.stopping = true
		return store.CodeRunning
	}
	m.finish(e, store.EndingCancelled, &m.counters.Cancelled)
	return store.CodeOK
}

func (m *model) reschedule(to store.Move) store.Code {
	e, due := m.find(to.Ref), m.due(to.Due, to.Delay)
	switch {
	case e == nil:
		return store.CodeNotFound
	case e.state == store.Dead:
		return store.CodeDead
	case e.state == store.Leased:
		return store.CodeRunning
	case m.tooFar(due):
		return store.CodeTooFar
	}
	e.at = due
	return store.CodeOK
}

func (m *model) redrive(item store.Redrive) store.PushResult {
	e := m.messages[item.ID]
	if e == nil || e.state != store.Dead {
		return store.PushResult{Code: store.CodeNotFound}
	}
	if other := m.holder(e.Key); other != nil && !e.letter {
		return store.PushResult{Code: store.CodeDuplicate, Holder: other.ID}
	}
	e.state, e.at, e.failures, e.snoozes, e.expiry = store.Scheduled, m.due(0, item.Delay), 0, 0, 0
	m.counters.Redriven++
	return store.PushResult{}
}

func (m *model) purge(r store.PurgeRequest) store.PurgeResult {
	memory, known := m.managers[r.Caller]
	switch {
	case known && r.Number == memory.number:
		return store.PurgeResult{Removed: memory.removed}
	case known && r.Number < memory.number:
		return store.PurgeResult{Stale: true}
	}
	n := m.removeAll(r)
	m.managers[r.Caller] = manageMemory{number: r.Number, removed: n}
	return store.PurgeResult{Removed: n}
}

func (m *model) removeAll(r store.PurgeRequest) int {
	candidates, from := append(m.waiting(), m.inOrder(store.Dead)...), m.messages
	if r.State == store.Done {
		candidates, from = m.inOrder(store.Done), m.done
	}
	if !r.All {
		candidates = nil
		for _, id := range r.IDs {
			if e := from[id]; e != nil && !slices.Contains(candidates, e) {
				candidates = append(candidates, e)
			}
		}
	}
	n := 0
	for _, e := range candidates {
		if n < r.Limit && m.stateOf(e) == r.State {
			n++
			if r.State == store.Done {
				delete(m.done, e.ID)
				continue
			}
			m.remove(e, &m.counters.Purged)
		}
	}
	return n
}
