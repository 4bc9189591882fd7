package embedded

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// readTries bounds how often a call chooses messages and reads them without the
// partition's mutex. If other calls have taken the messages each time, it then reads under
// the mutex.
const readTries = 8

// errNotRead is the error of a payload that is not in memory. The step notes it and is
// run again when it has been read.
var errNotRead = errors.New("the record has to be read from a file first")

// ahead holds payloads that a call has read from files, so that no file is read under a
// partition's mutex: a disk may take milliseconds, and every other call on the partition
// would wait. The call runs its step; when payloads are missing, the step changes nothing
// that depends on them, they are read without the mutex, and the step is run again.
// Meanwhile others may have taken the messages, or a merge may have moved them: payloads
// are kept by their position in the log, which is never used twice.
type ahead struct {
	log     *wal.Log
	recent  wal.Spot // the log has everything from here on in memory
	found   map[stored]readResult
	missing []stored
	bytes   int // of payloads from files that this run of the step used, missing ones included
	tries   int
}

type readResult struct {
	content payload
	err     error
}

// next reads the payloads that were missing, and reports whether the step has to be run,
// for the first time or once more.
func (a *ahead) next() bool {
	if a.tries > 0 && len(a.missing) == 0 {
		return false
	}
	a.read()
	a.tries++
	return true
}

// begin prepares for a run of the step.
func (a *ahead) begin() {
	a.recent, a.bytes = a.log.Recent(), 0
}

// full reports whether the step has used as many bytes from files as one call may keep in
// memory.
func (a *ahead) full() bool { return a != nil && a.bytes >= store.MaxBatchBytes }

// last reports whether the step reads what is missing under the mutex.
func (a *ahead) last() bool { return a.tries > readTries }

// read reads what was missing, in the order of the log.
func (a *ahead) read() {
	if len(a.missing) == 0 {
		return
	}
	slices.SortFunc(a.missing, func(x, y stored) int {
		return cmp.Or(cmp.Compare(x.segment, y.segment), cmp.Compare(x.offset, y.offset))
	})
	a.found = make(map[stored]readResult, len(a.missing))
	for _, at := range a.missing {
		content, err := at.read(a.log)
		a.found[at] = readResult{content, err}
	}
	a.missing = a.missing[:0]
}

// has reports whether a payload can be had without reading a file, and notes that it is
// missing if not.
func (a *ahead) has(at stored) bool {
	_, found := a.found[at]
	if found || a.last() || at == (stored{}) || !at.before(a.recent) {
		return true
	}
	a.missing = append(a.missing, at)
	return false
}

// payload returns a payload, with errNotRead if it is missing.
func (a *ahead) payload(at stored) (payload, error) {
	if at.before(a.recent) {
		a.bytes += int(at.size)
	}
	if got, ok := a.found[at]; ok {
		return got.content, got.err
	}
	if !a.has(at) {
		return "", errNotRead
	}
	return at.read(a.log)
}

func (s stored) before(spot wal.Spot) bool {
	return s.segment < spot.Segment || s.segment == spot.Segment && s.offset < spot.Offset
}

// read reads a payload from the log, and checks it.
func (s stored) read(log *wal.Log) (payload, error) {
	b := make([]byte, payloadSum+s.size)
	if err := log.Read(b, wal.Spot{Segment: s.segment, Offset: s.offset}); err != nil {
		return "", readError(err)
	}
	if crc32.Checksum(b[payloadSum:], castagnoli) != binary.BigEndian.Uint32(b) {
		return "", fmt.Errorf("record corrupt: segment %d, offset %d: %w", s.segment, s.offset, store.ErrCorrupt)
	}
	return payload(b[payloadSum:]), nil
}

// readError distinguishes a record that is not there from one that cannot be read now: an
// error of the disk may pass.
func readError(err error) error {
	kind := store.ErrUnavailable
	if errors.Is(err, io.EOF) || errors.Is(err, wal.ErrNoSegment) {
		kind = store.ErrCorrupt
	}
	return fmt.Errorf("record cannot be read: %w: %w", err, kind)
}

// reading runs a step that reads payloads, and runs it again while some are missing.
func (s *Store) reading(part *partition, do func(now instant)) {
	if s.log == nil {
		s.step(part, do)
		return
	}
	for a := (&ahead{log: s.log}); a.next(); {
		s.step(part, part.withAhead(a, do))
	}
}

// withAhead makes a step take payloads from a.
func (p *partition) withAhead(a *ahead, do func(now instant)) func(now instant) {
	return func(now instant) {
		a.begin()
		p.journal.ahead = a
		do(now)
		p.journal.ahead = nil
	}
}

// claimDurably is change for claims. When payloads have to be read from files, the step is
// run again after that.
func (s *Store) claimDurably(ctx context.Context, part *partition, r store.ClaimRequest) (result store.ClaimResult, err error) {
	step := func(now instant) { result = part.claim(r, now) }
	if s.log == nil {
		return result, s.change(ctx, part, claimEffort(&r), step)
	}
	for a := (&ahead{log: s.log}); err == nil && a.next(); {
		err = s.change(ctx, part, claimEffort(&r), part.withAhead(a, step))
	}
	return result, err
}

