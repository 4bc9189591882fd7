package embedded

import (
	"encoding/binary"
	"errors"

	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
)

// What frames of the log say, byte by byte: docs/FILE_FORMAT.md. Numbers are
// big-endian or uvarints.

// Kinds of frames: their first byte.
const (
	frameStep     = 1 // the changes of one step on a partition
	frameSettings = 2 // all settings of a queue
	frameDeleted  = 3 // a queue is no more
)

// Changes: the first byte of each. A number never changes its meaning.
const (
	opPut      = 1  // a whole message, in place of what is known of it
	opRemove   = 2  //
	opSchedule = 3  // due
	opLease    = 4  // deadline
	opBury     = 5  // time of death
	opRedrive  = 6  // due
	opStop     = 7  //
	opNote     = 8  // history, with one failure text; no longer written
	opCount    = 9  // a counter and by how much it grew
	opTotals   = 10 // all counters
	opPushed   = 11 // a producer's last call
	opClaimed  = 12 // a consumer's last call
	opBegin    = 13 //
	opManaged  = 14 // the last cancel, reschedule, redrive or purge of a caller
	opRenew    = 15 // due, expiry
	opRemember = 16 // until when a message that is gone is remembered, dedup id
	opEnd      = 17 // when, how
	opForget   = 18 // of a done message
	opNoted    = 19 // history, with what is new of its failure texts
)

// Flags of an entry.
const (
	flagStopping = 1 << iota
	flagKeyed
	flagBegun
	flagLetter
	flagRemembered // it has a window or a dedup id
)

func appendShort(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }

// appendEntry appends what is known of a message besides its id and payload.
func appendEntry(b []byte, e *entry, s state) []byte {
	flags := byte(0)
	if e.stopping() {
		flags |= flagStopping
	}
	if e.keyed() {
		flags |= flagKeyed
	}
	if e.begun() {
		flags |= flagBegun
	}
	if e.isLetter() {
		flags |= flagLetter
	}
	name, span := e.dedup(), e.remember()
	if !name.IsZero() || span > 0 {
		flags |= flagRemembered
	}
	b = append(b, byte(s), flags)
	b = binary.BigEndian.AppendUint64(b, uint64(e.at))
	b = binary.AppendUvarint(b, uint64(e.expiry()))
	b = binary.AppendUvarint(b, uint64(e.maxAttempts))
	if flags&flagRemembered != 0 {
		b = append(binary.AppendUvarint(b, uint64(span)), name[:]...)
	}
	return appendHistory(b, e.past())
}

func (r *reader) entry(id store.ID) (*entry, state) {
	e := &entry{id: id}
	s, flags := state(r.byte()), r.byte()
	e.at = r.int64()
	expiry := int64(r.uvarint())
	e.maxAttempts = uint16(r.uvarint())
	var span int64
	var name store.DedupID
	if flags&flagRemembered != 0 {
		span, name = int64(r.uvarint()), store.DedupID(r.id())
	}
	past := r.history()
	e.setKeyed(flags&flagKeyed != 0)
	if odd := flags &^ flagKeyed; expiry != 0 || odd != 0 || past != (history{}) {
		*e.extra() = rare{
			expiry: expiry, stopping: odd&flagStopping != 0, begun: odd&flagBegun != 0, letter: odd&flagLetter != 0, history: past,
			dedup: name, remember: span,
		}
	}
	if s < waiting || s > done {
		r.fail()
	}
	return e, s
}

func appendHistory(b []byte, h history) []byte {
	b = appendDeliveries(b, h)
	b = binary.AppendUvarint(b, uint64(len(h.texts)))
	return append(b, h.texts...)
}

func (r *reader) history() history {
	h := r.deliveries()
	h.texts = string(r.bytes(int(r.uvarint())))
	if _, ok := failurelog.Parse(h.texts); !ok { // one text, which was all that was kept once
		h.texts = failurelog.With("", store.Failure{Text: h.texts})
	}
	return h
}

