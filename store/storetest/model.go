package storetest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// model is one partition that implements the state diagram with one map of messages and no index.
// It follows the documents, not a store, and is slow and simple on purpose. Its clock does not
// advance during a call.
type model struct {
	now       int64 // unix µs
	paused    bool
	most      int64 // messages; 0: no limit
	retention int64 // of dead messages, ms; 0: no limit
	mostDead  int64 // 0: no limit
	history   int64 // of done messages, ms; 0: none are kept
	mostDone  int64
	messages  map[store.ID]*entry
	done      map[store.ID]*entry // those that have ended and are kept
	producers map[string]pushMemory
	consumers map[string]claimMemory
	managers  map[string]manageMemory
	counters  store.Counters
	gone      map[store.ID]remembered
	latest    int64      // the latest time of the clock so far, ms
	crashed   []store.ID // what the last sweep put back after a start
	deaths    int
}

// entry is a live message.
type entry struct {
	store.Message
	state      store.State // Scheduled stands for Ready too
	at         int64       // ms: due, deadline, death
	expiry     int64       // ms
	deliveries int         // finished ones
	earlier    int         // finished deliveries of earlier occurrences
	failures   int
	snoozes    int
	ending     store.Verdict   // how the last delivery ended; "" none, "lost" run out
	texts      []store.Failure // of this occurrence, the newest first
	stopping   bool
	begun      bool   // leased, and its handler was about to run
	by         string // leased: its holder
	reopened   bool   // since it was leased
	suspicion  store.Suspicion
	death      int  // dead or done: the number of its death or end
	letter     bool // made of an occurrence of a recurring message, whose key it names
	how        store.Ending
}

// remembered is a message that is gone.
type remembered struct {
	until int64 // ms
	name  store.DedupID
}

type pushMemory struct {
	number  uint64
	results []store.PushResult
}

type claimMemory struct {
	number     uint64
	deliveries []store.Delivery
}

// manageMemory is the last cancel, reschedule, redrive or purge of a caller.
type manageMemory struct {
	number  uint64
	results []store.PushResult
	removed int // by a purge
}

// anyWait is a Wait that the port does not specify: that of the answer to a repeated claim while
// the queue is paused.
const anyWait = -1

func newModel(now time.Time) *model {
	return &model{
		now: now.UnixMicro(), messages: map[store.ID]*entry{}, done: map[store.ID]*entry{},
		producers: map[string]pushMemory{}, consumers: map[string]claimMemory{}, managers: map[string]manageMemory{}, gone: map[store.ID]remembered{},
	}
}

func (m *model) floor() int64 { return m.now / 1000 }
func (m *model) ceil() int64  { return (m.now + 999) / 1000 }

// due returns the due time for a requested instant or, if that is 0, delay.
func (m *model) due(instant, delay int64) int64 {
	switch {
	case instant != 0:
		return max(instant, m.floor())
	case delay > 0:
		return m.ceil() + delay
	}
	return m.floor()
}

func (m *model) tooFar(due int64) bool { return due-m.floor() > store.MaxDelay }

func (m *model) holder(k string) *entry {
	for _, e := range m.messages {
		if k != "" && e.Key == k && e.state != store.Dead && !e.letter {
			return e
		}
	}
	return nil
}

func (m *model) find(r store.Ref) *entry {
	if r.Key != "" {
		return cmp.Or(m.holder(r.Key), m.lastDead(r.Key))
	}
	return m.messages[r.ID]
}

// look finds the message that a read returns: a done one only if there is no live one.
func (m *model) look(r store.Ref) *entry {
	if e := m.find(r); e != nil {
		return e
	}
	if r.Key != "" {
		return lastOf(r.Key, store.Done, m.done)
	}
	return m.done[r.ID]
}

func (e *entry) receipt() store.Receipt {
	return store.Receipt{ID: e.ID, Attempt: e.deliveries + 1, Keyed: e.Key != ""}
}

func (m *model) delivery(e *entry, due int64) store.Delivery {
	d := store.Delivery{
		Receipt: e.receipt(), Key: e.Key, Headers: e.Headers, Body: e.Body, Due: due,
		MaxAttempts: e.MaxAttempts, Expiry: e.expiry, Earlier: e.earlier, Failures: e.failures, Snoozes: e.snoozes, Suspicion: e.suspicion, Repeat: e.Repeat,
	}
	if e.Repeat != "" {
		d.Now = m.floor()
	}
	return d
}

func (m *model) expired(e *entry) bool { return e.expiry > 0 && e.expiry <= m.floor() }

// waiting returns the scheduled and ready messages in the order of delivery.
func (m *model) waiting() []*entry { return m.inOrder(store.Scheduled) }

