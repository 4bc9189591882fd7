package store

import (
	"strconv"
	"strings"
)

// Receipt is the proof of one delivery. No two deliveries ever have the same one,
// so a settle with an old receipt differs from one with the current receipt.
type Receipt struct {
	ID      ID
	Attempt int  // the delivery's number, from 1; it grows with every delivery of the message
	Keyed   bool // the message has a key, or names one as the dead letter of an occurrence: its end concerns more than itself
}

// maxReceipt is the length of the longest Receipt as text.
const maxReceipt = idLen + len(":9223372036854775807k")

// String returns "id:attempt", with a "k" behind it for a message with a key.
func (r Receipt) String() string {
	var b [maxReceipt]byte
	return string(r.AppendTo(b[:0]))
}

// AppendTo appends what String returns to b.
func (r Receipt) AppendTo(b []byte) []byte {
	b = strconv.AppendInt(append(r.ID.AppendTo(b), ':'), int64(r.Attempt), 10)
	if r.Keyed {
		b = append(b, 'k')
	}
	return b
}

// ParseReceipt reads what Receipt.String wrote. Anything else is an *Error of kind
// ErrInvalid.
func ParseReceipt(s string) (Receipt, error) {
	text, attempt, ok := strings.Cut(s, ":")
	id, err := ParseID(text)
	attempt, keyed := strings.CutSuffix(attempt, "k")
	if !ok || err != nil || attempt == "" || attempt[0] < '1' || attempt[0] > '9' { // no sign, no 0 in front
		return Receipt{}, Invalid("receipt", "%s is not a receipt", quote(s))
	}
	n, err := strconv.Atoi(attempt)
	if err != nil {
		return Receipt{}, Invalid("receipt", "%s is not a receipt", quote(s))
	}
	return Receipt{ID: id, Attempt: n, Keyed: keyed}, nil
}
