package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// ID identifies a message, and is never reused. It is a UUIDv7 whose last 16 bits are the
// number of the message's partition, so an id alone is enough to find its message.
// Ids of one process are strictly increasing, which makes messages with the same
// due time first in, first out.
type ID [16]byte

// idLen is the length of an ID as text.
const idLen = 26

// idText is the alphabet of Crockford's base 32 in lower case: texts sort like the bytes, have no
// padding, and no letter that looks like a digit.
const idText = "0123456789abcdefghjkmnpqrstvwxyz"

// A character of an id has idBits bits of it. The last character has idSpare bits that are not
// used.
const idBits, idSpare = 5, 2

// idDigits are the values of the characters from '0' to 'z', 0xff for those that no id has.
const idDigits = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x0a" +
	"\x0b\x0c\x0d\x0e\x0f\x10\x11\xff\x12\x13\xff\x14\x15\xff\x16\x17\x18\x19\x1a\xff" +
	"\x1b\x1c\x1d\x1e\x1f"

// ParseID parses the text of ID.String. For any other text it returns an *Error of kind
// ErrInvalid.
func ParseID(s string) (ID, error) {
	if len(s) != idLen {
		return ID{}, Unfit("id", s, " has %d characters, want %d", len(s), idLen)
	}
	id, ok := decodeID(s)
	if !ok {
		return ID{}, Unfit("id", s, " is not an id: want %d characters of 0-9 a-z without i, l, o, u", idLen)
	}
	if id.Partition() >= MaxPartitions {
		return ID{}, Unfit("id", s, " names partition %d, the highest is %d", id.Partition(), MaxPartitions-1)
	}
	return id, nil
}

// decodeID decodes base 32, without the copies that the general decoder makes.
func decodeID(s string) (id ID, ok bool) {
	const bits, spare = idBits, idSpare
	var high, low, digit uint64
	for i := range idLen {
		at := int(s[i]) - '0'
		if at < 0 || at >= len(idDigits) || idDigits[at] == 0xff {
			return ID{}, false
		}
		digit = uint64(idDigits[at])
		if i < idLen-1 {
			high, low = high<<bits|low>>(64-bits), low<<bits|digit
		}
	}
	if digit&(1<<spare-1) != 0 {
		return ID{}, false
	}
	high, low = high<<(bits-spare)|low>>(64-bits+spare), low<<(bits-spare)|digit>>spare
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	return id, true
}

// String returns the id as 26 characters that sort like the ids themselves.
func (id ID) String() string {
	var b [idLen]byte
	return string(id.AppendTo(b[:0]))
}

// AppendTo appends the text of String to b.
func (id ID) AppendTo(b []byte) []byte {
	const mask, used = 1<<idBits - 1, idBits - idSpare
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	var text [idLen]byte
	text[idLen-1] = idText[low<<idSpare&mask]
	high, low = high>>used, low>>used|high<<(64-used)
	for i := idLen - 2; i >= 0; i-- {
		text[i] = idText[low&mask]
		high, low = high>>idBits, low>>idBits|high<<(64-idBits)
	}
	return append(b, text[:]...)
}

// MarshalText returns the text of String.
func (id ID) MarshalText() ([]byte, error) { return id.AppendTo(nil), nil }

// UnmarshalText sets id to the one with the given text. It accepts every text of MarshalText, also
// that of an id whose partition cannot exist: no message has it.
func (id *ID) UnmarshalText(text []byte) error {
	decoded, ok := ID{}, false
	if len(text) == idLen {
		decoded, ok = decodeID(string(text))
	}
	if !ok {
		return Unfit("id", string(text), " is not an id")
	}
	*id = decoded
	return nil
}

// Partition returns the number of the partition that holds the message.
func (id ID) Partition() int { return int(binary.BigEndian.Uint16(id[14:])) }

// Time returns when the id was made, in unix ms by the clock of the process that
// made it.
func (id ID) Time() int64 { return int64(binary.BigEndian.Uint64(id[:8]) >> 16) }

// IsZero reports whether id is not set.
func (id ID) IsZero() bool { return id == ID{} }

// DedupID is the hash of a name that a sender gives to a message so that a repeated send is
// recognized: see [PushRequest]. The zero value is none.
type DedupID [16]byte

// NewDedupID returns the first half of the SHA-256 of a name. So all have the same size, however
// long the names are.
func NewDedupID(name string) DedupID {
	sum := sha256.Sum256([]byte(name))
	return DedupID(sum[:len(DedupID{})])
}

// IsZero reports whether d is none.
func (d DedupID) IsZero() bool { return d == DedupID{} }

// MarshalText returns d in the form of an ID.
func (d DedupID) MarshalText() ([]byte, error) { return ID(d).MarshalText() }

// UnmarshalText sets d to the one with the given text.
func (d *DedupID) UnmarshalText(text []byte) error { return (*ID)(d).UnmarshalText(text) }

// AppendTo appends d to b, as 26 characters in the form of an ID, or nothing if d is zero.
func (d DedupID) AppendTo(b []byte) []byte {
	if d.IsZero() {
		return b
	}
	return ID(d).AppendTo(b)
}

// Partition names one shard of a queue.
type Partition struct {
	Queue string
	Index int // 0 to MaxPartitions-1
}

// String returns "queue:index", for logs and errors.
func (p Partition) String() string { return fmt.Sprintf("%s:%d", p.Queue, p.Index) }

// Validate returns an *Error of kind ErrInvalid if no partition can be p.
func (p Partition) Validate() error {
	if err := ValidateQueue(p.Queue); err != nil {
		return err
	}
	if p.Index < 0 || p.Index >= MaxPartitions {
		return Outside("partition", p.Index, "0 to %d", MaxPartitions-1)
	}
	return nil
}
