package store

import "fmt"

// Code is what became of one item of a batch.
type Code int

// The codes. The numbers are what redisstore's scripts return.
const (
	CodeOK        Code = 0
	CodeDuplicate Code = 1  // the key belongs to another live message
	CodeConflict  Code = 2  // the id belongs to a different message
	CodeFull      Code = 3  // the partition has its share of Settings.MaxMessages
	CodeTooFar    Code = 4  // the due time is more than MaxDelay ahead
	CodeStale     Code = 5  // a delayed duplicate of an older call; nothing was done
	CodeNotFound  Code = 6  // no live message has this id or key
	CodeRunning   Code = 7  // leased: not moved; a cancel has been passed on
	CodeDead      Code = 8  // is dead, or became so
	CodeGone      Code = 9  // the message is no more
	CodeLeaseLost Code = 10 // the receipt is not that of the current delivery
	CodeCancelled Code = 11 // the message's cancellation was asked for
	CodeExpires   Code = 12 // the TTL ends before the due time
	CodeChanged   Code = 13 // the message has another schedule
	CodeKnown     Code = 14 // the dedup id belongs to another message, live or remembered
)

// String returns the code's word, as used in metrics and logs.
func (c Code) String() string {
	names := [...]string{
		"ok", "duplicate", "conflict", "full", "too_far", "stale",
		"not_found", "running", "dead", "gone", "lease_lost", "cancelled", "expires", "changed", "known",
	}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("code(%d)", int(c))
	}
	return names[c]
}

// Err returns what a code says to the caller who asked for a message to be stored, moved,
// redriven or removed: an error that wraps one of this package's, nil for OK.
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
	default:
		return fmt.Errorf("unexpected code %s: %w", c, ErrCorrupt)
	}
}

// Refuses reports whether a code says that nothing was changed because of what was asked for:
// of a settle, the delivery is held still.
func (c Code) Refuses() bool {
	switch c {
	case CodeDuplicate, CodeConflict, CodeFull, CodeTooFar, CodeExpires:
		return true
	default:
		return false
	}
}

// Err returns what a code says to the holder of a delivery who has given the verdict v; nil if
// the delivery has ended as the verdict says.
func (v Verdict) Err(c Code) error {
	switch {
	case c == CodeGone, c == CodeDead && v == Nack:
		return nil
	case c == CodeDead: // with Again
		return fmt.Errorf("the message cannot be read and is dead: %w", ErrCorrupt)
	}
	return c.Err()
}

// ExtendErr returns what a code says to the holder of a lease who has extended it; nil if it
// is extended and the holder may go on.
func (c Code) ExtendErr() error {
	if c == CodeGone {
		return ErrLeaseLost
	}
	return c.Err()
}
