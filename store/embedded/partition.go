package embedded

import (
	"math"
	"sync"

	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
)

// partition is one shard of a queue. Everything in it is read and changed under mu,
// and changed by the methods in change.go alone.
type partition struct {
	queue *queue
	index int

	mu       sync.Mutex
	byID     index
	byKey    map[string]*entry // the one live message that holds a key; dead ones hold none
	deadKeys endedByKey        // the dead messages of each key
	waiting  timetable         // by due time
	leased   order             // by deadline
	dead     order             // by time of death
	done     ended             // where the queue keeps done messages
	keyed    int               // messages that hold a key: what len(byKey) must be
	most     int               // size of byID at its highest, see remove
	counts   [counters]int64
	memory   memory
	journal  *journal // writes every change to the log; nil when there is none
	// takenOver counts messages that took the place of another one with their key.
	takenOver uint64
	vanished  bool // its queue was deleted; it is empty

	producers calls[pushAnswer]
	consumers calls[[]handedOut]
	holders   holders
	managers  calls[pushAnswer] // callers of cancel, reschedule, redrive and purge
}

func newPartition(q *queue, index int) *partition {
	p := &partition{queue: q, index: index}
	p.empty()
	if q.store.log != nil {
		p.journal = newJournal(q.store, store.Partition{Queue: q.name, Index: index})
	}
	return p
}

// empty removes all messages and all that p remembers.
func (p *partition) empty() {
	p.byID, p.byKey, p.deadKeys = newIndex(), make(map[string]*entry), make(endedByKey)
	p.waiting, p.leased, p.dead, p.memory = timetable{}, order{}, order{}, newMemory()
	p.done = ended{byID: newIndex(), byKey: make(endedByKey)}
	if !p.queue.store.unsorted {
		p.waiting, p.leased, p.dead, p.done.order, p.memory.ends = newTimetable(newOrder()), newOrder(), newOrder(), newOrder(), newOrder()
	}
	p.keyed, p.most, p.counts, p.holders = 0, 0, [counters]int64{}, nil
	p.producers, p.consumers, p.managers = newCalls[pushAnswer](), newCalls[[]handedOut](), newCalls[pushAnswer]()
}

// payload returns the payload of e, from memory or the log.
func (p *partition) payload(e *entry) (payload, error) {
	if p.journal == nil {
		return e.content, nil
	}
	return p.journal.payload(e)
}

// find returns the message with an id, or the one that holds a key, or else the one that
// died last with it; nil when there is none.
func (p *partition) find(ref store.Ref) *entry {
	if ref.ID.IsZero() {
		if e := p.byKey[ref.Key]; e != nil {
			return e
		}
		return p.deadKeys.last(ref.Key)
	}
	return p.byID.get(ref.ID)
}

// held returns the message that a receipt is the current proof for; else nil.
func (p *partition) held(r store.Receipt) *entry {
	if e := p.byID.get(r.ID); e != nil && e.state == leased && e.receipt() == r {
		return e
	}
	return nil
}

// record returns e as the port shows it, with at most bodyLimit bytes of the body.
func (p *partition) record(e *entry, content payload, bodyLimit int, now instant) store.Record {
	past := e.past()
	r := store.Record{
		ID:          e.id,
		Key:         cloneKey(content),
		Headers:     content.headers(),
		Body:        content.body(bodyLimit),
		BodySize:    content.bodySize(),
		State:       e.stateAt(now),
		At:          e.at,
		MaxAttempts: int(e.maxAttempts),
		Expiry:      e.expiry(),
		Attempt:     int(past.deliveries),
		Earlier:     int(past.earlier),
		Failures:    int(past.failures),
		Snoozes:     int(past.snoozes),
		Cancelling:  e.stopping(),
		Holder:      p.holders.name(e),
		Repeat:      e.repeat(),
		Ending:      e.ending(),
		Letter:      e.isLetter(),
		Suspicion:   past.suspicion,
	}
	if r.RecentFailures, _ = failurelog.Parse(past.texts); len(r.RecentFailures) > 0 {
		r.LastFailure = r.RecentFailures[0].Text
	}
	if e.state != done {
		r.DedupID, r.Remember = e.dedup(), e.remember()
	} else {
		r.Suspicion = store.Unsuspected
	}
	if e.state == leased {
		r.Attempt = e.attempt()
	}
	return r
}

// get answers store.Store.Get, with store.ErrNotFound when there is no such message
// and store.ErrCorrupt when it cannot be read.
func (p *partition) get(ref store.Ref, now instant) (store.Record, error) {
	e := p.look(ref)
	if e == nil {
		return store.Record{}, store.ErrNotFound
	}
	content, err := p.payload(e)
	if err != nil {
		return store.Record{}, err
	}
	return p.record(e, content, math.MaxInt, now), nil
}
