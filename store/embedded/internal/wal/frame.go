package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// MaxBody bounds a frame's body, in bytes.
const MaxBody = 1<<lengthBits - 1

// The head of a frame is a CRC-32C and a word of 64 bits: from the highest, a checksum
// of the head alone (16), own (1), the length of the body (23), unsynced (24).
const (
	frameHead    = 12
	lengthBits   = 23
	unsyncedBits = 24
	ownBit       = 1 << (lengthBits + unsyncedBits)
	checkAt      = 48 // where the head's own checksum begins in the word
	unsyncedMost = 1<<unsyncedBits - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum continues a CRC-32C.
func checksum(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// sealer seals and opens the frames of one segment. The random salt of the segment and the
// offset of the frame are part of both checksums, so that a frame of another segment, or a
// message body that looks like a frame, is not accepted.
//
// The checksum of the head makes it possible to reject bytes that are not a frame without
// reading the body that they seem to have. The CRC-32C covers all 64 bits of the word and
// the body.
type sealer struct {
	salt [saltSize]byte
	sum  func(sum uint32, b []byte) uint32
}

// frame is an intact frame.
type frame struct {
	at     int // of its head, in its segment
	body   []byte
	own    bool // a frame of the log itself, not of its user
	synced int  // the segment was durable up to here when the frame was appended; 0: unknown
}

func (f *frame) end() int { return f.at + frameHead + len(f.body) }

// seal returns the head of a frame. The checksum of the body is known and f need not have
// the body, so that seal is cheap: it is called under the log's mutex.
func (s *sealer) seal(f *frame, sum uint32, length int) [frameHead]byte {
	word := uint64(length)<<unsyncedBits | uint64(min(f.at-f.synced, unsyncedMost))
	if f.own {
		word |= ownBit
	}
	word |= s.check(f.at, word) << checkAt
	var h [frameHead]byte
	binary.BigEndian.PutUint32(h[:], s.placed(sum, f.at, word))
	binary.BigEndian.PutUint64(h[4:], word)
	return h
}

// placed continues a checksum with the segment's salt, an offset and a word.
func (s *sealer) placed(sum uint32, at int, word uint64) uint32 {
	var b [saltSize + 4 + 8]byte
	copy(b[:], s.salt[:])
	binary.BigEndian.PutUint32(b[saltSize:], uint32(at))
	binary.BigEndian.PutUint64(b[saltSize+4:], word)
	return s.sum(sum, b[:])
}

// check returns the checksum of a head alone.
func (s *sealer) check(at int, word uint64) uint64 {
	return uint64(s.placed(0, at, word&(1<<checkAt-1)) & 0xffff)
}

// open returns the frame at an offset of its segment; ok is false if there is none, or only
// a part of it.
func (s *sealer) open(segment []byte, at int) (f frame, ok bool) {
	if len(segment)-at < frameHead {
		return frame{}, false
	}
	head := segment[at : at+frameHead]
	word := binary.BigEndian.Uint64(head[4:])
	length := int(word >> unsyncedBits & MaxBody)
	if length > len(segment)-at-frameHead || word>>checkAt != s.check(at, word) {
		return frame{}, false
	}
	body := segment[at+frameHead : at+frameHead+length]
	if binary.BigEndian.Uint32(head) != s.placed(s.sum(0, body), at, word) {
		return frame{}, false
	}
	f = frame{at: at, body: body, own: word&ownBit != 0}
	if unsynced := int(word & unsyncedMost); unsynced < unsyncedMost {
		f.synced = max(0, at-unsynced)
	}
	return f, true
}

// next returns the first intact frame at an offset or behind it.
func (s *sealer) next(segment []byte, at int) (f frame, ok bool) {
	for ; at+frameHead <= len(segment); at++ {
		if f, ok := s.open(segment, at); ok {
			return f, true
		}
	}
	return frame{}, false
}
