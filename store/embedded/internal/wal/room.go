package wal

import (
	"errors"
	"fmt"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// Use is what space is asked for.
type Use int

// What there may be too little space for.
const (
	Add   Use = iota // more messages: refused when the disk is full
	Drain            // what lets messages go, or moves them: has the reserve too
)

const (
	allocateLeast = 64 << 10
	allocateMost  = 4 << 20
	reserveName   = "reserve"
)

// Admit makes sure that so many bytes can be appended, before anything is changed
// that would have to be. ErrFull if there is no space for them, else the error that
// stopped the log. Release must be called with the same number afterwards.
//
// It may wait for the disk: for a segment to be made, or space to be allocated.
func (l *Log) Admit(n int, use Use) error {
	if done, err := l.promise(n, use); done || err != nil {
		return err
	}
	l.growing.Lock()
	defer l.growing.Unlock()
	if done, err := l.promise(n, use); done || err != nil {
		return err // somebody else made the space
	}
	err := l.grow(n)
	if errors.Is(err, disk.ErrFull) && use == Drain && l.spendReserve() {
		err = l.grow(n)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promised += n
	return nil
}

// Release gives back what Admit promised.
func (l *Log) Release(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promised -= n
}

// promise reports whether the space is there already.
func (l *Log) promise(n int, use Use) (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.active()
	switch {
	case l.err != nil:
		return false, l.err
	case l.full && use == Add:
		return false, fmt.Errorf("what is left is kept for messages to go: %w", ErrFull)
	case s.size >= l.segmentSize, int64(s.size+l.promised+n) > s.allocated:
		return false, nil
	}
	l.promised += n
	return true, nil
}

// grow makes space for what was promised and n bytes more, in the active segment or,
// when that is full, in a new one. It is called with growing held.
func (l *Log) grow(n int) error {
	l.mu.Lock()
	s, promised := l.active(), l.promised
	size := s.size
	l.mu.Unlock()
	if size >= l.segmentSize {
		return l.roll(n)
	}
	// The larger the segment, the more at a time; an idle store keeps next to nothing.
	ahead := min(max(size/4, allocateLeast), allocateMost)
	want := int64(size + promised + max(n, ahead))
	if err := s.file.Allocate(want); err != nil {
		return l.cannotGrow(err)
	}
	l.mu.Lock()
	s.allocated = max(s.allocated, want)
	l.mu.Unlock()
	return nil
}

// roll begins a new segment. What was promised in the old one may be appended to the
// new one. It is called with growing held.
func (l *Log) roll(n int) error {
	l.mu.Lock()
	old, promised := l.active(), l.promised
	l.mu.Unlock()
	s := &segment{number: old.number + 1, sealer: sealer{sum: l.sum}}
	if err := createSegment(l.disk, s, int64(segmentHead+promised+max(n, allocateLeast))); err != nil {
		return l.cannotGrow(err)
	}
	if err := l.disk.Sync(); err != nil {
		return l.fail(errors.Join(err, s.file.Close()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil { // the log has stopped meanwhile: the segment stays empty
		return errors.Join(l.err, s.file.Close())
	}
	s.base = old.end()
	l.segments = append(l.segments, s)
	return nil
}

// cannotGrow tells a full disk, which may pass, from one that fails.
func (l *Log) cannotGrow(err error) error {
	if errors.Is(err, disk.ErrFull) {
		return err
	}
	return l.fail(err)
}

// Full reports whether there is only the reserve left, or less.
func (l *Log) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// Roll ends the active segment, so that it can be merged.
func (l *Log) Roll() error {
	l.growing.Lock()
	defer l.growing.Unlock()
	if err := l.failure(); err != nil {
		return err
	}
	return l.roll(0)
}

// spendReserve gives the reserve's space back to the disk; false if there was none.
func (l *Log) spendReserve() bool {
	if !l.reserve.spend() {
		return false
	}
	l.setFull(true)
	l.logger.Warn("the disk is full: new messages are refused until there is space again")
	return true
}

// KeepReserve sees to it that about so many bytes are kept for Drain. While they
// cannot be had, Add is refused. It is to be called now and then.
func (l *Log) KeepReserve(size int64) error {
	l.growing.Lock()
	defer l.growing.Unlock()
	err := l.reserve.keep(size)
	if l.setFull(err != nil) && err == nil {
		l.logger.Info("there is space on the disk again: new messages are accepted")
	}
	if errors.Is(err, disk.ErrFull) {
		return nil // the log has become full, that is all
	}
	return err
}

// setFull reports whether the log was full before.
func (l *Log) setFull(full bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.full
	l.full = full
	return was
}

// reserve is a file that does nothing but take up space.
type reserve struct {
	disk disk.Disk
	size int64 // 0: there is none
}

// keep makes the reserve so large, unless it is of about that size already.
func (r *reserve) keep(size int64) error {
	if r.size >= size/2 && r.size <= size*4 && r.size > 0 {
		return nil
	}
	r.spend()
	f, err := r.disk.Create(reserveName)
	if err != nil {
		return err
	}
	if err := f.Allocate(size); err != nil {
		return errors.Join(err, f.Close(), r.disk.Remove(reserveName))
	}
	r.size = size
	return f.Close()
}

func (r *reserve) spend() bool {
	spent := r.size > 0 && r.disk.Remove(reserveName) == nil
	r.size = 0
	return spent
}
