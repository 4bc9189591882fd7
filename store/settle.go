package store

import "slices"

// Verdict is what a consumer says about a delivery.
type Verdict string

// The verdicts. A settle of a message whose cancellation was asked for removes it,
// whatever the verdict; only Extend and Start leave it with its holder for as long as
// the lease lasts.
const (
	Ack     Verdict = "ack"     // done: leased -> (gone)
	Nack    Verdict = "nack"    // failed: leased -> scheduled after Delay, or dead when out of attempts
	Release Verdict = "release" // given back unharmed: leased -> scheduled after Delay; no failure
	// Snooze is Release by a handler that wants to be called later: leased -> scheduled after
	// Delay, no failure; how often is counted, and Failure says why.
	Snooze Verdict = "snooze"
	Reject Verdict = "reject" // leased -> dead
	Extend Verdict = "extend" // leased -> leased until Delay from now, never shortened
	// Start is Extend, and records that the handler of this delivery is about to run:
	// from then on, a lease that runs out is a failure (see [Suspicion]).
	Start Verdict = "start"
)

// SettleRequest carries one verdict for several deliveries of one partition.
type SettleRequest struct {
	Verdict Verdict
	Items   []Settlement // 1 to MaxBatch
}

// Settlement is the verdict's detail for one delivery.
//
// Its Code: OK; Gone (the message is no more: a success for everything but Extend and
// Start); LeaseLost (another delivery may have begun; nothing was changed); Cancelled
// (for Nack, Release, Snooze, Reject: removed, as was asked for; for Extend and Start: the
// holder should stop, the lease is extended); Dead (Nack used up the attempts). A verdict repeated
// with the same receipt gets the same code, or Gone.
//
// A lease that has run out can still be settled for as long as no claim has put
// its message back.
type Settlement struct {
	Receipt Receipt
	Delay   int64  // Nack, Release, Snooze: span to the new due time; Extend, Start: span to the new end of the lease
	Failure string // Nack, Reject, Snooze: why, at most MaxFailure bytes
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r SettleRequest) Validate() error {
	if !slices.Contains([]Verdict{Ack, Nack, Release, Snooze, Reject, Extend, Start}, r.Verdict) {
		return invalid("verdict", "%s is none of ack, nack, release, snooze, reject, extend, start", quote(string(r.Verdict)))
	}
	if err := validateCount("items", len(r.Items), MaxBatch); err != nil {
		return err
	}
	for i := range r.Items {
		if err := r.Items[i].validate(r.Verdict); err != nil {
			return err
		}
	}
	return nil
}

func (s Settlement) validate(v Verdict) error {
	if s.Receipt.ID.IsZero() || s.Receipt.Attempt < 1 {
		return invalid("receipt", "%s is not a receipt", quote(s.Receipt.String()))
	}
	if len(s.Failure) > MaxFailure {
		return invalid("failure", "%d bytes, the limit is %d", len(s.Failure), MaxFailure)
	}
	if v == Extend || v == Start {
		return validateLease(s.Delay)
	}
	return validateDelay("delay", s.Delay)
}
