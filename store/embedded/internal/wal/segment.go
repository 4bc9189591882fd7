package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

const (
	// Version of the format, of frames and of what this project writes into them.
	Version = 1

	segmentMagic = "DUEQLOG\n"
	segmentHead  = 32 // bytes of a segment's header
	saltSize     = 8
	logSuffix    = ".log"
	newSuffix    = ".new" // not in use yet
	// damagedSuffix is that of segments that were salvaged, for whoever wants to look.
	damagedSuffix = ".damaged"
	nameDigits    = 10
)

// segment is one file of the log. Its number never changes and is never used again.
type segment struct {
	sealer
	number    uint32
	file      disk.File
	base      Position // of its first byte
	size      int      // bytes appended, written or not, header included
	limit     int      // the size at which it is full
	allocated int64    // bytes of the file that cannot fail for want of space
}

// end returns the position behind the last byte.
func (s *segment) end() Position { return s.base + Position(s.size) }

func segmentName(number uint32) string { return fmt.Sprintf("%0*d%s", nameDigits, number, logSuffix) }

// segmentNumber returns the number in a segment's name; ok is false for other names.
func segmentNumber(name string) (number uint32, ok bool) {
	text, ok := strings.CutSuffix(name, logSuffix)
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), ok && err == nil && segmentName(uint32(n)) == name
}

// header returns a segment's first bytes: the magic (8 bytes), the version (2), the
// header's size (2), the number (4), the salt (8), zeros (4), the CRC-32C of all
// that (4).
func (s *segment) header() []byte {
	h := make([]byte, 0, segmentHead)
	h = append(h, segmentMagic...)
	h = binary.BigEndian.AppendUint16(h, Version)
	h = binary.BigEndian.AppendUint16(h, segmentHead)
	h = binary.BigEndian.AppendUint32(h, s.number)
	h = append(h, s.salt[:]...)
	h = append(h, 0, 0, 0, 0)
	return binary.BigEndian.AppendUint32(h, checksum(h))
}

var errHeader = errors.New("the header is damaged")

// readHeader sets s.salt from a segment's bytes.
func (s *segment) readHeader(b []byte) error {
	if len(b) < segmentHead {
		return errHeader
	}
	version := binary.BigEndian.Uint16(b[8:])
	if binary.BigEndian.Uint32(b[28:]) != checksum(b[:28]) || string(b[:8]) != segmentMagic {
		return errHeader
	}
	if version != Version {
		return fmt.Errorf("format version %d, this program reads %d", version, Version)
	}
	if number := binary.BigEndian.Uint32(b[12:]); number != s.number {
		return fmt.Errorf("the file is that of segment %d", number)
	}
	copy(s.salt[:], b[16:])
	return nil
}

// createSegment makes a file with nothing but a header, durably. It gets its name
// when all of it is on disk, so a segment with a bad header is never a crash.
func createSegment(d disk.Disk, s *segment, space int64) (err error) {
	if _, err := rand.Read(s.salt[:]); err != nil {
		return err
	}
	name := segmentName(s.number)
	f, err := d.Create(name + newSuffix)
	if errors.Is(err, fs.ErrExist) { // left by a try that failed
		if err := d.Remove(name + newSuffix); err != nil {
			return err
		}
		f, err = d.Create(name + newSuffix)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), d.Remove(name+newSuffix))
		}
	}()
	if err := f.Allocate(space); err != nil {
		return err
	}
	if _, err := f.WriteAt(s.header(), 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := d.Rename(name+newSuffix, name); err != nil {
		return err
	}
	s.file, s.size, s.allocated = f, segmentHead, space
	return nil
}
