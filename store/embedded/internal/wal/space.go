package wal

import (
	"errors"
	"fmt"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// Use is the purpose for which space is needed.
type Use int

// The uses.
const (
	Add   Use = iota // more messages: refused when the disk is full
	Drain            // calls that remove or move messages: may use the reserve
	Merge            // merges, which make space: may use the part of the reserve that Drain may not
)

const (
	allocateLeast = 64 << 10
	allocateMost  = 4 << 20
)

// Admit makes sure that n bytes can be appended. It is called before the change that they
// record is made. It returns ErrFull if there is no space, or the error that stopped the
// log. After success, Release must be called with the same number.
//
// It may wait for the disk until a segment is made or space is allocated.
func (l *Log) Admit(n int, use Use) error {
	if done, err := l.promise(n, use); done || err != nil {
		return err
	}
	l.growing.Lock()
	defer l.growing.Unlock()
	for {
		// Another call may have made the space, or may have got what was just made.
		if done, err := l.promise(n, use); done || err != nil {
			return err
		}
		err := l.makeSpace(n, use)
		if errors.Is(err, ErrFull) {
			l.refuse(use)
		}
		if err != nil {
			return err
		}
	}
}

// makeSpace makes space for n more bytes. On a full disk it asks for exactly that many, then
// takes what the use may have of the reserve. It is called with growing held.
func (l *Log) makeSpace(n int, use Use) error {
	if use == Add {
		if err := l.fillReserve(); err != nil {
			return err
		}
	}
	err := l.grow(n, allocateMost)
	if errors.Is(err, disk.ErrFull) {
		err = l.squeezed(n, use, func() error { return l.grow(n, n) })
	}
	return err
}

// Release ends the promise of an Admit.
func (l *Log) Release(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promised -= n
}

// promise promises n bytes if the space is allocated already, and reports whether it is.
func (l *Log) promise(n int, use Use) (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.active()
	switch {
	case l.err != nil:
		return false, l.err
	case l.full && use == Add:
		return false, fmt.Errorf("the space that is left is reserved for removing messages: %w", ErrFull)
	case s.size >= s.limit, int64(s.size+l.promised+n+slack) > s.allocated:
		return false, nil
	case use == Add && l.reserved < l.floor(Add):
		return false, nil
	}
	l.promised += n
	return true, nil
}

// grow makes space for what was promised and n bytes more, in the active segment or,
// when that is full, in a new one. It allocates up to ahead bytes at a time: the larger
// the segment the more, so that an idle store keeps next to nothing. It is called with
// growing held.
func (l *Log) grow(n, ahead int) error {
	l.mu.Lock()
	s, promised := l.active(), l.promised
	size := s.size
	l.mu.Unlock()
	if size >= s.limit {
		return l.roll(max(n, min(ahead, allocateLeast)))
	}
	want := int64(size + promised + slack + max(n, min(ahead, max(size/4, allocateLeast))))
	if want <= s.allocated {
		return nil
	}
	if err := s.file.Allocate(want); err != nil {
		return l.cannotGrow(err)
	}
	l.mu.Lock()
	s.allocated = max(s.allocated, want)
	l.mu.Unlock()
	return nil
}

// roll begins a new segment. Bytes promised in the old one may be appended to the new one.
// It is called with growing held.
func (l *Log) roll(n int) error {
	l.mu.Lock()
	old, promised, oldest := l.active(), l.promised, l.segments[0]
	total, ending := int64(old.end()-oldest.base), int64(old.size+slack)
	l.mu.Unlock()
	if ending > old.allocated { // nothing was admitted since the log was opened
		if err := old.file.Allocate(ending); err != nil {
			return l.cannotGrow(err)
		}
		l.mu.Lock()
		old.allocated = ending
		l.mu.Unlock()
	}
	s, err := l.newSegment(max(old.number, l.highest)+1, old, oldest.number)
	if err != nil {
		return err
	}
	s.limit = l.limit(total)
	if err := createSegment(l.disk, s, int64(segmentHead+promised+slack+n)); err != nil {
		return err // nothing has changed: a lack of descriptors, or of space, may pass
	}
	if err := l.disk.Sync(); err != nil {
		return l.fail(errors.Join(err, s.file.Close()))
	}
	for {
		missing, err := l.publish(s, n)
		if err != nil {
			return errors.Join(err, s.file.Close())
		}
		if missing == 0 {
			return nil
		}
		if err := s.file.Allocate(missing); err != nil {
			return errors.Join(err, s.file.Close(), l.disk.Remove(segmentName(s.number)))
		}
		s.allocated = missing
	}
}

// limit returns the size at which the next segment is full, given the size of the log.
// Segments grow with the log, so that they are few and each of them, which is what a merge
// needs space for, is a small part of it.
func (l *Log) limit(total int64) int {
	const least, usual, most = 1 << 20, 32 << 20, 1 << 30
	if l.segmentSize > 0 {
		return l.segmentSize
	}
	return int(min(max(total/16, least), max(usual, total/256), most))
}

// publish makes s the active segment, unless more bytes have been promised meanwhile than s
// has space for: then it returns how many s must have.
func (l *Log) publish(s *segment, n int) (missing int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil { // the log has stopped meanwhile: the segment stays empty
		return 0, l.err
	}
	if want := int64(segmentHead + l.promised + slack + n); want > s.allocated {
		return want, nil
	}
	old := l.active()
	l.appendOwn(ownEnd, s.number)
	l.largest = max(l.largest, int64(old.size), int64(s.limit))
	s.base = old.end() - segmentHead // positions count frames only
	l.highest = s.number
	l.segments = append(l.segments, s)
	return 0, nil
}

// cannotGrow returns the error of a full disk, after which the log can be used; any other error
// stops the log.
func (l *Log) cannotGrow(err error) error {
	if errors.Is(err, disk.ErrFull) {
		return err
	}
	return l.fail(err)
}

// spaceToRest makes space for the frame that ends the log. It is called with growing held.
func (l *Log) spaceToRest() error {
	l.mu.Lock()
	s := l.active()
	want := int64(s.size + l.promised + frameHead)
	enough := want <= s.allocated || s.end() == l.rested
	l.mu.Unlock()
	if enough {
		return nil
	}
	if err := l.squeezed(frameHead, Merge, func() error { return s.file.Allocate(want) }); err != nil {
		return err
	}
	l.mu.Lock()
	s.allocated = max(s.allocated, want)
	l.mu.Unlock()
	return nil
}

// Roll ends the active segment, so that it can be merged.
func (l *Log) Roll() error {
	l.growing.Lock()
	defer l.growing.Unlock()
	if err := l.failure(); err != nil {
		return err
	}
	return l.squeezed(segmentHead, Merge, func() error { return l.roll(0) })
}
