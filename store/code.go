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