// settleDurably is change for settles. When contents have to be read from files, because a
// message gets a new body and keeps its headers, the step is run again after that.
func (s *Store) settleDurably(ctx context.Context, part *partition, r store.SettleRequest) (codes []store.Code, err error) {
	var failed error
	letters, missing := part.lettersSize(&r), 0
	step := func(now instant) {
		if missing = part.lettersSizeLocked(&r); missing <= letters && part.readable(&r) {
			codes, failed = part.settle(r, now)
		}
	}
	if s.log == nil || r.Verdict != store.Again && letters == 0 {
		err = s.change(ctx, part, settleEffort(&r, letters), step)
	} else {
		for a := (&ahead{log: s.log}); err == nil && a.next(); {
			err = s.change(ctx, part, settleEffort(&r, letters), part.withAhead(a, step))
		}
	}
	if err == nil && missing > letters { // a recurring message got a longer body meanwhile
		return s.settleDurably(ctx, part, r)
	}
	if err := cmp.Or(err, failed); err != nil {
		return nil, err
	}
	return codes, nil
}

// lettersSize returns the size in the log of the dead letters that a settle makes of
// occurrences, at most.
func (p *partition) lettersSize(r *store.SettleRequest) int {
	if p.journal == nil || !slices.ContainsFunc(r.Items, func(item store.Settlement) bool { return item.Next != nil }) {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lettersSizeLocked(r)
}

func (p *partition) lettersSizeLocked(r *store.SettleRequest) int {
	size := 0
	if p.journal == nil || r.Verdict == store.Again {
		return size
	}
	for i := range r.Items {
		if r.Items[i].Next == nil {
			continue
		}
		if e := p.held(r.Items[i].Receipt); e != nil && e.parts(r.Verdict, &r.Items[i]) {
			size += messageSize + int(e.stored.size) + failurelog.MaxHead + len(r.Items[i].Failure) + len(e.past().texts)
		}
	}
	return size
}

// readable reports whether all payloads that a settle needs are in memory, and notes those
// that are missing.
func (p *partition) readable(r *store.SettleRequest) bool {
	if p.journal == nil || p.journal.ahead == nil {
		return true
	}
	all := true
	for i := range r.Items {
		item := &r.Items[i]
		e := p.held(item.Receipt)
		if e != nil && (item.Following().NewBody || e.parts(r.Verdict, item)) && !p.journal.ahead.has(e.stored) {
			all = false
		}
	}
	return all
}

// readEnough reports whether a step that may end early should do so, because it has used
// enough bytes from files.
func (p *partition) readEnough() bool { return p.journal != nil && p.journal.ahead.full() }

// fetched reports whether the payloads of the messages that a claim may hand out are in
// memory, and notes those that are missing. On the first run all must be there, so that a
// claim hands out as many messages as if none were in files; on later runs the first is
// enough, because other calls may have taken the rest. It changes nothing: a claim stays one
// step.
func (p *partition) fetched(r store.ClaimRequest, now instant) bool {
	if p.journal == nil || p.journal.ahead == nil || p.queue.load().Paused {
		return true
	}
	a := p.journal.ahead
	found, readable := 0, 0
	p.comingDue(r, now, func(e *entry) {
		if a.has(e.stored) && readable == found {
			readable++
		}
		found++
	})
	return readable == found || readable > 0 && a.tries > 1
}

// comingDue visits the messages that a claim can hand out: those that are due, as many as
// one claim may take, and those whose leases ran out, which it puts back to be due now.
func (p *partition) comingDue(r store.ClaimRequest, now instant, visit func(e *entry)) {
	found, bytes, expired := 0, 0, 0
	behind := true // the messages that were put back come after those that are due
	p.waiting.after(start(), func(e *entry) bool {
		switch {
		case !now.reached(e.at):
			return false
		case e.expired(now):
			expired++
			return expired < store.MaxExpired
		}
		if bytes += int(e.stored.size); found == r.Max || found > 0 && bytes > store.MaxBatchBytes {
			behind = e.at == now.ms // then their ids decide which is first
			return false
		}
		visit(e)
		found++
		return true
	})
	swept := 0
	p.leased.after(start(), func(e *entry) bool {
		swept++
		if !behind || swept > maxSweep || !now.reached(e.at) {
			return false
		}
		visit(e)
		return true
	})
}

// handOutFetched hands out messages up to the first that would have to be read.
func (p *partition) handOutFetched(r store.ClaimRequest, now instant) []store.Delivery {
	deliveries := p.handOut(r, now)
	if p.journal != nil && p.journal.ahead != nil {
		p.journal.ahead.missing = nil // the next claim hands them out
	}
	return deliveries
}
