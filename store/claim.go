package store

import "time"

// ClaimRequest asks for messages that are due.
//
// Consumer and Number make a repeated claim return the same deliveries: the partition remembers
// the last answer of each consumer. So a consumer may have one claim of a partition in flight at
// a time, with numbers that grow. It must repeat a claim of unknown outcome before it sends the
// next; otherwise deliveries of the unknown claim wait for their leases to run out. A number
// lower than the last one is a delayed duplicate and gets nothing (ClaimResult.Stale).
type ClaimRequest struct {
	Consumer string `json:"consumer,omitzero"`
	Number   uint64 `json:"number,omitzero"`
	Max      int    `json:"max,omitzero"`   // deliveries wanted, 1 to MaxBatch
	Lease    int64  `json:"lease,omitzero"` // MinLease to MaxLease
	// AckOnClaim is for at-most-once delivery: messages are acked when they are handed out, and
	// there is nothing to settle. The repetition of such a claim gets nothing, because its
	// messages are gone. Messages with Repeat are leased nevertheless: the consumer schedules the
	// next occurrence, then calls its handler.
	AckOnClaim bool `json:"ack_on_claim,omitzero"`
	// Again says that this repeats a claim of unknown outcome, whose first try may still
	// arrive: a store that does not remember empty answers remembers this one.
	Again bool `json:"again,omitzero"`
	// Of is how many partitions the caller believes the queue to have; 0: not checked.
	// When it has another number, the claim is refused with ErrRepartitioned; when there is
	// no such queue, because it was deleted, with ErrNotFound.
	Of int `json:"of,omitzero"`
}

// ClaimResult is the answer to a claim.
type ClaimResult struct {
	// Deliveries are in the order of due time, then id. Fewer than Max may be returned even if
	// more are due: the reply is bounded to about MaxBatchBytes, and a claim removes up to
	// MaxExpired expired messages, which do not count against Max.
	Deliveries []Delivery `json:"deliveries,omitzero"`
	// Wait is the time until the next message is due or the next lease runs out, 0 if a message
	// is due now. It is at most MaxWait.
	Wait   time.Duration `json:"wait_ns,omitzero"`
	Paused bool          `json:"paused,omitzero"` // the queue hands out no messages
	Stale  bool          `json:"stale,omitzero"`  // Number is lower than the consumer's last
}

// MaxWait is the longest ClaimResult.Wait.
const MaxWait = time.Hour

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r ClaimRequest) Validate() error {
	if err := validateCaller("consumer", r.Consumer); err != nil {
		return err
	}
	if err := validateCount("max", r.Max, MaxBatch); err != nil {
		return err
	}
	return validateLease(r.Lease)
}

// LeaveRequest names consumers that make no more claims of a partition.
type LeaveRequest struct {
	Consumers []string `json:"consumers,omitzero"` // 1 to MaxBatch
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r LeaveRequest) Validate() error {
	if err := validateCount("consumers", len(r.Consumers), MaxBatch); err != nil {
		return err
	}
	for _, name := range r.Consumers {
		if err := validateCaller("consumer", name); err != nil {
			return err
		}
	}
	return nil
}
