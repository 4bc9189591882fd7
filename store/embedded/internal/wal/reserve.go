package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// Needs is the space that must stay available when the disk is full, in bytes.
type Needs struct {
	Drain  int64 // for all calls that remove messages
	Merge  int64 // for rewriting what is needed of all segments
	Always int64 // for what each merge writes in addition
}

const (
	reserveName = "reserve"
	// reserveStep is how much of the reserve is given back to the disk at a time, and the
	// smallest reserve for which a file is made.
	reserveStep = 64 << 10
)

// floor returns how much of the reserve a use must leave alone, under mu or with growing held.
func (l *Log) floor(use Use) int64 {
	if l.needs == nil || use == Merge {
		return 0
	}
	n := l.needs()
	// A rewritten message takes a little more space than before.
	merge := min(n.Merge, l.largest+l.largest/2) + n.Always
	if use == Drain {
		return merge
	}
	return merge + n.Drain
}

// wanted returns the size of a whole reserve: what Add must leave alone, and a margin
// that Add may use while merging, which begins then, makes space.
func (l *Log) wanted() int64 {
	floor := l.floor(Add)
	return floor + floor/4
}

// squeezed calls ask, which needs about n bytes. While ask returns ErrFull, it gives back a
// part of the reserve to the disk and calls ask again. It gives back small parts, because
// other programs may take the space. It is called with growing held.
func (l *Log) squeezed(n int, use Use, ask func() error) error {
	err := ask()
	if !errors.Is(err, disk.ErrFull) {
		return err
	}
	l.noteLow()
	for floor := l.floor(use); l.reserve.size > floor && errors.Is(err, disk.ErrFull); {
		if err := l.resizeReserve(max(floor, l.reserve.size-max(int64(n), reserveStep))); err != nil {
			return err
		}
		err = ask()
	}
	return err
}

// KeepReserve brings the reserve to the size it should have, and takes new messages again
// after a full disk if there is space. It is to be called now and then.
func (l *Log) KeepReserve() error {
	l.growing.Lock()
	defer l.growing.Unlock()
	want := l.wanted()
	if l.reserve.size < want || l.reserve.size > 4*want {
		if err := l.resizeReserve(want); err != nil {
			return err
		}
	}
	if !l.Full() || l.reserve.size < want {
		return nil
	}
	switch err := l.grow(0, allocateLeast); {
	case errors.Is(err, disk.ErrFull):
		return nil
	case err != nil:
		return err
	}
	l.setFull(false)
	l.logger.Info("there is space on the disk again: new messages are accepted")
	return nil
}

// fillReserve makes sure that a message can be added and still be consumed when the disk
// is full afterwards. It is called with growing held.
func (l *Log) fillReserve() error {
	floor := l.floor(Add)
	if l.reserve.size >= floor {
		return nil
	}
	if err := l.resizeReserve(l.wanted()); err != nil || l.reserve.size >= floor {
		return err
	}
	return fmt.Errorf("the space that is left is reserved for removing messages: %w", ErrFull)
}

func (l *Log) resizeReserve(size int64) error {
	err := l.reserve.resize(size)
	l.mu.Lock()
	l.reserved = l.reserve.size
	l.mu.Unlock()
	if l.reserve.size < size {
		l.noteLow()
	}
	return err
}

// refuse records that a use was refused for lack of space.
func (l *Log) refuse(use Use) {
	l.noteLow()
	l.mu.Lock()
	l.starved = l.starved || use == Drain
	l.mu.Unlock()
	if !l.setFull(true) {
		l.logger.Warn("the disk is full: new messages are refused until there is space again",
			slog.Int64("reserve", l.reserve.size))
	}
}

// Low gets a value when space has become scarce, so that merging can begin at once.
func (l *Log) Low() <-chan struct{} { return l.low }

func (l *Log) noteLow() {
	select {
	case l.low <- struct{}{}:
	default: // a value is there already
	}
}

// Scarce reports whether there is less space than there should be.
func (l *Log) Scarce() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full || l.reserved < l.floor(Add)
}

// Starved reports whether a call that removes messages was refused for lack of space since
// Starved was last called: then any amount of garbage is worth merging.
func (l *Log) Starved() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	starved := l.starved
	l.starved = false
	return starved
}

// Full reports whether new messages are refused.
func (l *Log) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// setFull reports whether the log was full before.
func (l *Log) setFull(full bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.full
	l.full = full
	return was
}

// reserve is a file that takes up space. It stays open, so that shrinking it needs no free
// descriptor.
type reserve struct {
	disk disk.Disk
	file disk.File // nil: not made yet
	size int64
}

// resize gives the reserve a size, or the largest size that the disk allows.
func (r *reserve) resize(size int64) error {
	if size == r.size {
		return nil
	}
	if err := r.open(); err != nil {
		return passing(err)
	}
	if size < r.size {
		if err := r.file.Truncate(0); err != nil {
			return err
		}
		r.size = 0
	}
	for ; size > r.size; size = r.size + (size-r.size)/2 {
		err := r.file.Allocate(size)
		if err == nil {
			r.size = size
			return nil
		}
		if !errors.Is(err, disk.ErrFull) {
			return err
		}
		if size-r.size < reserveStep {
			return nil
		}
	}
	return nil
}

// passing returns nil for ErrFull and err otherwise, for uses that may be skipped when there
// is no space.
func passing(err error) error {
	if errors.Is(err, disk.ErrFull) {
		return nil
	}
	return err
}

// open opens the file. That of an earlier run still has its space.
func (r *reserve) open() (err error) {
	if r.file != nil {
		return nil
	}
	r.file, err = r.disk.Create(reserveName)
	if errors.Is(err, fs.ErrExist) {
		r.file, err = r.disk.Open(reserveName)
	}
	if err != nil {
		r.file = nil // not an interface with nothing in it
	}
	return err
}

func (r *reserve) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