func (m *model) inOrder(state store.State) []*entry {
	from := m.messages
	if state == store.Done {
		from = m.done
	}
	all := slices.Collect(maps.Values(from))
	all = slices.DeleteFunc(all, func(e *entry) bool { return e.state != state })
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.at, b.at), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return all
}

// finish ends a message, and keeps it as done if the queue has a history.
func (m *model) finish(e *entry, how store.Ending, counter *int64) {
	m.remove(e, counter)
	if m.history == 0 {
		return
	}
	if how == store.EndingAcked || e.state == store.Leased {
		e.deliveries++
	}
	m.deaths++
	e.state, e.at, e.how, e.stopping, e.begun, e.death = store.Done, m.floor(), how, false, false, m.deaths
	m.done[e.ID] = e
	m.shed(1)
}

// shed removes the done messages that are over the limits of age or number, the oldest first.
func (m *model) shed(most int) {
	done := m.inOrder(store.Done)
	limit := store.Settings{Partitions: 1, History: m.history, MaxHistory: m.mostDone}.DonePerPartition()
	for i, e := range done {
		if i == most || e.at+m.history > m.floor() && int64(len(done)-i) <= limit {
			return
		}
		delete(m.done, e.ID)
	}
}

func (m *model) remove(e *entry, counter *int64) {
	delete(m.messages, e.ID)
	*counter++
	if e.Remember > 0 {
		m.gone[e.ID] = remembered{until: m.ceil() + e.Remember, name: e.DedupID}
	}
}

// die makes a message a dead letter.
func (m *model) die(e *entry) {
	e.state, e.at, e.stopping, e.begun = store.Dead, m.floor(), false, false
	m.counters.DeadLettered++
	m.deaths++
	e.death = m.deaths
}

// lastDead returns the message that died last with a key.
func (m *model) lastDead(k string) *entry { return lastOf(k, store.Dead, m.messages) }

func lastOf(k string, state store.State, of map[store.ID]*entry) *entry {
	var last *entry
	for _, e := range of {
		if e.Key == k && e.state == state && (last == nil || cmp.Or(cmp.Compare(e.at, last.at), e.death-last.death) > 0) {
			last = e
		}
	}
	return last
}

// end records how a delivery ended. A handler that returned clears its message.
func (m *model) end(e *entry, how store.Verdict, failed int, text string) {
	if how != store.Release || e.begun {
		e.suspicion = store.Unsuspected
	}
	e.deliveries++
	e.failures += failed
	e.ending = how
	if text != "" {
		e.texts = append([]store.Failure{{At: m.floor(), Attempt: e.deliveries, Text: text}}, e.texts...)
	}
}

func (m *model) push(r store.PushRequest) []store.PushResult {
	memory, known := m.producers[r.Producer]
	if known && r.Number == memory.number {
		return memory.results
	}
	results := make([]store.PushResult, len(r.Messages))
	for i, msg := range r.Messages {
		if known && r.Number < memory.number {
			results[i].Code = store.CodeStale
		} else {
			results[i] = m.pushOne(msg)
		}
	}
	if !known || r.Number > memory.number {
		m.producers[r.Producer] = pushMemory{r.Number, results}
	}
	return results
}

func (m *model) pushOne(msg store.Message) store.PushResult {
	due := m.due(msg.Due, msg.Delay)
	if e := m.messages[msg.ID]; e != nil {
		same := e.Key == msg.Key && maps.Equal(e.Headers, msg.Headers) && bytes.Equal(e.Body, msg.Body) && e.MaxAttempts == msg.MaxAttempts &&
			e.Repeat == msg.Repeat && !e.letter
		if same {
			return store.PushResult{}
		}
		return store.PushResult{Code: store.CodeConflict}
	}
	if id, ok := m.sentBefore(msg); ok {
		m.counters.Deduplicated++
		if id == msg.ID {
			return store.PushResult{}
		}
		return store.PushResult{Code: store.CodeKnown, Holder: id}
	}
	if m.tooFar(due) {
		return store.PushResult{Code: store.CodeTooFar}
	}
	if msg.TTL > 0 && due >= m.ceil()+msg.TTL {
		return store.PushResult{Code: store.CodeExpires}
	}
	if holder := m.holder(msg.Key); holder != nil && holder.Repeat != "" && msg.Repeat != "" {
		m.declare(holder, msg, due)
		return store.PushResult{Holder: holder.ID}
	}
	holder, full := m.holder(msg.Key), m.most > 0 && int64(len(m.messages)-len(m.records(store.Dead))) >= m.most
	switch {
	case holder != nil && holder.state != store.Leased && m.expired(holder):
		m.remove(holder, &m.counters.Expired)
	case holder != nil && holder.state != store.Leased && msg.Replace:
		m.remove(holder, &m.counters.Replaced)
	case full:
		return store.PushResult{Code: store.CodeFull}
	case holder != nil:
		m.counters.Duplicates++
		return store.PushResult{Code: store.CodeDuplicate, Holder: holder.ID}
	}
	e := &entry{Message: msg, state: store.Scheduled, at: due}
	if msg.TTL > 0 {
		e.expiry = m.ceil() + msg.TTL
	}
	m.messages[msg.ID] = e
	maps.DeleteFunc(m.gone, func(id store.ID, r remembered) bool {
		return id == msg.ID || !msg.DedupID.IsZero() && r.name == msg.DedupID
	})
	m.counters.Sent++
	return store.PushResult{}
}

