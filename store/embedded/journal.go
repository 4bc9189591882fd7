package embedded

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
	"sync/atomic"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// journal logs the changes that the methods of change.go make to a partition. The changes
// of one step become one frame of the log, so that after a crash a step has happened
// completely or not at all. It is used under the partition's mutex. A nil journal logs
// nothing: a store in memory has one, and a store while its log is read.
type journal struct {
	log  *wal.Log
	live *usage // of the whole store
	pool *pool  // likewise
	name store.Partition

	buffers  *buffers // of the frame that the step is making; nil between steps
	body     []byte   // of that frame
	counts   [counters]uint32
	puts     []put
	matters  bool         // the frame has more than a claim that found nothing
	vanished bool         // the partition's queue was deleted: nothing is written any more
	end      wal.Position // behind the partition's last frame
	ahead    *ahead       // payloads read for the step under way; nil: read from the log
	home     uint32       // segment of its last summary, see summary.go
}

// put is a payload that is in the frame being made.
type put struct {
	e    *entry
	at   int // of its checksum, in the body
	size int
}

// stored is where a payload is in the log, behind its CRC-32C.
type stored struct{ segment, offset, size uint32 }

const (
	payloadSum   = 4  // bytes of the checksum before a payload
	putOverhead  = 64 // bytes that a put takes besides its payload, about
	bodyKeptMost = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newJournal(s *Store, name store.Partition) *journal {
	return &journal{log: s.log, live: &s.live, pool: &s.frames, name: name}
}

// begin makes sure that the frame has its head: the kind, and the partition's name.
func (j *journal) begin() {
	if len(j.body) > 0 {
		return
	}
	if j.buffers == nil {
		j.buffers = j.pool.get()
		j.body, j.puts = j.buffers.body, j.buffers.puts
	}
	j.body = append(j.body, frameStep)
	j.body = appendShort(j.body, j.name.Queue)
	j.body = binary.AppendUvarint(j.body, uint64(j.name.Index))
}

func (j *journal) op(code byte, id store.ID) {
	j.begin()
	j.matters = true
	j.body = append(append(j.body, code), id[:]...)
}

// put logs a whole message. Of its payload only the key stays in memory.
func (j *journal) put(e *entry, s state) {
	if j == nil {
		return
	}
	whole := e.content
	e.content = whole.keyOnly()
	rewrite(j, e, s, whole)
}

// rewrite logs a message with a payload, of which nothing stays in memory.
func rewrite[T payload | []byte](j *journal, e *entry, s state, whole T) {
	j.op(opPut, e.id)
	j.body = appendEntry(j.body, e, s)
	j.body = binary.BigEndian.AppendUint32(j.body, uint32(len(whole)))
	j.puts = append(j.puts, put{e, len(j.body), len(whole)})
	j.body = append(j.body, 0, 0, 0, 0)
	j.body = append(j.body, whole...)
	sum := crc32.Checksum(j.body[len(j.body)-len(whole):], castagnoli)
	binary.BigEndian.PutUint32(j.body[len(j.body)-len(whole)-payloadSum:], sum)
}

func (j *journal) removed(e *entry) {
	if j == nil {
		return
	}
	j.op(opRemove, e.id)
	j.live.drop(e)
}

func (j *journal) ended(e *entry, how ending, at int64) {
	if j == nil {
		return
	}
	j.moved(opEnd, e, at)
	j.body = append(j.body, byte(how))
}

func (j *journal) forgotten(e *entry) {
	if j == nil {
		return
	}
	j.op(opForget, e.id)
	j.live.drop(e)
}

// scarce reports whether space on the disk is scarce.
func (j *journal) scarce() bool { return j != nil && j.log.Scarce() }

func (j *journal) moved(code byte, e *entry, at int64) {
	if j == nil {
		return
	}
	j.op(code, e.id)
	j.body = binary.BigEndian.AppendUint64(j.body, uint64(at))
}

func (j *journal) renewed(e *entry, due, expiry int64) {
	if j == nil {
		return
	}
	j.moved(opRenew, e, due)
	j.body = binary.AppendUvarint(j.body, uint64(expiry))
}

func (j *journal) remembered(id store.ID, until int64, name store.DedupID) {
	if j == nil {
		return
	}
	j.op(opRemember, id)
	j.body = append(binary.BigEndian.AppendUint64(j.body, uint64(until)), name[:]...)
}

func (j *journal) stopped(e *entry) {
	if j != nil {
		j.op(opStop, e.id)
	}
}

func (j *journal) begun(e *entry) {
	if j != nil {
		j.op(opBegin, e.id)
	}
}

func (j *journal) noted(e *entry, past history) {
	if j == nil {
		return
	}
	j.op(opNoted, e.id)
	j.body = appendNote(j.body, past, e.past().texts)
}

// counted collects counts until commit, because a batch adds to the same counter many
// times.
func (j *journal) counted(c counter) {
	if j != nil {
		j.counts[c]++
	}
}

func (j *journal) pushed(last *call[pushAnswer]) { j.answered(opPushed, last) }

func (j *journal) managed(last *call[pushAnswer]) { j.answered(opManaged, last) }

func (j *journal) answered(op byte, last *call[pushAnswer]) {
	if j == nil {
		return
	}
	j.begin()
	j.matters = true
	j.body = appendAnswered(j.body, op, last)
}

// claimed logs a claim. The caller of a claim that found nothing does not wait for the
// disk: its frame is synced with a later one.
func (j *journal) claimed(last *call[[]handedOut]) {
	if j == nil {
		return
	}
	j.begin()
	j.matters = j.matters || len(last.answer) > 0
	j.body = appendClaimed(j.body, last.caller, last.number, last.used, last.answer)
}

// commit appends the frame of the step to the log, and returns where the partition's
// frames end and whether that is worth waiting for.
func (j *journal) commit() (end wal.Position, matters bool) {
	for c, n := range j.counts {
		if n > 0 {
			j.begin()
			j.matters = true
			j.body = binary.AppendUvarint(append(j.body, opCount, byte(c)), uint64(n))
		}
	}
	matters = j.matters
	if len(j.body) > 0 && !j.vanished {
		spot, end := j.log.Append(j.body)
		j.locate(spot)
		j.end = end
	}
	j.reset()
	return j.end, matters
}

// locate sets where in the log the payloads of the frame are.
func (j *journal) locate(body wal.Spot) {
	for _, p := range j.puts {
		if p.e.state == gone {
			continue // put and removed in the same step
		}
		j.live.drop(p.e)
		p.e.stored = stored{body.Segment, body.Offset + uint32(p.at), uint32(p.size)}
		j.live.add(p.e)
	}
}

// usage is how much of the log is needed: about how many bytes, and how many messages that
// are not done.
type usage struct {
	bytes, messages atomic.Int64
	coming          atomic.Int64 // messages of pushes in flight, at most
	besides         atomic.Int64 // bytes that are needed besides messages
}

// needed returns about how many bytes of the log a message needs.
func needed(e *entry) int64 {
	return int64(e.stored.size) + putOverhead + int64(len(e.past().texts))
}

func (u *usage) add(e *entry) {
	u.bytes.Add(needed(e))
	if e.state != done {
		u.messages.Add(1)
	}
}

// drop takes back add; it does nothing for what was not added yet.
func (u *usage) drop(e *entry) {
	if e.stored != (stored{}) {
		u.bytes.Add(-needed(e))
		if e.state != done {
			u.messages.Add(-1)
		}
	}
}

// ended follows a message that becomes done.
func (u *usage) ended(e *entry) {
	if e.stored != (stored{}) {
		u.messages.Add(-1)
	}
}

// noted follows a change of a message's history.
func (u *usage) noted(e *entry, past history) {
	if e.stored != (stored{}) {
		u.bytes.Add(int64(len(past.texts) - len(e.past().texts)))
	}
}

// all returns how many bytes of the log are needed.
func (u *usage) all() int64 { return u.bytes.Load() + u.besides.Load() }

func (j *journal) reset() {
	if j.buffers != nil {
		clear(j.puts) // or they would keep the messages
		j.buffers.body, j.buffers.puts = j.body[:0], j.puts[:0]
		j.pool.put(j.buffers)
	}
	j.buffers, j.body, j.puts, j.matters, j.counts = nil, nil, nil, false, [counters]uint32{}
}

// buffers is the memory in which a frame is built.
type buffers struct {
	body []byte
	puts []put
}

// pool keeps buffers for the next step of any partition, because there are many more
// partitions than steps at a time.
type pool struct{ free sync.Pool }

func (p *pool) get() *buffers {
	if b, ok := p.free.Get().(*buffers); ok {
		return b
	}
	return new(buffers)
}

func (p *pool) put(b *buffers) {
	if cap(b.body) <= bodyKeptMost {
		p.free.Put(b)
	}
}

// payload returns what a message carries: from memory, from what was read ahead for the
// step, or from the log.
func (j *journal) payload(e *entry) (payload, error) {
	switch {
	case e.stored == (stored{}):
		i := len(j.puts) - 1
		for j.puts[i].e != e {
			i--
		}
		return payload(j.body[j.puts[i].at+payloadSum:][:j.puts[i].size]), nil // put by this very step
	case j.ahead != nil:
		return j.ahead.payload(e.stored)
	}
	return e.stored.read(j.log)
}
