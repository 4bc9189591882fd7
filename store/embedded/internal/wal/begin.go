package wal

import (
	"crypto/rand"
	"errors"
)

// begin makes the log ready for appending. What was read counts as durable from then on,
// because answers may rest on it without anything being appended.
func (l *Log) begin(foreign []*segment) error {
	for _, s := range foreign {
		if err := errors.Join(s.file.Close(), l.disk.Rename(s.name, s.name+damagedSuffix)); err != nil {
			return err
		}
	}
	if len(l.segments) == 0 {
		if err := l.first(); err != nil {
			return err
		}
	}
	for i, s := range l.segments {
		if i > 0 {
			s.base = l.segments[i-1].end() - segmentHead
		}
		if !l.emptyFrom(i + 1) {
			continue // it was durable before the next was written to
		}
		if err := l.secure(s, l.segments[i+1:]); err != nil {
			return err
		}
	}
	for _, s := range l.segments[:len(l.segments)-1] {
		l.largest = max(l.largest, int64(s.size))
	}
	l.current = l.active()
	l.current.limit = l.limit(int64(l.current.end()))
	l.largest = max(l.largest, int64(l.current.limit), int64(l.current.size))
	l.written = l.current.end()
	l.synced = l.written
	if l.current.rests {
		l.rested = l.written
	} else if err := l.note(); err != nil {
		return err
	}
	return l.disk.Sync()
}

// first makes the first segment of a new log.
func (l *Log) first() error {
	if _, err := rand.Read(l.store[:]); err != nil {
		return err
	}
	l.highest = 1
	s, err := l.newSegment(1, nil, 1)
	if err != nil {
		return err
	}
	if err := createSegment(l.disk, s, allocateLeast); err != nil {
		return err
	}
	l.segments = append(l.segments, s)
	return nil
}

// secure makes durable what is not known to be: it writes the same bytes again. A sync
// alone would prove nothing. If an earlier one failed, the system may have marked what it
// could not write as clean, while reading still returns it.
//
// A segment that others follow gets the frame that says so, unless it has it.
func (l *Log) secure(s *segment, others []*segment) error {
	data, at := s.tail, s.size-len(s.tail)
	s.tail = nil
	if len(others) > 0 && s.next == 0 && !s.lost {
		body := ownFrame(ownEnd, others[0].number)
		head := s.seal(&frame{at: s.size, own: true, synced: s.proven}, l.sum(0, body), len(body))
		data = append(append(data, head[:]...), body...)
		s.size += len(head) + len(body)
	}
	if len(data) > 0 {
		if _, err := s.file.WriteAt(data, int64(at)); err != nil {
			return err
		}
	}
	return s.file.Sync()
}