func (m *model) claim(r store.ClaimRequest) store.ClaimResult {
	memory, known := m.consumers[r.Consumer]
	if known && r.Number < memory.number {
		return store.ClaimResult{Stale: true}
	}
	if known && r.Number == memory.number {
		again := slices.DeleteFunc(slices.Clone(memory.deliveries), func(v store.Delivery) bool { return !m.holds(v.Receipt) })
		for i := range again {
			if again[i].Repeat != "" {
				again[i] = m.delivery(m.messages[again[i].Receipt.ID], again[i].Due)
			}
		}
		if m.paused {
			return store.ClaimResult{Deliveries: again, Wait: anyWait}
		}
		return store.ClaimResult{Deliveries: again, Wait: m.wait()}
	}
	m.sweep()
	m.trim()
	m.shed(len(m.done))
	if m.paused {
		return store.ClaimResult{Paused: true, Wait: m.wait()}
	}
	given := m.give(r)
	memory = claimMemory{number: r.Number}
	if !r.AckOnClaim {
		memory.deliveries = given
	}
	m.consumers[r.Consumer] = memory
	return store.ClaimResult{Deliveries: given, Wait: m.wait()}
}

// give hands out the first r.Max messages that are due and not expired, and removes the
// expired ones before the last of them.
func (m *model) give(r store.ClaimRequest) []store.Delivery {
	var given []store.Delivery
	for _, e := range m.waiting() {
		if len(given) == r.Max || e.at > m.floor() {
			break
		}
		if m.expired(e) {
			m.finish(e, store.EndingExpired, &m.counters.Expired)
			continue
		}
		given = append(given, m.delivery(e, e.at))
		m.counters.Delivered++
		if r.AckOnClaim && e.Repeat == "" {
			m.finish(e, store.EndingAcked, &m.counters.Acked)
			continue
		}
		e.state, e.at, e.by, e.reopened = store.Leased, m.ceil()+r.Lease, r.Consumer, false
	}
	return given
}

// sweep puts back at most 100 leases that ran out.
func (m *model) sweep() {
	const most = 100
	m.crashed = nil
	for i, e := range m.inOrder(store.Leased) {
		if i == most || e.at > m.floor() {
			return
		}
		m.counters.LeaseLost++
		if e.stopping {
			m.finish(e, store.EndingCancelled, &m.counters.Cancelled)
			continue
		}
		m.lose(e)
	}
}

// trim removes the dead messages that are over the limits of age or number, the oldest first. Tests
// never have more of them than one claim removes.
func (m *model) trim() {
	dead := m.inOrder(store.Dead)
	for i, e := range dead {
		tooMany := m.mostDead > 0 && int64(len(dead)-i) > m.mostDead
		if !tooMany && (m.retention == 0 || e.at+m.retention > m.floor()) {
			return
		}
		m.remove(e, &m.counters.DeadExpired)
	}
}

// lose puts back a message whose lease ran out. That is a failure if its handler had
// started, and makes it suspect in any case.
func (m *model) lose(e *entry) {
	suspicion := max(e.suspicion, store.Suspect)
	if !e.begun {
		m.end(e, "lost", 0, "lease ran out")
		e.suspicion, e.state, e.at = suspicion, store.Scheduled, m.floor()
		return
	}
	m.end(e, "lost", 1, "lease ran out")
	e.suspicion = store.Crashed
	m.crashed = append(m.crashed, e.ID)
	due := m.floor() + store.CrashDelay(e.ID, e.deliveries, e.failures)
	if e.Repeat != "" { // the store does not know when it is due next
		e.state, e.at, e.begun = store.Scheduled, due, false
		return
	}
	m.failOver(e, due)
}

// failOver schedules a message that failed, or makes it dead when its attempts are used up.
func (m *model) failOver(e *entry, due int64) {
	if e.failures >= e.MaxAttempts {
		m.die(e)
		return
	}
	e.state, e.at, e.begun = store.Scheduled, due, false
}

