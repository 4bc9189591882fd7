package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// MaxBody bounds a frame's body, in bytes.
const MaxBody = 1 << 23

const (
	frameHead  = 12   // bytes before the body
	frameMark  = 0xd7 // the highest byte of the length: few places look like a frame
	lengthBits = 24
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is CRC-32C.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// sealer seals and opens the frames of one segment. The salt, which is random, and
// the frame's place go into the checksum: bytes that once were a frame elsewhere,
// or that a message's body makes look like one, are none here.
type sealer struct {
	salt [saltSize]byte
	sum  func([]byte) uint32
}

// frame is an intact frame.
type frame struct {
	at     int // of its header, in its segment
	body   []byte
	synced int // up to where the segment was durable when the frame was appended
}

func (f frame) end() int { return f.at + frameHead + len(f.body) }

// seal returns what stands before a body whose checksum is known. It is cheap, for
// it has to be made under the log's mutex.
func (s *sealer) seal(sum uint32, length, at, synced int) [frameHead]byte {
	var h [frameHead]byte
	binary.BigEndian.PutUint32(h[4:], uint32(frameMark<<lengthBits|length))
	binary.BigEndian.PutUint32(h[8:], uint32(synced))
	binary.BigEndian.PutUint32(h[:], sum^s.placed(h[4:], at))
	return h
}

// placed returns the checksum of a frame's place, length and synced.
func (s *sealer) placed(lengthAndSynced []byte, at int) uint32 {
	var b [saltSize + 4 + 8]byte
	copy(b[:], s.salt[:])
	binary.BigEndian.PutUint32(b[saltSize:], uint32(at))
	copy(b[saltSize+4:], lengthAndSynced)
	return s.sum(b[:])
}

// open returns the frame at a place in its segment; ok is false if there is none, or
// not all of it.
func (s *sealer) open(segment []byte, at int) (f frame, ok bool) {
	if len(segment)-at < frameHead {
		return frame{}, false
	}
	head := segment[at : at+frameHead]
	word := binary.BigEndian.Uint32(head[4:])
	length := int(word & (1<<lengthBits - 1))
	if word>>lengthBits != frameMark || length > MaxBody || length > len(segment)-at-frameHead {
		return frame{}, false
	}
	body := segment[at+frameHead : at+frameHead+length]
	if binary.BigEndian.Uint32(head) != s.sum(body)^s.placed(head[4:], at) {
		return frame{}, false
	}
	return frame{at: at, body: body, synced: int(binary.BigEndian.Uint32(head[8:]))}, true
}

// next returns the first intact frame at a place or behind it.
func (s *sealer) next(segment []byte, at int) (f frame, ok bool) {
	for ; at+frameHead <= len(segment); at++ {
		if f, ok := s.open(segment, at); ok {
			return f, true
		}
	}
	return frame{}, false
}
