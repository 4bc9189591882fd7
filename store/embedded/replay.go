package embedded

import (
	"context"
	"fmt"
	"sync"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// frame is a frame of the log being read.
type frame struct {
	reader
	spot      wal.Spot
	kind      byte
	partition store.Partition // with frameStep; its changes are read with next
}

// change is one change of a step. What is set depends on op.
type change struct {
	op    byte
	id    store.ID
	entry *entry // opPut
	state state
	whole []byte // payload
	at    int64
	// expiry is that of opRenew.
	expiry   int64
	dedup    store.DedupID // of opRemember
	past     history       // of opNoted and opNote, without its texts
	texts    noted
	counter  counter
	by       int64
	totals   *[counters]int64
	answered *call[pushAnswer] // opPushed, opManaged
	claimed  *call[[]handedOut]
}

// readFrame reads the head of a frame.
func readFrame(body []byte, spot wal.Spot) (*frame, error) {
	f := &frame{reader: reader{rest: body}, spot: spot}
	f.kind = f.byte()
	switch f.kind {
	case frameSettings, frameDeleted:
	case frameStep:
		f.partition = store.Partition{Queue: f.short(), Index: int(f.uvarint())}
		if f.partition.Validate() != nil {
			f.fail()
		}
	default:
		return nil, fmt.Errorf("a frame of kind %d: %w", f.kind, ErrNewer)
	}
	return f, f.err
}

// steps reads all changes of a step into a slice that is reused. If one of them is invalid,
// the whole step is skipped.
func (f *frame) steps(into []change) ([]change, error) {
	for c, more := f.next(); more; c, more = f.next() {
		into = append(into, c)
	}
	return into, f.err
}

// next reads the next change of a step; more is false at the end, and when f.err says
// that there is no sense in what follows.
func (f *frame) next() (c change, more bool) {
	if len(f.rest) == 0 {
		return c, false
	}
	switch c.op = f.byte(); c.op {
	case opPut:
		f.put(&c)
	case opRemove, opStop, opBegin, opForget:
		c.id = f.id()
	case opSchedule, opLease, opBury, opRedrive:
		c.id, c.at = f.id(), f.int64()
	case opEnd:
		c.id, c.at, c.past.ended = f.id(), f.int64(), ending(f.byte())
	case opRenew:
		c.id, c.at, c.expiry = f.id(), f.int64(), int64(f.uvarint())
	case opRemember:
		c.id, c.at, c.dedup = f.id(), f.int64(), store.DedupID(f.id())
	case opNote:
		c.id = f.id()
		c.past, c.texts = f.oldNote()
	case opNoted:
		c.id = f.id()
		c.past, c.texts = f.note()
	case opCount:
		c.counter, c.by = counter(f.byte()), int64(f.uvarint())
		if c.counter >= counters {
			f.fail()
		}
	case opTotals:
		c.totals = new([counters]int64)
		for i := range c.totals {
			c.totals[i] = int64(f.uvarint())
		}
	case opPushed, opManaged:
		c.answered = f.answered()
	case opClaimed:
		c.claimed = f.claimed()
	default:
		f.refuse(fmt.Errorf("a change of code %d: %w", c.op, ErrNewer))
	}
	return c, f.err == nil
}

func (f *frame) put(c *change) {
	c.id = f.id()
	c.entry, c.state = f.entry(c.id)
	size := f.uint32()
	c.entry.stored = stored{f.spot.Segment, f.spot.Offset + uint32(f.at), size}
	f.bytes(payloadSum) // for reading one message alone; here the frame's has been checked
	c.whole = f.bytes(int(size))
	if f.err != nil || !wellFormed(c.whole) || (c.entry.keyed() || c.entry.isLetter()) != (c.whole[0] > 0) {
		f.fail()
		return
	}
	c.entry.content = payload(c.whole[:payloadStart+int(c.whole[0])]).keyOnly()
	if head := c.whole[:payloadStart]; head[1] != 0 || head[2] != 0 {
		c.entry.setRepeat(payload(c.whole[:payload(head).bodyAt()]).repeat())
	}
}

// replayer makes the changes that a log lists, to a store that is not in use yet.
type replayer struct {
	*Store
	ctx  context.Context //nolint:containedctx // lives as long as one call
	free sync.Pool       // of *step
}

// newReplayer returns a replayer that reads a log into an empty store. Until sortAll is
// called, the orders of its partitions are empty.
func newReplayer(ctx context.Context, s *Store) *replayer {
	s.unsorted = true
	return &replayer{Store: s, ctx: ctx}
}

// step is the changes of a frame to one partition.
type step struct {
	partition store.Partition
	changes   []change
}

// read decodes a frame of the log, and returns a function that makes its changes. Several
// goroutines may call read at a time; one calls the functions, in the order of the log.
func (s *replayer) read(spot wal.Spot, body []byte) (apply func() error, err error) {
	f, err := readFrame(body, spot)
	if err != nil {
		return nil, err
	}
	switch f.kind {
	case frameSettings:
		return s.readSettings(f)
	case frameDeleted:
		return s.readDeleted(f)
	}
	st, ok := s.free.Get().(*step)
	if !ok {
		st = new(step)
	}
	st.partition = f.partition
	if st.changes, err = f.steps(st.changes[:0]); err != nil {
		return nil, err
	}
	return func() error { return s.apply(st) }, nil
}

func (s *replayer) apply(st *step) error {
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", wal.ErrGivenUp, err)
	}
	p := s.queue(st.partition.Queue).partition(st.partition.Index)
	for i := range st.changes {
		p.replay(&st.changes[i], &s.live)
	}
	clear(st.changes) // they refer to the memory of a segment
	s.free.Put(st)
	return nil
}

