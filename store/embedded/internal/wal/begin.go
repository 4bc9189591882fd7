package wal

import (
	"crypto/rand"
	"log/slog"
	"strings"
)

// begin makes the log ready for appending. It is the first step of opening that changes
// files. It makes durable what was read, because calls may answer from it without appending
// a frame.
func (l *Log) begin(foreign []*segment) error {
	if err := l.tidy(foreign); err != nil {
		return err
	}
	if len(l.segments) == 0 {
		if err := l.first(); err != nil {
			return err
		}
	}
	// A segment that was begun may have its name in memory only. No frame may say that it
	// follows before that is on disk.
	if err := l.disk.Sync(); err != nil {
		return err
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
		if s.rests {
			continue // it has a note
		}
		if err := s.note(s.size); err != nil {
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
	}
	return nil
}

// tidy renames files that do not belong to this log, and removes segments that were not
// complete when the process ended.
func (l *Log) tidy(foreign []*segment) error {
	for _, s := range foreign {
		if err := l.disk.Rename(s.name, s.name+damagedSuffix); err != nil {
			return err
		}
	}
	names, err := l.disk.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		of, unfinished := strings.CutSuffix(name, newSuffix)
		if _, ok := segmentNumber(of); !ok || !unfinished {
			continue
		}
		if err := l.disk.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// first creates the first segment of a new log.
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

// secure makes the end of a segment durable that is not known to be durable: it writes the
// same bytes again. A sync alone would prove nothing: if an earlier sync failed, the system
// may have marked the pages that it could not write as clean, and reads still return them.
// The torn tail is cut off.
//
// A segment that another one follows gets an end frame, unless it has one.
func (l *Log) secure(s *segment, others []*segment) error {
	if s.torn > 0 {
		l.logger.Warn("cutting off the torn end of the log: it was being written when the process or the power went",
			slog.String("file", s.name), slog.Int("offset", s.size), slog.Int("bytes", s.torn))
		if err := s.file.Truncate(int64(s.size)); err != nil {
			return err
		}
	}
	data, at := s.tail, s.size-len(s.tail)
	s.tail = nil
	if len(others) > 0 && s.follower == 0 && !s.lost {
		body := ownFrame(ownEnd, others[0].number)
		head := s.seal(&frame{at: s.size, own: true, synced: s.proven}, l.sum(0, body), len(body))
		data = append(append(data, head[:]...), body...)
		s.size += len(head) + len(body)
	}
	if len(data) > 0 {
		if err := s.file.Rewrite(data, int64(at)); err != nil {
			return err
		}
	}
	return s.file.Sync()
}
