package wal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// identify opens the files of the log and reads their headers: which segments there are,
// of which store, in which order. A segment's size is that of its file until it has
// been read.
func (r *recovery) identify() error {
	if err := r.openSegments(); err != nil {
		return err
	}
	l := r.log
	for _, s := range l.segments {
		if err := r.readHead(s); err != nil {
			return err
		}
	}
	if err := r.checkNumbers(); err != nil {
		return err
	}
	if err := r.checkStore(); err != nil {
		return err
	}
	slices.SortStableFunc(l.segments, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	for _, s := range l.segments {
		r.begins = max(r.begins, s.oldest)
	}
	return nil
}

func (r *recovery) openSegments() error {
	l := r.log
	names, err := l.disk.List()
	if err != nil {
		return err
	}
	r.used = slices.Contains(names, reserveName)
	for _, name := range names {
		number, ok := segmentNumber(name)
		if !ok {
			continue
		}
		f, err := l.disk.Open(name)
		if err != nil {
			return err
		}
		s := &segment{name: name, file: f, sealer: sealer{sum: l.sum}}
		s.number = number
		l.segments = append(l.segments, s)
		l.highest = max(l.highest, number)
		size, err := f.Size()
		if err != nil {
			return err
		}
		s.surplus = max(0, size-segmentMost)
		s.size = max(int(size-s.surplus), segmentHead) // what is missing of the head is reported
	}
	return nil
}

// readHead reads both copies of a segment's header. A copy that cannot be read is reported
// as damage even if the other can: both were durable before the segment had its name.
func (r *recovery) readHead(s *segment) error {
	data := make([]byte, min(s.size, 2*copyAt))
	readBlocks(s.file, data)
	first, err1 := readHeader(data[:copyAt])
	second, err2 := readHeader(data[copyAt:])
	if err := errors.Join(err1, err2); errors.Is(err, ErrNewer) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	offset, reason, length := 0, "", headerSize
	switch {
	case err1 != nil && err2 != nil:
		reason, length, s.lost = "the header is damaged, and so is its copy", 0, true
	case err1 != nil:
		reason, first = "the header is damaged, its copy is not", second
	case err2 != nil || first != second:
		reason, offset = "the copy of the header is damaged", copyAt
	case !allZero(data[headerSize:noteAt]) || !allZero(data[noteAt+noteSize:copyAt]):
		reason, offset, length = "not zero between the header and its copy", headerSize, copyAt-headerSize
	}
	if !s.lost {
		s.identity = first
		s.sealer.salt = first.salt
	}
	if reason != "" {
		if err := r.found(&DamageError{File: s.name, Offset: offset, Bytes: length, Reason: reason}); err != nil {
			return err
		}
	}
	if s.surplus > 0 {
		return r.found(&DamageError{File: s.name, Offset: segmentMost, Reason: "it is larger than a segment can be"})
	}
	return nil
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// checkNumbers compares the numbers in headers with those in names. A segment with a wrong
// name is used under its number if no other segment has that number.
func (r *recovery) checkNumbers() error {
	l := r.log
	named := map[uint32]bool{}
	for _, s := range l.segments {
		if s.named() {
			named[s.number] = true
		}
	}
	return r.keep(func(s *segment) (string, bool) {
		if s.named() {
			return "", true
		}
		alone := !named[s.number]
		named[s.number] = true
		return fmt.Sprintf("the file is that of segment %d", s.number), alone
	})
}

// named reports whether a segment has the name that it should have.
func (s *segment) named() bool { return s.name == segmentName(s.number) }

// checkStore sets the store of the log to that of most segments, or that of the first
// segment if there are several such stores.
func (r *recovery) checkStore() error {
	l := r.log
	count, most := map[[storeSize]byte]int{}, 0
	for _, s := range l.segments {
		if !s.lost {
			count[s.store]++
			most = max(most, count[s.store])
		}
	}
	for _, s := range slices.Backward(l.segments) {
		if !s.lost && count[s.store] == most {
			l.store = s.store
		}
	}
	return r.keep(func(s *segment) (string, bool) {
		if s.lost || s.store == l.store {
			return "", true
		}
		return "the file is of another store", false
	})
}

// keep removes segments that do not belong to the log, and reports as damage those for
// which belongs returns a reason.
func (r *recovery) keep(belongs func(s *segment) (reason string, ok bool)) error {
	all := r.log.segments
	var kept []*segment
	var failed error
	for _, s := range all {
		reason, ok := belongs(s)
		if reason != "" && failed == nil {
			failed = r.found(&DamageError{File: s.name, Reason: reason})
		}
		if ok {
			kept = append(kept, s)
		} else {
			r.foreign = append(r.foreign, s)
		}
	}
	if failed == nil {
		r.log.segments = kept
	}
	return failed
}