func (m *model) holds(r store.Receipt) bool {
	e := m.messages[r.ID]
	return e != nil && e.state == store.Leased && e.receipt() == r
}

// wait returns the time until the next message is due or the next lease runs out.
func (m *model) wait() time.Duration {
	next := m.now + store.MaxWait.Microseconds()
	for _, e := range m.messages {
		if e.state == store.Leased || e.state == store.Scheduled && !m.paused {
			next = min(next, e.at*1000)
		}
	}
	return time.Duration(max(next-m.now, 0)) * time.Microsecond
}

// settle returns a code for each item, and the codes that result if items with spent receipts are
// handled after the others. The port allows both, as these items change nothing.
func (m *model) settle(r store.SettleRequest) (codes, late []store.Code) {
	codes = make([]store.Code, len(r.Items))
	var spent []int
	for i, item := range r.Items {
		if r.Verdict == store.Next {
			codes[i] = m.next(item)
			if !m.holds(item.Receipt) && codes[i] != store.CodeOK {
				spent = append(spent, i)
			}
			continue
		}
		if m.holds(item.Receipt) {
			codes[i] = m.settleHeld(m.messages[item.Receipt.ID], r.Verdict, item)
		} else {
			codes[i] = m.settleAgain(item.Receipt, r.Verdict)
			spent = append(spent, i)
		}
	}
	late = slices.Clone(codes)
	for _, i := range spent {
		if r.Verdict == store.Next {
			late[i] = m.followedLater(r.Items[i])
		} else {
			late[i] = m.settleAgain(r.Items[i].Receipt, r.Verdict)
		}
	}
	return codes, late
}

func (m *model) settleHeld(e *entry, v store.Verdict, item store.Settlement) store.Code {
	switch {
	case v == Extend, v == Start:
		e.begun = e.begun || v == Start
		e.at = max(e.at, m.ceil()+item.Delay)
		if e.stopping {
			return store.CodeCancelled
		}
	case v == store.Ack:
		m.finish(e, store.EndingAcked, &m.counters.Acked)
	case e.stopping:
		m.finish(e, store.EndingCancelled, &m.counters.Cancelled)
		return store.CodeCancelled
	case item.Next != nil && e.Repeat != "" && (v == store.Reject || v == store.Nack && e.failures+1 >= e.MaxAttempts):
		return m.part(e, v, item)
	case v == store.Nack:
		m.counters.Nacked++
		m.end(e, v, 1, item.Failure)
		m.failOver(e, m.due(0, item.Delay))
		if e.state == store.Dead {
			return store.CodeDead
		}
	case v == store.Release:
		m.counters.Released++
		m.end(e, v, 0, item.Failure)
		e.state, e.at, e.begun = store.Scheduled, m.due(0, item.Delay), false
	case v == store.Again:
		return m.again(e, item)
	case v == store.Snooze:
		m.counters.Snoozed++
		m.end(e, v, 0, item.Failure)
		e.snoozes++
		e.state, e.at, e.begun = store.Scheduled, m.due(0, item.Delay), false
	case v == store.Reject:
		m.counters.Rejected++
		m.end(e, v, 1, item.Failure)
		m.die(e)
	}
	return store.CodeOK
}

// again ends an occurrence of a message and schedules the next one.
func (m *model) again(e *entry, item store.Settlement) store.Code {
	next := item.Following()
	due := m.due(next.Due, item.Delay)
	switch {
	case m.tooFar(due):
		return store.CodeTooFar
	case next.TTL > 0 && (e.Repeat != "" || due >= m.ceil()+next.TTL):
		return store.CodeExpires
	case next.Repeat != "" && e.Repeat != "" && next.Repeat != e.Repeat:
		return store.CodeChanged
	}
	m.counters.Repeated++
	m.end(e, store.Again, 0, "")
	e.earlier, e.failures, e.snoozes, e.texts, e.expiry = e.deliveries, 0, 0, nil, 0
	if next.TTL > 0 {
		e.expiry = m.ceil() + next.TTL
	}
	if next.NewBody {
		e.Body = next.Body
	}
	e.state, e.at, e.begun = store.Scheduled, due, false
	return store.CodeOK
}

// settleAgain returns the code for a receipt that is not that of a current delivery.
func (m *model) settleAgain(r store.Receipt, v store.Verdict) store.Code {
	e := m.messages[r.ID]
	switch {
	case e == nil:
		return store.CodeGone
	case e.deliveries == r.Attempt && v == store.Nack && e.ending == "parted":
		return store.CodeDead
	case e.deliveries != r.Attempt || e.ending != v:
		return store.CodeLeaseLost
	case v == store.Nack && e.state == store.Dead:
		return store.CodeDead
	}
	return store.CodeOK
}
