package store

// PushRequest asks for messages to be stored.
//
// Producer and Number make a repeated push harmless even when its messages have
// been consumed meanwhile: the partition remembers the last number of each producer
// with its results, and answers a repetition from memory. So a producer has one
// push under way at a time, and its numbers grow. A number lower than the last one
// is a delayed duplicate: all its results are Stale and nothing is stored.
// A producer that was silent for an hour may be forgotten.
//
// Whatever the producer, a message is not stored if there is one with its ID, live or
// remembered, or with its DedupID. A message is remembered under both for Message.Remember
// after it is gone, be it acked, cancelled, replaced, expired or purged; a partition
// remembers MaxRemembered messages, and forgets those first that went first. Without
// Remember, a DedupID is known while its message is live, dead or not.
type PushRequest struct {
	Producer string
	Number   uint64
	Messages []Message // 1 to MaxBatch, MaxBatchBytes together
}

// PushResult reports what became of one message: OK (stored, now or by an earlier
// try), Known (Holder has the DedupID), Duplicate (Holder has the key), Conflict (another
// live message has the id), Full, TooFar, Expires (the TTL ends before the due time), Stale.
//
// A message with Repeat whose key a live message with Repeat has is not stored, and its result
// is OK, with that one as Holder. If their schedules differ, the holder gets all that the
// message has but its ID, DedupID and Remember; unless it is leased it is due as the message is, with its failures,
// snoozes and failure text forgotten.
type PushResult struct {
	Code   Code
	Holder ID // of the DedupID, with Known; of the key, with Duplicate; with OK, the message that was declared
}

// Validate returns an *Error of kind ErrInvalid or ErrTooLarge for the first thing
// that is wrong with r.
func (r PushRequest) Validate() error {
	if err := validateCaller("producer", r.Producer); err != nil {
		return err
	}
	if err := validateCount("messages", len(r.Messages), MaxBatch); err != nil {
		return err
	}
	total := 0
	for i := range r.Messages {
		if err := r.Messages[i].Validate(); err != nil {
			return err
		}
		total += r.Messages[i].Size()
	}
	if total > MaxBatchBytes && len(r.Messages) > 1 {
		return tooLarge("messages", "%d bytes in one batch, the limit is %d", total, MaxBatchBytes)
	}
	return nil
}
