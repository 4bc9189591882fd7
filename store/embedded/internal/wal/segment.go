package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

const (
	// Version of the format: of segments, frames and their bodies.
	Version = 1

	segmentMagic = "DUEQLOG\n"
	headerSize   = 64
	versionAt    = 8
	sizeAt       = 10
	storeSize    = 16
	saltSize     = 8
	noteAt       = 512  // offset of the note
	noteSize     = 8    // bytes of it
	copyAt       = 4096 // offset of the second copy of the header: another page
	segmentHead  = copyAt + headerSize

	// segmentMost is more bytes than any segment has: a larger file is not a segment, and
	// might not fit into memory.
	segmentMost = math.MaxInt32

	// Suffix is that of the names of segments.
	Suffix    = ".log"
	newSuffix = ".new" // not in use yet
	// damagedSuffix is that of segments that were salvaged, kept for inspection.
	damagedSuffix = ".damaged"
	nameDigits    = 10
)

// ErrNewer means that a newer version of this program wrote something that this one does
// not know. It is never treated as damage.
var ErrNewer = errors.New("written by a newer version of dueq")

// identity is the content of a segment's header. It never changes.
type identity struct {
	number uint32          // never used again
	store  [storeSize]byte // random, the same in all segments of a store
	salt   [saltSize]byte  // random, see sealer
	before [saltSize]byte  // salt of the segment before
	oldest uint32          // number of the oldest segment when this one was made
}

// segment is one file of the log.
type segment struct {
	identity
	sealer
	name      string // of its file
	file      disk.File
	base      Position // of its first byte
	size      int      // bytes appended, written or not, head included
	limit     int      // the size at which it is full
	allocated int64    // bytes of the file that can be written even if the disk is full

	// Known since the segment was read, when the log was opened.
	surplus  int64  // bytes of the file that are not read
	lost     bool   // no header can be read
	follower uint32 // number of the segment that follows, if its last frame says so
	rests    bool   // its last frame is an empty one
	proven   int    // up to here it is known to be on disk
	tail     []byte // what is behind that
	torn     int    // bytes of the file behind that, which are to be cut off
}

// newSegment returns a segment that follows another, which is nil for the first.
func (l *Log) newSegment(number uint32, previous *segment, oldest uint32) (*segment, error) {
	s := &segment{name: segmentName(number)}
	s.number, s.store, s.oldest = number, l.store, oldest
	if previous != nil {
		s.before = previous.identity.salt
	}
	_, err := rand.Read(s.identity.salt[:])
	s.sealer = sealer{salt: s.identity.salt, sum: l.sum}
	return s, err
}

// end returns the position behind the last byte.
func (s *segment) end() Position { return s.base + Position(s.size) }

func segmentName(number uint32) string { return fmt.Sprintf("%0*d%s", nameDigits, number, Suffix) }

// segmentNumber returns the number in a segment's name; ok is false for other names.
func segmentNumber(name string) (number uint32, ok bool) {
	text, ok := strings.CutSuffix(name, Suffix)
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), ok && err == nil && segmentName(uint32(n)) == name
}

// header returns the bytes of a header: docs/FILE_FORMAT.md.
func (i *identity) header() []byte {
	h := make([]byte, 0, headerSize)
	h = append(h, segmentMagic...)
	h = binary.BigEndian.AppendUint16(h, Version)
	h = binary.BigEndian.AppendUint16(h, headerSize)
	h = binary.BigEndian.AppendUint32(h, i.number)
	h = append(h, i.store[:]...)
	h = append(h, i.salt[:]...)
	h = append(h, i.before[:]...)
	h = binary.BigEndian.AppendUint32(h, i.oldest)
	h = append(h, make([]byte, headerSize-4-len(h))...)
	return binary.BigEndian.AppendUint32(h, checksum(0, h))
}

var errHeader = errors.New("the header is damaged")

// readHeader reads a header at the beginning of b. A version that is not known is
// ErrNewer only if the checksum is right, which is in the same place in all versions.
func readHeader(b []byte) (identity, error) {
	var i identity
	if len(b) < headerSize || string(b[:versionAt]) != segmentMagic {
		return i, errHeader
	}
	version, size := binary.BigEndian.Uint16(b[versionAt:]), int(binary.BigEndian.Uint16(b[sizeAt:]))
	if size < headerSize || size > len(b) || binary.BigEndian.Uint32(b[size-4:]) != checksum(0, b[:size-4]) {
		return i, errHeader
	}
	if version != Version {
		return i, fmt.Errorf("format version %d, this program reads version %d: %w", version, Version, ErrNewer)
	}
	i.number = binary.BigEndian.Uint32(b[12:])
	copy(i.store[:], b[16:])
	copy(i.salt[:], b[32:])
	copy(i.before[:], b[40:])
	i.oldest = binary.BigEndian.Uint32(b[48:])
	return i, nil
}

// head returns the bytes of a segment before its first frame.
func (i *identity) head() []byte {
	b := make([]byte, segmentHead)
	copy(b, i.header())
	copy(b[copyAt:], i.header())
	return b
}

// createSegment makes a file with nothing but a head, durably. It gets its name
// when all of it is on disk, so a segment with a bad header is never a crash.
func createSegment(d disk.Disk, s *segment, space int64) (err error) {
	f, err := d.Create(s.name + newSuffix)
	if errors.Is(err, fs.ErrExist) { // left by a try that failed
		if err := d.Remove(s.name + newSuffix); err != nil {
			return err
		}
		f, err = d.Create(s.name + newSuffix)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), d.Remove(s.name+newSuffix))
		}
	}()
	if err := f.Allocate(space); err != nil {
		return err
	}
	if _, err := f.WriteAt(s.head(), 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := d.Rename(s.name+newSuffix, s.name); err != nil {
		return err
	}
	s.file, s.size, s.allocated = f, segmentHead, space
	return nil
}
