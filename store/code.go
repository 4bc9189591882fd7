package store

import "fmt"

// Code is the result of one item of a batch.
type Code int

// The codes. The numbers are what redisstore's scripts return.
const (
	CodeOK        Code = 0
	CodeDuplicate Code = 1  // the key belongs to another live message
	CodeConflict  Code = 2  // the id belongs to a different message
	CodeFull      Code = 3  // the partition is full: see Settings.LivePerPartition
	CodeTooFar    Code = 4  // the due time is more than MaxDelay ahead
	CodeStale     Code = 5  // the call is a delayed duplicate of an older one; nothing was done
	CodeNotFound  Code = 6  // no live message has this id or key
	CodeRunning   Code = 7  // the message is leased and was not moved; a cancel was recorded for its holder
	CodeDead      Code = 8  // the message is dead, or died now
	CodeGone      Code = 9  // the message does not exist any more
	CodeLeaseLost Code = 10 // the receipt is not of the current delivery
	CodeCancelled Code = 11 // cancellation of the message was requested
	CodeExpires   Code = 12 // the TTL ends before the due time
	CodeChanged   Code = 13 // the message has another schedule
	CodeKnown     Code = 14 // the dedup id belongs to another message, live or remembered
	CodeMoved     Code = 15 // nothing was done: the message belongs to another partition since the queue has grown
)

// String returns the name of the code, as used in metrics and logs.
func (c Code) String() string {
	names := [...]string{
		"ok", "duplicate", "conflict", "full", "too_far", "stale",
		"not_found", "running", "dead", "gone", "lease_lost", "cancelled", "expires", "changed", "known", "moved",
	}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("code(%d)", int(c))
	}
	return names[c]
}

// Err returns the error that a code means for a caller that stores, moves, redrives or removes a
// message. It wraps an error of this package and is nil for CodeOK.
func (c Code) Err() error {
	switch c {
	case CodeOK:
		return nil
	case CodeDuplicate:
		return &Error{Field: "key", Err: ErrDuplicate}
	case CodeConflict:
		return &Error{Field: "id", Err: fmt.Errorf("belongs to a message with other content: %w", ErrDuplicate)}
	case CodeKnown:
		return &Error{Field: "dedup id", Err: ErrDuplicate}
	case CodeFull:
		return ErrQueueFull
	case CodeTooFar:
		return &Error{Field: "due", Err: fmt.Errorf("is more than 10 years ahead: %w", ErrInvalid)}
	case CodeExpires:
		return &Error{Field: "ttl", Err: fmt.Errorf("ends before the message is due: %w", ErrInvalid)}
	case CodeStale:
		return fmt.Errorf("overtaken by a later call: %w", ErrUnavailable)
	case CodeNotFound, CodeGone:
		return ErrNotFound
	case CodeRunning:
		return ErrRunning
	case CodeDead:
		return ErrDead
	case CodeLeaseLost:
		return ErrLeaseLost
	case CodeCancelled:
		return ErrCancelled
	case CodeChanged:
		return &Error{Field: "repeat", Err: fmt.Errorf("the message has another schedule by now: %w", ErrUnavailable)}
	case CodeMoved:
		return ErrRepartitioned
	default:
		return fmt.Errorf("unexpected code %s: %w", c, ErrCorrupt)
	}
}

// Refuses reports whether a code means that the request was refused and nothing was changed.
// After a refused settle the delivery is still held.
func (c Code) Refuses() bool {
	switch c {
	case CodeDuplicate, CodeConflict, CodeFull, CodeTooFar, CodeExpires, CodeMoved:
		return true
	default:
		return false
	}
}

// Err returns the error that a code means for a holder that settled a delivery with the verdict
// v. It is nil if the delivery has ended as the verdict says.
func (v Verdict) Err(c Code) error {
	switch {
	case c == CodeGone, c == CodeDead && v == Nack:
		return nil
	case c == CodeDead: // with Again
		return fmt.Errorf("the message cannot be read and is dead: %w", ErrCorrupt)
	}
	return c.Err()
}

// ExtendErr returns the error that a code means for a holder that extended its lease. It is nil
// if the lease was extended and the holder may continue.
func (c Code) ExtendErr() error {
	if c == CodeGone {
		return ErrLeaseLost
	}
	return c.Err()
}