// appendDeliveries appends a history up to its failure text.
func appendDeliveries(b []byte, h history) []byte {
	b = binary.AppendUvarint(b, uint64(h.deliveries))
	b = binary.AppendUvarint(b, uint64(h.failures))
	b = binary.AppendUvarint(b, uint64(h.snoozes))
	b = binary.AppendUvarint(b, uint64(h.earlier))
	return append(b, byte(h.ended), byte(h.suspicion))
}

func (r *reader) deliveries() history {
	h := history{
		deliveries: uint32(r.uvarint()), failures: uint32(r.uvarint()), snoozes: uint32(r.uvarint()), earlier: uint32(r.uvarint()),
		ended: ending(r.byte()), suspicion: store.Suspicion(r.byte()),
	}
	if h.suspicion > store.Crashed {
		r.fail()
	}
	return h
}

// What a note says of the failure texts of a message.
const (
	textsSame  = 0 // they are as before
	textsNone  = 1 // there are none
	textsAlone = 2 // a new one takes the place of all
	textsAdded = 3 // there is a new one
	textsAgain = 4 // there is a new one, the same as the newest before
)

// appendNote appends a history. The failure texts that are known already are left out.
func appendNote(b []byte, past history, known string) []byte {
	b = appendDeliveries(b, past)
	switch past.texts {
	case known:
		return append(b, textsSame)
	case "":
		return append(b, textsNone)
	}
	newest, alone := failurelog.Newest(past.texts)
	before, _ := failurelog.Newest(known)
	kind := byte(textsAdded)
	switch {
	case alone:
		kind = textsAlone
	case newest.Text == before.Text:
		kind = textsAgain
	}
	b = binary.BigEndian.AppendUint64(append(b, kind), uint64(newest.At))
	if kind == textsAgain {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(newest.Text)))
	return append(b, newest.Text...)
}

// noted is what a note says of the failure texts.
type noted struct {
	kind byte
	at   int64
	text string
}

func (r *reader) note() (past history, texts noted) {
	past = r.deliveries()
	texts.kind = r.byte()
	if texts.kind > textsAgain {
		r.fail()
	}
	if texts.kind >= textsAlone {
		texts.at = r.int64()
	}
	if texts.kind == textsAlone || texts.kind == textsAdded {
		texts.text = string(r.bytes(int(r.uvarint())))
	}
	return past, texts
}

// oldNote reads a history as opNote has it.
func (r *reader) oldNote() (past history, texts noted) {
	past = r.deliveries()
	switch size := r.uvarint(); size {
	case 0:
		texts.kind = textsSame
	case 1:
		texts.kind = textsNone
	default:
		texts.kind, texts.text = textsAlone, string(r.bytes(int(size-1)))
	}
	return past, texts
}

// after returns the failure texts of a message that had others before; attempt is the delivery that
// has ended.
func (n noted) after(before string, attempt uint32) string {
	f := store.Failure{At: n.at, Attempt: int(attempt), Text: n.text}
	switch n.kind {
	case textsSame:
		return before
	case textsNone:
		return ""
	case textsAlone:
		before = ""
	case textsAgain:
		newest, _ := failurelog.Newest(before)
		f.Text = newest.Text
	}
	return failurelog.With(before, f)
}

func appendAnswered(b []byte, op byte, last *call[pushAnswer]) []byte {
	b = appendCall(append(b, op), last.caller, last.number, last.used, last.answer.count)
	if last.answer.results == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	for _, r := range last.answer.results {
		b = append(append(b, byte(r.Code)), r.Holder[:]...)
	}
	return b
}

func (r *reader) answered() *call[pushAnswer] {
	c := new(call[pushAnswer])
	c.caller, c.number, c.used, c.answer.count = r.call()
	if r.byte() == 0 {
		return c
	}
	for range c.answer.count {
		c.answer.results = append(c.answer.results, store.PushResult{Code: store.Code(r.byte()), Holder: r.id()})
	}
	return c
}

