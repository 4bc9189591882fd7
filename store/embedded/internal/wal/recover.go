package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// DamageError is a place of the log that cannot be read although it was durable once.
type DamageError struct {
	File   string
	Offset int
	Bytes  int // 0: the whole file
	Reason string
}

// Error returns the place and what is wrong with it, on one line.
func (d *DamageError) Error() string {
	return fmt.Sprintf("%s, offset %d: %s", d.File, d.Offset, d.Reason)
}

// Open reads the log from its beginning, calls apply for each frame in order, and
// makes it ready for appending. A log that does not exist is made.
//
// A torn tail is cut off. Damage, or an error of apply, is returned as *DamageError;
// with Config.Salvage it is skipped and listed by [Log.Damage]. ErrGivenUp of apply is
// returned as it is.
func Open(c Config, apply func(at Spot, body []byte) error) (*Log, error) {
	l := newLog(c)
	if err := l.open(c.Salvage, apply); err != nil {
		for _, s := range l.segments {
			err = errors.Join(err, s.file.Close())
		}
		return nil, err
	}
	go l.commit()
	return l, nil
}

func (l *Log) open(salvage bool, apply func(at Spot, body []byte) error) error {
	if err := l.openSegments(); err != nil {
		return err
	}
	r := recovery{log: l, salvage: salvage, apply: apply}
	for i, s := range l.segments {
		if i > 0 && s.number != l.segments[i-1].number+1 {
			missing := &DamageError{File: segmentName(l.segments[i-1].number + 1), Reason: "the file is missing"}
			if err := r.found(missing); err != nil {
				return err
			}
		}
		if err := r.read(s, l.emptyFrom(i+1)); err != nil {
			return err
		}
	}
	return l.begin()
}

// openSegments opens the files of the log. A segment's size is that of its file until
// it has been read.
func (l *Log) openSegments() error {
	numbers, err := l.tidy()
	if err != nil {
		return err
	}
	for _, number := range numbers {
		f, err := l.disk.Open(segmentName(number))
		if err != nil {
			return err
		}
		s := &segment{number: number, file: f, sealer: sealer{sum: l.sum}}
		l.segments = append(l.segments, s)
		size, err := f.Size()
		if err != nil {
			return err
		}
		s.size = int(size)
	}
	return nil
}

// emptyFrom reports whether no segment from the i-th on has anything behind its header.
func (l *Log) emptyFrom(i int) bool {
	for _, s := range l.segments[i:] {
		if s.size > segmentHead {
			return false
		}
	}
	return true
}

// Damage returns what was skipped when the log was opened with Config.Salvage.
func (l *Log) Damage() []DamageError { return l.damage }

// tidy removes files that a crash may have left behind and returns the numbers of
// the segments in order.
func (l *Log) tidy() ([]uint32, error) {
	names, err := l.disk.List()
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, name := range names {
		if number, ok := segmentNumber(name); ok {
			numbers = append(numbers, number) // names of one length: their order is that of the numbers
		}
		if strings.HasSuffix(name, logSuffix+newSuffix) {
			if err := l.disk.Remove(name); err != nil {
				return nil, err
			}
		}
	}
	return numbers, nil
}

// recovery reads segments, the oldest first.
type recovery struct {
	log     *Log
	salvage bool
	apply   func(at Spot, body []byte) error
}

// found reports damage, or notes it when it is to be skipped.
func (r *recovery) found(d *DamageError) error {
	if !r.salvage {
		return d
	}
	r.log.logger.Error("skipping what is damaged",
		slog.String("file", d.File), slog.Int("offset", d.Offset), slog.Int("bytes", d.Bytes), slog.String("reason", d.Reason))
	r.log.damage = append(r.log.damage, *d)
	return nil
}

// read applies the frames of a segment. The last one with content may have a torn
// tail; the others were made durable before anything was written behind them.
func (r *recovery) read(s *segment, last bool) error {
	data, err := readAll(s.file)
	if err != nil {
		return err
	}
	if err := s.readHeader(data); err != nil {
		return r.found(&DamageError{File: segmentName(s.number), Bytes: len(data), Reason: err.Error()})
	}
	at := segmentHead
	for at < len(data) {
		f, ok := s.open(data, at)
		if ok {
			if err := r.applyFrame(s, f); err != nil {
				return err
			}
			at = f.end()
			continue
		}
		next, durable := s.proof(data, at)
		if last && !durable {
			return r.log.cut(s, at)
		}
		d := &DamageError{File: segmentName(s.number), Offset: at, Bytes: next - at, Reason: "no intact frame, where one had been durable"}
		if err := r.found(d); err != nil {
			return err
		}
		at = next
	}
	return nil
}

func (r *recovery) applyFrame(s *segment, f frame) error {
	if len(f.body) == 0 {
		return nil // written when the log was closed
	}
	if err := r.apply(Spot{s.number, uint32(f.at + frameHead)}, f.body); errors.Is(err, ErrGivenUp) {
		return err
	} else if err != nil {
		return r.found(&DamageError{File: segmentName(s.number), Offset: f.at, Bytes: f.end() - f.at, Reason: err.Error()})
	}
	return nil
}

// proof reports whether a place was durable once, as an intact frame behind it can
// tell, and where the next intact frame is, or the end.
func (s *segment) proof(data []byte, at int) (next int, durable bool) {
	f, ok := s.next(data, at+1)
	if !ok {
		return len(data), false
	}
	for next = f.at; ok; f, ok = s.next(data, f.end()) {
		if f.synced > at {
			return next, true
		}
	}
	return next, false
}

// cut cuts off a torn tail.
func (l *Log) cut(s *segment, at int) error {
	l.logger.Warn("cutting off the torn end of the log: it was being written when the process or the power went",
		slog.String("file", segmentName(s.number)), slog.Int("offset", at), slog.Int("bytes", s.size-at))
	s.size = at
	return errors.Join(s.file.Truncate(int64(at)), s.file.Sync())
}

// begin makes the log ready for appending. It makes durable what was read, since a
// caller may be told of it without anything being appended.
func (l *Log) begin() error {
	if len(l.segments) == 0 {
		s := &segment{number: 1, sealer: sealer{sum: l.sum}}
		if err := createSegment(l.disk, s, allocateLeast); err != nil {
			return err
		}
		l.segments = append(l.segments, s)
	}
	for i, s := range l.segments[1:] {
		s.base = l.segments[i].end()
	}
	for _, s := range l.segments[:len(l.segments)-1] {
		l.largest = max(l.largest, int64(s.size))
	}
	l.active().limit = l.limit(int64(l.active().end()))
	l.largest = max(l.largest, int64(l.active().limit), int64(l.active().size))
	l.current = l.active()
	l.written = l.current.end()
	l.synced = l.written
	for i, s := range l.segments {
		if !l.emptyFrom(i + 1) {
			continue // it was durable before the next was written to
		}
		if err := s.file.Sync(); err != nil {
			return err
		}
	}
	return l.disk.Sync()
}
