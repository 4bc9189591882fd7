package store

import (
	"strconv"
	"strings"
)

// Receipt is the proof of one delivery. No two deliveries ever have the same one,
// so a settle with an old receipt can be told from one with the current receipt.
type Receipt struct {
	ID      ID
	Attempt int  // the delivery's number, from 1
	Keyed   bool // the message has a key, which must be freed with it
}

// String returns "id:attempt", with a "k" behind it for a message with a key.
func (r Receipt) String() string {
	s := r.ID.String() + ":" + strconv.Itoa(r.Attempt)
	if r.Keyed {
		s += "k"
	}
	return s
}

// ParseReceipt reads what Receipt.String wrote. Anything else is an *Error of kind
// ErrInvalid.
func ParseReceipt(s string) (Receipt, error) {
	text, attempt, ok := strings.Cut(s, ":")
	id, err := ParseID(text)
	if !ok || err != nil {
		return Receipt{}, invalid("receipt", "%s is not a receipt", quote(s))
	}
	attempt, keyed := strings.CutSuffix(attempt, "k")
	n, err := strconv.Atoi(attempt)
	r := Receipt{ID: id, Attempt: n, Keyed: keyed}
	if err != nil || n < 1 || r.String() != s {
		return Receipt{}, invalid("receipt", "%s is not a receipt", quote(s))
	}
	return r, nil
}