func appendClaimed(b []byte, caller string, number uint64, used int64, answer []handedOut) []byte {
	b = appendCall(append(b, opClaimed), caller, number, used, len(answer))
	for _, h := range answer {
		b = append(b, h.receipt.ID[:]...)
		attempt := uint64(h.receipt.Attempt) << 1
		if h.receipt.Keyed {
			attempt |= 1
		}
		b = binary.AppendUvarint(b, attempt)
		b = binary.BigEndian.AppendUint64(b, uint64(h.due))
	}
	return b
}

func (r *reader) claimed() *call[[]handedOut] {
	c := new(call[[]handedOut])
	var n int
	c.caller, c.number, c.used, n = r.call()
	for range n {
		receipt := store.Receipt{ID: r.id()}
		attempt := r.uvarint()
		receipt.Attempt, receipt.Keyed = int(attempt>>1), attempt&1 != 0
		c.answer = append(c.answer, handedOut{receipt, r.int64()})
	}
	return c
}

func appendCall(b []byte, caller string, number uint64, used int64, items int) []byte {
	b = binary.AppendUvarint(appendShort(b, caller), number)
	b = binary.BigEndian.AppendUint64(b, uint64(used))
	return binary.AppendUvarint(b, uint64(items))
}

func (r *reader) call() (caller string, number uint64, used int64, items int) {
	caller, number, used, items = r.short(), r.uvarint(), r.int64(), int(r.uvarint())
	if items < 0 || items > store.MaxBatch {
		r.fail()
		items = 0
	}
	return caller, number, used, items
}

func appendSettings(queue string, s store.Settings) []byte {
	b := appendShort([]byte{frameSettings}, queue)
	b = binary.AppendUvarint(b, uint64(s.Partitions))
	b = binary.AppendUvarint(b, uint64(s.MaxBody))
	b = binary.AppendUvarint(b, uint64(s.MaxMessages))
	paused := byte(0)
	if s.Paused {
		paused = 1
	}
	b = binary.AppendUvarint(append(b, paused), uint64(s.MaxAttempts))
	for _, n := range []int64{s.DeadRetention, s.MaxDead, s.History, s.MaxHistory, s.Lease, s.BackoffBase, s.BackoffMost, s.DedupFor, int64(s.From), s.Drained, s.Version} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return appendShort(b, s.ChangedBy)
}

func appendDeleted(queue string) []byte { return appendShort([]byte{frameDeleted}, queue) }

func (r *reader) settings() (queue string, s store.Settings) {
	queue = r.short()
	s = store.Settings{
		Partitions: int(r.uvarint()), MaxBody: int(r.uvarint()), MaxMessages: int64(r.uvarint()), Paused: r.byte() == 1,
		MaxAttempts: int(r.uvarint()), DeadRetention: int64(r.uvarint()), MaxDead: int64(r.uvarint()),
		History: int64(r.uvarint()), MaxHistory: int64(r.uvarint()), Lease: int64(r.uvarint()), BackoffBase: int64(r.uvarint()), BackoffMost: int64(r.uvarint()),
		DedupFor: int64(r.uvarint()), From: int(r.uvarint()), Drained: int64(r.uvarint()), Version: int64(r.uvarint()), ChangedBy: r.short(),
	}
	if s.Partitions < 1 || s.Partitions > store.MaxPartitions || s.From < 0 || s.From >= s.Partitions {
		r.fail()
	}
	return queue, s
}

// reader takes a frame's body apart. After something that cannot be it returns zeros.
type reader struct {
	rest []byte
	at   int // of rest, in the body
	err  error
}

var errFrame = errors.New("a frame with a good checksum does not make sense")

func (r *reader) fail() { r.refuse(errFrame) }

// refuse makes err the error of the reader, unless it has one.
func (r *reader) refuse(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest, r.at = r.rest[n:], r.at+n
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.bytes(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.bytes(n)
	return v
}

func (r *reader) short() string { return string(r.bytes(int(r.byte()))) }

func (r *reader) id() (id store.ID) {
	copy(id[:], r.bytes(len(id)))
	return id
}
