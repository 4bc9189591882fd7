package store

// PushRequest stores messages.
//
// With Producer and Number, a repeated push stores nothing twice even if its messages have been
// consumed meanwhile: the partition remembers the last number of each producer with its results,
// and returns them to a repetition. So a producer may have one push in flight at a time, with
// numbers that grow. A number lower than the last one is a delayed duplicate: all its results are
// Stale and nothing is stored. A producer that made no push for an hour may be forgotten.
//
// A message is not stored if one with its ID or its DedupID is live or remembered, whatever its
// producer. A message is remembered under both for Message.Remember after it is gone: acked,
// cancelled, replaced, expired or purged. A partition remembers up to MaxRemembered messages, and
// forgets first those that were gone first. Without Remember, a DedupID is known while its
// message is live, which includes dead.
type PushRequest struct {
	Producer string    `json:"producer,omitzero"`
	Number   uint64    `json:"number,omitzero"`
	Messages []Message `json:"messages,omitzero"` // 1 to MaxBatch, MaxBatchBytes together
}

// PushResult is the result of one message: OK (stored, now or by an earlier try), Known (Holder
// has the DedupID), Duplicate (Holder has the key), Conflict (another live message has the id),
// Full, TooFar, Expires (the TTL ends before the due time), Stale, Moved (with Message.OnlyHeld).
//
// A message with Repeat is not stored if a live message with Repeat has its key: the result is
// OK, with that one as Holder. If their schedules differ, the holder gets all fields of the
// message except ID, DedupID and Remember. Unless it is leased, it is then due when the message
// would be, and its failures, snoozes and failure text are cleared.
type PushResult struct {
	Code   Code `json:"code,omitzero"`
	Holder ID   `json:"holder,omitzero"` // of the DedupID, with Known; of the key, with Duplicate; with OK, of the message that was declared
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
		return tooLarge("messages", total, MaxBatchBytes)
	}
	return nil
}
