package embedded

import (
	"cmp"
	"slices"
	"sync"

	"github.com/dueq-dev/dueq/internal/duty"
	"github.com/dueq-dev/dueq/store"
)

// members are the live clients and their consumers.
type members struct {
	mu      sync.Mutex
	clients map[string]*client
	queues  map[string]*consumers
	version int64 // of the last change of any queue's consumers
}

// client is a client that has sent a beat.
type client struct {
	deadline int64
	members  map[store.Member]bool // false: on trial
}

// consumers are the live consumers of a queue.
type consumers struct {
	all     []store.Member // those that have joined, in the order of their names
	trials  []store.Member
	version int64 // of the last change
	owners  []string
	of      int64 // the version that owners were made for
}

func newMembers() members {
	return members{clients: map[string]*client{}, queues: map[string]*consumers{}}
}

// beat also removes clients whose deadline is over.
func (m *members) beat(r store.BeatRequest, clock func() instant) store.BeatResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := clock()
	for name, c := range m.clients {
		if now.reached(c.deadline) {
			m.remove(name, now)
		}
	}
	c := m.clients[r.Client]
	result := store.BeatResult{Unknown: c == nil}
	if c == nil {
		c = &client{members: map[store.Member]bool{}}
		m.clients[r.Client] = c
	}
	c.deadline = now.after(r.TTL)
	for _, member := range r.Leave {
		member.Client = r.Client
		m.leave(c, member, now)
	}
	for _, member := range r.Trial {
		member.Client = r.Client
		m.try(c, member)
	}
	for _, member := range r.Join {
		member.Client = r.Client
		m.join(c, member, now)
	}
	if r.TTL == 0 {
		m.remove(r.Client, now)
	}
	result.Version = m.version
	if r.Known != 0 {
		result.Changed, result.More = m.changed(r.Known)
	}
	return result
}

func (m *members) remove(name string, now instant) {
	c := m.clients[name]
	for member := range c.members {
		m.leave(c, member, now)
	}
	delete(m.clients, name)
}

// try enters a consumer on trial.
func (m *members) try(c *client, member store.Member) {
	if _, known := c.members[member]; known {
		return
	}
	c.members[member] = false
	q := m.queue(member.Queue)
	q.trials = append(q.trials, member)
}

func (m *members) join(c *client, member store.Member, now instant) {
	if c.members[member] {
		return
	}
	c.members[member] = true
	q := m.queue(member.Queue)
	q.trials = slices.DeleteFunc(q.trials, func(other store.Member) bool { return other == member })
	i, _ := slices.BinarySearchFunc(q.all, member, byName)
	q.all = slices.Insert(q.all, i, member)
	q.version = m.next(now)
}

func (m *members) queue(name string) *consumers {
	q := m.queues[name]
	if q == nil {
		q = &consumers{}
		m.queues[name] = q
	}
	return q
}

func (m *members) leave(c *client, member store.Member, now instant) {
	joined, known := c.members[member]
	if !known {
		return
	}
	delete(c.members, member)
	q := m.queues[member.Queue]
	if joined {
		i, _ := slices.BinarySearchFunc(q.all, member, byName)
		q.all = slices.Delete(q.all, i, i+1)
		q.version = m.next(now)
	} else {
		q.trials = slices.DeleteFunc(q.trials, func(other store.Member) bool { return other == member })
	}
	if len(q.all)+len(q.trials) == 0 {
		delete(m.queues, member.Queue)
	}
}

func byName(a, b store.Member) int {
	return cmp.Or(cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Client, b.Client))
}

// next returns a new version.
func (m *members) next(now instant) int64 {
	m.version = max(m.version+1, now.ms)
	return m.version
}

// changed returns the queues whose consumers have changed after a version.
func (m *members) changed(known int64) (queues []string, more bool) {
	for name, q := range m.queues {
		if q.version > known {
			queues = append(queues, name)
		}
	}
	slices.Sort(queues)
	if len(queues) > store.MaxBatch {
		return queues[:store.MaxBatch], true
	}
	return queues, false
}

// duties returns the duties of a consumer.
func (m *members) duties(r store.DutyRequest) store.Duties {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := store.Duties{Index: -1, Owners: make([]int, r.Partitions)}
	for p := range d.Owners {
		d.Owners[p] = -1
	}
	q := m.queues[r.Queue]
	if q == nil || len(q.all) == 0 {
		return d
	}
	names := q.ranked()
	d.Consumers = len(names)
	if i, found := slices.BinarySearch(names, r.Consumer); found {
		d.Index = i
	}
	if q.of != q.version || len(q.owners) < r.Partitions {
		q.owners, q.of = duty.Assign(r.Queue, q.owners, names, r.Partitions), q.version
	}
	for p := range d.Owners {
		d.Owners[p], _ = slices.BinarySearch(names, q.owners[p])
	}
	return d
}

// ranked returns the names of the consumers that have duties.
func (q *consumers) ranked() []string {
	names := make([]string, min(len(q.all), store.MaxRanked))
	for i := range names {
		names[i] = q.all[i].Consumer
	}
	return names
}

// live returns the live consumers of a queue in the order of their names.
func (m *members) live(queue string, now instant) []store.LiveMember {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[queue]
	if q == nil {
		return nil
	}
	var live []store.LiveMember
	for i, member := range slices.Concat(q.all, q.trials) {
		if !now.reached(m.clients[member.Client].deadline) {
			live = append(live, store.LiveMember{Member: member, Trial: i >= len(q.all), Duties: duty.Of(member.Consumer, q.owners)})
		}
	}
	slices.SortFunc(live, func(a, b store.LiveMember) int { return byName(a.Member, b.Member) })
	return live
}
