package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// Read fills b with what stands at a spot: from memory if it was appended a moment
// ago, else from the file. The caller knows what it asks for, and checks it.
func (l *Log) Read(b []byte, at Spot) error {
	l.mu.Lock()
	recent := l.window.find(at.Segment, int(at.Offset), len(b))
	s := l.segment(at.Segment)
	l.mu.Unlock()
	if recent != nil {
		copy(b, recent)
		return nil
	}
	if s == nil {
		return fmt.Errorf("segment %d: %w", at.Segment, ErrNoSegment)
	}
	_, err := s.file.ReadAt(b, int64(at.Offset))
	if errors.Is(err, os.ErrClosed) {
		return ErrClosed
	}
	return err
}

// Recent returns the spot from which on everything appended is in memory, for a moment
// at least.
func (l *Log) Recent() Spot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.window.chunks) == 0 {
		s := l.active()
		return Spot{s.number, uint32(s.size)}
	}
	first := l.window.chunks[0]
	return Spot{first.segment.number, uint32(first.offset)}
}

// segment returns a segment by its number, nil if there is none, under mu. Numbers
// have no gaps unless the log was salvaged.
func (l *Log) segment(number uint32) *segment {
	i := int(number) - int(l.segments[0].number)
	if i >= 0 && i < len(l.segments) && l.segments[i].number == number {
		return l.segments[i]
	}
	for _, s := range l.segments {
		if s.number == number {
			return s
		}
	}
	return nil
}

// Ends returns the numbers of the oldest segment and of the one being appended to,
// which can be neither scanned nor dropped.
func (l *Log) Ends() (oldest, active uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[0].number, l.active().number
}

// Scan calls visit for the frames of the oldest segment, in order. It reads the whole
// segment into memory first.
func (l *Log) Scan(visit func(at Spot, body []byte) error) error {
	l.mu.Lock()
	s := l.segments[0]
	l.mu.Unlock()
	if err := l.Written(s.end()); err != nil {
		return err
	}
	data, err := readAll(s.file)
	if err != nil {
		return err
	}
	for at := segmentHead; ; {
		f, ok := s.next(data, at) // behind what was damaged, if the log was salvaged
		if !ok {
			return nil
		}
		at = f.end()
		if len(f.body) == 0 {
			continue // written when the log was closed
		}
		if err := visit(Spot{s.number, uint32(f.at + frameHead)}, f.body); err != nil {
			return err
		}
	}
}

// Drop removes the oldest segment. Nothing may need it any more, and what replaces it
// must be durable. It returns when the segment is gone for good: if a power cut
// could bring it back when its successor is gone, so would messages that the
// successor had removed.
func (l *Log) Drop() error {
	l.dropping.Lock()
	defer l.dropping.Unlock()
	l.mu.Lock()
	s := l.segments[0]
	l.segments = append(l.segments[:0:0], l.segments[1:]...)
	l.mu.Unlock()
	err := l.discard(segmentName(s.number))
	if err == nil {
		err = l.disk.Sync()
	}
	if err != nil {
		return l.fail(err)
	}
	return l.release(s)
}

// CheckFiles stops the log when one of its files was removed behind its back: what is
// written to it would be lost. Not while Drop is called.
func (l *Log) CheckFiles() error {
	l.mu.Lock()
	segments := l.segments
	l.mu.Unlock()
	names, err := l.disk.List()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, s := range segments {
		if name := segmentName(s.number); !slices.Contains(names, name) {
			return l.fail(fmt.Errorf("%s was removed while the log was in use: %w", name, fs.ErrNotExist))
		}
	}
	return nil
}

// release closes the file of a dropped segment when nobody is about to sync it, to write
// to it or to leave it for the next. It may be the one that was written to last.
func (l *Log) release(s *segment) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.current == s {
		l.mu.Lock()
		l.current = l.segments[0]
		l.mu.Unlock()
	}
	return s.file.Close()
}

// discard removes a segment's file, or puts it aside if there was damage in it.
func (l *Log) discard(name string) error {
	if slices.ContainsFunc(l.damage, func(d DamageError) bool { return d.File == name }) {
		return l.disk.Rename(name, name+damagedSuffix)
	}
	return l.disk.Remove(name)
}

func readAll(f disk.File) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}
