package embedded

import (
	"math"
	"sync"

	"github.com/dueq-dev/dueq/store"
)

// partition is one shard of a queue. Everything in it is read and changed under mu,
// and changed by the methods in change.go alone.
type partition struct {
	queue *queue

	mu      sync.Mutex
	byID    map[store.ID]*entry
	byKey   map[string]*entry // the one live message that holds a key; dead ones hold none
	waiting timetable         // by due time
	leased  order             // by deadline
	dead    order             // by time of death
	keyed   int               // messages that hold a key: what len(byKey) must be
	most    int               // size of byID at its highest, see remove
	counts  [counters]int64

	producers calls[pushAnswer]
	consumers calls[[]handedOut]
}

func newPartition(q *queue) *partition {
	return &partition{
		queue:     q,
		byID:      make(map[store.ID]*entry),
		byKey:     make(map[string]*entry),
		waiting:   newTimetable(),
		leased:    newOrder(),
		dead:      newOrder(),
		producers: newCalls[pushAnswer](),
		consumers: newCalls[[]handedOut](),
	}
}

// payload returns what e carries. It is the only way to it.
func (p *partition) payload(e *entry) payload { return e.content }

// find returns the live message with an id, or the one that holds a key; else nil.
func (p *partition) find(ref store.Ref) *entry {
	if ref.ID.IsZero() {
		return p.byKey[ref.Key]
	}
	return p.byID[ref.ID]
}

// held returns the message that a receipt is the current proof for; else nil.
func (p *partition) held(r store.Receipt) *entry {
	if e := p.byID[r.ID]; e != nil && e.state == leased && e.receipt() == r {
		return e
	}
	return nil
}

// record returns e as the port shows it, with at most so many bytes of the body.
func (p *partition) record(e *entry, bodyLimit int, now instant) store.Record {
	content, past := p.payload(e), e.past()
	r := store.Record{
		ID:          e.id,
		Key:         cloneKey(content),
		Headers:     content.headers(),
		Body:        content.body(bodyLimit),
		BodySize:    content.bodySize(),
		State:       e.stateAt(now),
		At:          e.at,
		MaxAttempts: int(e.maxAttempts),
		Expiry:      e.expiry,
		Attempt:     int(past.deliveries),
		Failures:    int(past.failures),
		LastFailure: past.failure,
		Cancelling:  e.stopping,
	}
	if e.state == leased {
		r.Attempt = e.attempt()
	}
	return r
}

// get answers store.Store.Get; ok is false when there is no such message.
func (p *partition) get(ref store.Ref, now instant) (r store.Record, ok bool) {
	e := p.find(ref)
	if e == nil {
		return store.Record{}, false
	}
	return p.record(e, math.MaxInt, now), true
}
