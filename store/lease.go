package store

import (
	"strconv"
	"strings"
)

// Receipt is the proof of one delivery. No two deliveries ever have the same one,
// so a settle with an old receipt differs from one with the current receipt.
type Receipt struct {
	ID      ID   `json:"id,omitzero"`
	Attempt int  `json:"attempt,omitzero"` // the delivery's number, from 1; it grows with every delivery of the message
	Keyed   bool `json:"keyed,omitzero"`   // the message has a key, or names one as the dead letter of an occurrence: its end also changes the state of the key
}

// maxReceipt is the length of the longest Receipt as text.
const maxReceipt = idLen + len(":9223372036854775807k")

// String returns "id:attempt", with a "k" behind it for a message with a key.
func (r Receipt) String() string {
	var b [maxReceipt]byte
	return string(r.AppendTo(b[:0]))
}

// AppendTo appends the text of String to b.
func (r Receipt) AppendTo(b []byte) []byte {
	b = strconv.AppendInt(append(r.ID.AppendTo(b), ':'), int64(r.Attempt), 10)
	if r.Keyed {
		b = append(b, 'k')
	}
	return b
}

// ParseReceipt parses the text of Receipt.String. For any other text it returns an *Error of kind
// ErrInvalid.
func ParseReceipt(s string) (Receipt, error) {
	text, attempt, ok := strings.Cut(s, ":")
	id, err := ParseID(text)
	attempt, keyed := strings.CutSuffix(attempt, "k")
	if !ok || err != nil || attempt == "" || attempt[0] < '1' || attempt[0] > '9' { // no sign, no 0 in front
		return Receipt{}, Unfit("receipt", s, " is not a receipt")
	}
	n, err := strconv.Atoi(attempt)
	if err != nil {
		return Receipt{}, Unfit("receipt", s, " is not a receipt")
	}
	return Receipt{ID: id, Attempt: n, Keyed: keyed}, nil
}

// Suspicion says, by the earlier leases of a message, whether a handler that runs on it may end
// its process. The consumer must record the start (see [ExtendRequest].Start), and get OK, before
// it runs the handler of a message that is not [Unsuspected], and of one whose next failure would
// be its last.
//
// A lease that runs out counts as a failure only if its start was recorded for that delivery. A
// message that was not started, because it waited for a worker of a process that died, loses no
// attempt. So a message whose handler ends its process each time is dead after MaxAttempts
// failures and at most one delivery more, its first.
type Suspicion uint8

// The suspicions. Nack, Snooze, Reject and a Release after the start make a message Unsuspected:
// its handler has returned. A Release before the start changes nothing.
const (
	// Unsuspected: no lease has run out since a handler returned.
	Unsuspected Suspicion = iota
	// Suspect: a lease ran out, and it is not known whether the handler had started.
	Suspect
	// Crashed: a lease ran out after the start. The message may have ended the process, so a
	// consumer must not run its handler beside that of another crashed message.
	Crashed
)

// CrashDelay returns the delay in ms after which a message is due again when its lease ran out
// after the start: from 0 to less than the smaller of 100 * 2^failures and 10,000. failures
// includes this one. The delay depends only on the arguments, so that it is the same in every
// store, and differs between messages, so that those which were leased together are not due at
// the same time again.
func CrashDelay(id ID, attempt, failures int) int64 {
	const (
		prime   = 65521 // below 2^16: every product below is exact in a double, too
		base    = 31
		unit    = 100 // ms
		doubled = 7   // doublings: 100 ms * 2^7 is above the limit
		most    = 10_000
	)
	var text [idLen]byte
	h := int64(0)
	for _, c := range id.AppendTo(text[:0]) {
		h = (h*base + int64(c)) % prime
	}
	h = h * (2*int64(attempt) + 1) % prime
	return h % min(int64(unit)<<min(failures, doubled), most)
}

// NeedsStart reports whether the start must be recorded before the handler of d runs: the
// message is suspected, or its next failure would be its last.
func (d *Delivery) NeedsStart() bool {
	return d.Suspicion != Unsuspected || d.Failures+1 >= d.MaxAttempts
}

// ExtendRequest extends leases.
//
// The Code of each receipt: OK; Gone (the message does not exist any more); LeaseLost (another
// delivery may have begun; nothing was changed); Cancelled (the lease was extended, but
// cancellation was requested and the holder should stop). A lease that has run out can be
// extended for as long as no claim has put its message back.
type ExtendRequest struct {
	Receipts []Receipt `json:"receipts,omitzero"` // 1 to MaxBatch
	Lease    int64     `json:"lease,omitzero"`    // span from now to the new end of the leases, MinLease to MaxLease
	// Start records that the handlers of these deliveries are about to run: from then on, a
	// lease that runs out is a failure (see [Suspicion]).
	Start bool `json:"start,omitzero"`
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r ExtendRequest) Validate() error {
	if err := validateCount("receipts", len(r.Receipts), MaxBatch); err != nil {
		return err
	}
	for _, receipt := range r.Receipts {
		if err := receipt.validate(); err != nil {
			return err
		}
	}
	return validateLease(r.Lease)
}

func (r Receipt) validate() error {
	if r.ID.IsZero() || r.Attempt < 1 {
		return Unfit("receipt", r.String(), " is not a receipt")
	}
	return nil
}
