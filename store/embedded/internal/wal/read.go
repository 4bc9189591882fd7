package wal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// Read fills b with the bytes at a spot: from memory if they were appended recently, else
// from the file. It does not check them; the caller must.
func (l *Log) Read(b []byte, at Spot) error {
	l.mu.Lock()
	recent := l.window.read(b, at.Segment, int(at.Offset))
	s := l.segment(at.Segment)
	l.mu.Unlock()
	if recent {
		return nil
	}
	if s == nil {
		return fmt.Errorf("segment %d: %w", at.Segment, ErrNoSegment)
	}
	_, err := s.file.ReadAt(b, int64(at.Offset))
	if !errors.Is(err, os.ErrClosed) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.segment(at.Segment) == nil { // it was dropped meanwhile
		return fmt.Errorf("segment %d: %w", at.Segment, ErrNoSegment)
	}
	return ErrClosed
}

// Recent returns the spot from which on everything appended was in memory when it was
// called.
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
// segment into memory first, which it reuses for the next scan: visit must not keep body.
// Damage that was salvaged when the log was opened is skipped; other damage is a
// *DamageError, because the payloads of live messages may be there.
func (l *Log) Scan(visit func(at Spot, body []byte) error) error {
	l.mu.Lock()
	s := l.segments[0]
	end, size := s.end(), s.size
	l.mu.Unlock()
	if err := l.Written(end); err != nil {
		return err
	}
	buffer, _ := l.scanned.Get().(*[]byte)
	if buffer == nil || cap(*buffer) < size {
		buffer = new(make([]byte, size))
	}
	defer l.scanned.Put(buffer)
	data := (*buffer)[:size]
	unreadable := readBlocks(s.file, data)
	if len(unreadable) > 0 && errors.Is(unreadable[0].err, os.ErrClosed) {
		return ErrClosed
	}
	for at := segmentHead; at < size; {
		f, ok := s.open(data, at)
		if !ok && !l.salvaged(s.name) {
			return &DamageError{File: s.name, Offset: at, Reason: "no intact frame, where one had been durable"}
		}
		if !ok {
			if f, ok = s.next(data, at+1); !ok {
				return nil
			}
		}
		at = f.end()
		if f.own || len(f.body) == 0 {
			continue
		}
		if err := visit(Spot{s.number, uint32(f.at + frameHead)}, f.body); err != nil {
			return err
		}
	}
	return nil
}

// salvaged reports whether a file was damaged when the log was opened.
func (l *Log) salvaged(name string) bool {
	return slices.ContainsFunc(l.damage, func(d DamageError) bool { return d.File == name })
}

// Drop removes the oldest segment, of which nothing may be needed any more. First it makes
// everything appended durable, and a frame that says that the log begins with the next
// segment: without that frame, a lost segment would look like a dropped one. It returns when
// the removal is durable: if a power cut could restore the segment after the next one was
// dropped, messages that the next one had removed would be restored as well.
//
// When it fails with ErrFull, or because ctx ended, the segment is still there.
func (l *Log) Drop(ctx context.Context) error {
	l.dropping.Lock()
	defer l.dropping.Unlock()
	if err := l.Admit(frameHead+ownBody, Merge); err != nil {
		return err
	}
	l.mu.Lock()
	s := l.segments[0]
	end := l.appendOwn(ownBegins, l.segments[1].number)
	l.mu.Unlock()
	l.Release(frameHead + ownBody)
	if err := l.Synced(ctx, end); err != nil {
		return err
	}
	l.mu.Lock()
	l.segments = append(l.segments[:0:0], l.segments[1:]...)
	l.mu.Unlock()
	err := l.discard(s.name)
	if err == nil {
		err = l.disk.Sync()
	}
	if err != nil {
		return l.fail(err)
	}
	return l.release(s)
}

// CheckFiles stops the log if one of its files was removed by another program: writes to it
// would be lost. It must not be called while Drop runs.
func (l *Log) CheckFiles() error {
	l.mu.Lock()
	segments := l.segments
	l.mu.Unlock()
	names, err := l.disk.List()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, s := range segments {
		if !slices.Contains(names, s.name) {
			return l.fail(fmt.Errorf("%s was removed while the log was in use: %w", s.name, fs.ErrNotExist))
		}
	}
	return nil
}

// release closes the file of a dropped segment when no goroutine is about to sync it, write
// to it or end it. It may be the segment that was written to last.
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
	if l.salvaged(name) {
		return l.disk.Rename(name, name+damagedSuffix)
	}
	return l.disk.Remove(name)
}

const (
	readBlock = 1 << 20 // bytes read at a time
	readPage  = 4 << 10 // bytes read at a time where that fails: disks rarely lose less
)

// span is a part of a file.
type span struct {
	from, upto int
	err        error // why it cannot be read
}

// readBlocks reads the first bytes of a file. What cannot be read, or is not there any
// more, is zeros.
func readBlocks(f disk.File, data []byte) (unreadable []span) {
	for at := 0; at < len(data); at += readBlock {
		upto := min(at+readBlock, len(data))
		if readSpan(f, data, at, upto) == nil {
			continue
		}
		for page := at; page < upto; page += readPage {
			end := min(page+readPage, upto)
			err := readSpan(f, data, page, end)
			switch {
			case err == nil:
				continue
			case len(unreadable) > 0 && unreadable[len(unreadable)-1].upto == page:
				unreadable[len(unreadable)-1].upto = end
			default:
				unreadable = append(unreadable, span{page, end, err})
			}
		}
	}
	return unreadable
}

func readSpan(f disk.File, data []byte, from, upto int) error {
	n, err := f.ReadAt(data[from:upto], int64(from))
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		clear(data[from+n : upto])
		return nil
	}
	clear(data[from:upto])
	return err
}
