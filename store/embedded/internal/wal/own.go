package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The log has frames of its own. An empty frame is there only for the position up to which
// the segment was durable, which every frame has. The others have a kind and a number.
const (
	ownEnd    = 1 // the last frame of a segment: the segment with this number follows
	ownBegins = 2 // the log begins with this segment: older ones are not needed any more

	ownBody = 5
	// slack is kept free in every segment for the log's own frames, for which Admit is not
	// called: two rests and an end.
	slack = 2*frameHead + frameHead + ownBody
)

func ownFrame(kind byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{kind}, number)
}

// readOwn decodes a frame of the log's own.
func readOwn(body []byte) (kind byte, number uint32, err error) {
	if len(body) == 0 || body[0] != ownEnd && body[0] != ownBegins {
		return 0, 0, fmt.Errorf("a frame of the log of kind %.1x: %w", body, ErrNewer)
	}
	if len(body) != ownBody {
		return 0, 0, errors.New("a frame of the log with a good checksum does not make sense")
	}
	return body[0], binary.BigEndian.Uint32(body[1:]), nil
}

// rest makes everything durable and leaves proof of it: an empty frame, and a note in the
// segment's head. An unreadable part in front of them is then recognized as damage and not
// taken for a torn tail, even if one of the two is damaged or the file was cut short. It
// does nothing if nothing was appended since the last rest, or if there is no space.
func (l *Log) rest() error {
	if err := l.sync(); err != nil || !l.addRest() {
		return err
	}
	if err := l.write(l.End()); err != nil {
		return err
	}
	if err := l.note(); err != nil {
		return l.fail(err)
	}
	return l.sync()
}

// addRest appends the empty frame and reports whether it did.
func (l *Log) addRest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.active()
	if s.end() == l.rested || int64(s.size+l.promised+frameHead) > s.allocated {
		return false
	}
	l.append(0, nil, false)
	l.rested = s.end()
	return true
}

// note writes to the head of the segment that was written to last up to where it is on
// disk.
func (l *Log) note() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.current
	l.mu.Lock()
	synced := min(int(l.synced-s.base), s.size)
	l.mu.Unlock()
	return s.note(synced)
}

// note writes to the head of a segment up to where the segment is on disk. A torn note does
// no harm: an older note, or none, is also true.
func (s *segment) note(synced int) error {
	if synced <= segmentHead || s.lost {
		return nil
	}
	_, err := s.file.WriteAt(s.noted(synced), noteAt)
	return err
}

// noted returns the bytes of a note.
func (s *segment) noted(synced int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(synced))
	return binary.BigEndian.AppendUint32(b, s.sum(s.sum(0, s.sealer.salt[:]), b))
}

// readNote returns up to where a segment was on disk, 0 when it is not known.
func (s *segment) readNote(data []byte) int {
	if len(data) < noteAt+noteSize {
		return 0
	}
	synced := int(binary.BigEndian.Uint32(data[noteAt:]))
	if string(s.noted(synced)) != string(data[noteAt:noteAt+noteSize]) {
		return 0
	}
	return synced
}
