package store

// Suspicion is what the earlier leases of a message say about it: whether a handler
// that runs on it may end its process. The consumer must record [Start], and get OK,
// before it runs the handler of a message that is not [Unsuspected], and of one whose
// next failure would be its last.
//
// A lease that runs out counts as a failure only if Start was recorded for that
// delivery. A message that nobody has started, because it waited for a worker of a
// process that died, has lost nothing. So a message whose handler ends its process each
// time is dead after MaxAttempts failures and at most one delivery more, its first.
type Suspicion uint8

// The suspicions. Nack, Snooze, Reject and a Release after Start return a message to
// Unsuspected: its handler has returned. A Release without Start changes nothing.
const (
	// Unsuspected: no lease has run out since a handler returned.
	Unsuspected Suspicion = iota
	// Suspect: a lease ran out, and it is not known whether the handler had started.
	Suspect
	// Crashed: a lease ran out after Start. The message may be what ended the process, so
	// a consumer runs it apart from others of the kind.
	Crashed
)

// CrashDelay returns after how many ms a message is due again whose lease ran out after
// Start: 0 to less than 100 * 2^failures, at most 10,000. It depends on nothing but its
// arguments, so every store returns the same, and messages that were leased together are
// not due together again. failures includes this one.
func CrashDelay(id ID, attempt, failures int) int64 {
	const (
		prime   = 65521 // below 2^16: every product below is exact in a double, too
		base    = 31
		unit    = 100 // ms
		doubled = 7   // times: 100 ms * 2^7 is above the limit
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

// NeedsStart reports whether Start must be recorded before the handler of d runs: the
// message is suspected, or its next failure would be its last.
func (d *Delivery) NeedsStart() bool {
	return d.Suspicion != Unsuspected || d.Failures+1 >= d.MaxAttempts
}
