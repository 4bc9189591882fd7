package store

import (
	"encoding/base32"
	"encoding/binary"
)

// ID identifies a message for ever. It is a UUIDv7 whose last 16 bits are the
// number of the message's partition, so an id alone is enough to find its message.
// Ids of one process are strictly increasing, which makes messages with the same
// due time first in, first out.
type ID [16]byte

// idLen is the length of an ID as text.
const idLen = 26

// idText is Crockford's base 32 in lower case: no padding, the order of the text is
// the order of the bytes, and no letter that could be read as a digit.
var idText = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// ParseID reads what ID.String wrote. Anything else is an *Error of kind ErrInvalid.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != idLen {
		return ID{}, invalid("id", "%s has %d characters, want %d", quote(s), len(s), idLen)
	}
	if n, err := idText.Decode(id[:], []byte(s)); err != nil || n != len(id) || id.String() != s {
		return ID{}, invalid("id", "%s is not an id: want %d characters of 0-9 a-z without i, l, o, u", quote(s), idLen)
	}
	if id.Partition() >= MaxPartitions {
		return ID{}, invalid("id", "%s names partition %d, the highest is %d", quote(s), id.Partition(), MaxPartitions-1)
	}
	return id, nil
}

// String returns the id as 26 characters that sort like the ids themselves.
func (id ID) String() string { return idText.EncodeToString(id[:]) }

// Partition returns the number of the partition that holds the message.
func (id ID) Partition() int { return int(binary.BigEndian.Uint16(id[14:])) }

// Time returns when the id was made, in unix ms by the clock of the process that
// made it.
func (id ID) Time() int64 { return int64(binary.BigEndian.Uint64(id[:8]) >> 16) }

// IsZero reports whether id is not set.
func (id ID) IsZero() bool { return id == ID{} }
