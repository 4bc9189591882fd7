package store

import "crypto/sha256"

// DedupID stands for a name that a sender gives to a message so that a repetition is
// recognised: see [PushRequest]. The zero value is none.
type DedupID [16]byte

// NewDedupID returns what stands for a name: the first half of its SHA-256. So all take the
// same space, however long the names are.
func NewDedupID(name string) DedupID {
	sum := sha256.Sum256([]byte(name))
	return DedupID(sum[:len(DedupID{})])
}

// IsZero reports whether d is none.
func (d DedupID) IsZero() bool { return d == DedupID{} }

// AppendTo appends 26 characters of those that an ID has, or nothing for none, to b.
func (d DedupID) AppendTo(b []byte) []byte {
	if d.IsZero() {
		return b
	}
	return ID(d).AppendTo(b)
}
