package embedded

import (
	"maps"
	"slices"
	"sync"
)

// members are the live consumers of all queues, by queue and name, each with the
// deadline of its heartbeat.
type members struct {
	mu      sync.Mutex
	byQueue map[string]map[string]int64
}

// beat sets a consumer's deadline, or removes the consumer if ttl is 0. It also removes
// consumers whose deadline is over.
func (m *members) beat(queue, consumer string, ttl int64, clock func() instant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := clock()
	live := m.byQueue[queue]
	if live == nil {
		live = make(map[string]int64)
		m.byQueue[queue] = live
	}
	live[consumer] = now.after(ttl)
	maps.DeleteFunc(live, func(_ string, deadline int64) bool { return now.reached(deadline) })
	if len(live) == 0 {
		delete(m.byQueue, queue)
	}
}

// forget drops all consumers of a queue.
func (m *members) forget(queue string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byQueue, queue)
}

// names returns the live consumers of a queue in order.
func (m *members) names(queue string, now instant) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := []string{}
	for name, deadline := range m.byQueue[queue] {
		if !now.reached(deadline) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// live returns the number of live consumers of a queue.
func (m *members) live(queue string, now instant) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, deadline := range m.byQueue[queue] {
		if !now.reached(deadline) {
			n++
		}
	}
	return n
}