func (s *Store) readSettings(f *frame) (apply func() error, err error) {
	name, settings := f.settings()
	if f.err != nil || store.ValidateQueue(name) != nil {
		return nil, errFrame
	}
	return func() error {
		q := s.queue(name)
		q.settings.Store(&settings)
		q.makePartitions()
		return nil
	}, nil
}

func (s *Store) readDeleted(f *frame) (apply func() error, err error) {
	name := f.short()
	if f.err != nil || store.ValidateQueue(name) != nil {
		return nil, errFrame
	}
	return func() error {
		s.deleted(name)
		return nil
	}, nil
}

// replay does one change.
func (p *partition) replay(c *change, live *usage) {
	switch c.op {
	case opPut:
		p.dropOld(c, live)
		p.add(c.entry, c.state)
		live.add(c.entry)
	case opForget:
		if e := p.done.byID.get(c.id); e != nil {
			live.drop(e)
			p.forget(e)
		}
	case opCount:
		p.counts[c.counter] += c.by
	case opTotals:
		p.counts = *c.totals
	case opPushed:
		*p.producers.last(c.answered.caller, instant{ms: c.answered.used}) = *c.answered
	case opManaged:
		*p.managers.last(c.answered.caller, instant{ms: c.answered.used}) = *c.answered
	case opRemember:
		p.remember(c.id, c.at, c.dedup)
	case opClaimed:
		*p.consumers.last(c.claimed.caller, instant{ms: c.claimed.used}) = *c.claimed
	default:
		p.replayOn(p.byID.get(c.id), c, live)
	}
}

// dropOld removes the message in whose place another is put.
func (p *partition) dropOld(put *change, live *usage) {
	if put.state == done {
		if old := p.done.byID.get(put.id); old != nil {
			live.drop(old)
			p.forget(old)
		}
		return
	}
	if old := p.byID.get(put.id); old != nil {
		live.drop(old)
		p.drop(old)
	}
}

// replayOn changes a message. It may not be known: then the segment with its put was
// dropped by a merge, which wrote it down again further on if it was still there.
// Until the replay gets to that, the message does not exist.
func (p *partition) replayOn(e *entry, c *change, live *usage) {
	if e == nil {
		return
	}
	switch c.op {
	case opRemove:
		live.drop(e)
		p.drop(e)
	case opSchedule:
		p.schedule(e, c.at)
	case opLease:
		p.lease(e, c.at)
	case opBury:
		p.bury(e, c.at)
	case opRedrive:
		p.redrive(e, c.at)
	case opRenew:
		p.renew(e, c.at, c.expiry)
	case opEnd:
		p.end(e, c.past.ended, c.at)
	case opStop:
		p.stop(e)
	case opBegin:
		p.begin(e)
	case opNote, opNoted:
		p.replayNote(e, c)
	}
}

func (p *partition) replayNote(e *entry, c *change) {
	past := c.past
	past.texts = c.texts.after(e.past().texts, past.deliveries)
	p.note(e, past)
}
