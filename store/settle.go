package store

import (
	"cmp"
	"slices"
)

// Verdict is the way in which a consumer ends a delivery.
type Verdict string

// The verdicts. Each ends the delivery. A message whose cancellation was requested is removed,
// whatever the verdict.
const (
	Ack     Verdict = "ack"     // done: leased -> (gone)
	Nack    Verdict = "nack"    // failed: leased -> scheduled after Delay, or dead when out of attempts
	Release Verdict = "release" // given back: leased -> scheduled after Delay; no failure
	// Snooze puts a message off: leased -> scheduled after Delay, no failure. Snoozes are
	// counted, and Failure says why.
	Snooze Verdict = "snooze"
	// Again ends an occurrence of a message, which is due again: leased -> scheduled as
	// Settlement.Next says, with the same id, key and headers, and without its failures,
	// snoozes and failure text.
	Again Verdict = "again"
	// Next is Ack, and stores messages of the same partition in the same step: leased -> (gone),
	// and each of Settlement.Messages (none) -> scheduled, or ready. If one of them is refused,
	// nothing is changed.
	Next   Verdict = "next"
	Reject Verdict = "reject" // leased -> dead
)

// SettleRequest carries one verdict for several deliveries of one partition.
type SettleRequest struct {
	Verdict Verdict      `json:"verdict,omitzero"`
	Items   []Settlement `json:"items,omitzero"` // 1 to MaxBatch; with Next also MaxBatch messages and MaxBatchBytes together
}

// Settlement is the verdict's detail for one delivery.
//
// Its Code: OK; Gone (the message does not exist any more, which is a success); LeaseLost
// (another delivery may have begun; nothing was changed); Cancelled (for Nack, Release, Snooze,
// Again, Reject: removed, as requested); Dead (Nack used up the attempts; for Again, the record
// cannot be read); if Next is used, TooFar, Expires (the TTL ends before the due time, or would
// end a message with Repeat) and Changed, with nothing changed. A verdict repeated with the same
// receipt gets the same code, or Gone.
//
// For Next also Duplicate, Full, TooFar and Expires, as for a push: the code of the first of
// Messages that is refused. Then neither the message nor its lease has changed. See Messages for
// Gone.
//
// A lease that has run out can still be settled for as long as no claim has put
// its message back.
type Settlement struct {
	Receipt Receipt `json:"receipt,omitzero"`
	Delay   int64   `json:"delay,omitzero"`   // Nack, Release, Snooze, Again: span to the new due time
	Failure string  `json:"failure,omitzero"` // Nack, Reject, Snooze: why, at most MaxFailure bytes
	// Next is for Again. nil: due after Delay, with the body as it was and no TTL.
	//
	// With Nack and Reject it is for messages with Repeat, and says when the message is due next
	// if this occurrence fails for good: then, in one step, the occurrence becomes a dead letter
	// with the id Letter, and the message is scheduled as Again does it. The dead letter has the
	// body and headers, the history and the key of the message, but no schedule; it names the key
	// but does not hold it, also after a redrive. It counts as sent and dead lettered. The code
	// is Dead for Nack, OK for Reject. Without Next, the message itself dies.
	Next   *Occurrence `json:"next,omitzero"`
	Letter ID          `json:"letter,omitzero"` // of the partition of Receipt.ID

	// Messages are for Next: 1 to MaxBatch, of the partition of Receipt.ID, no two with the same
	// ID, Key or DedupID. Each is stored as a push does it, as if the message of the receipt were
	// already gone: its key is free and it does not count to the limit. But a message counts as stored, whatever its
	// content, if one with its ID or its DedupID is live or remembered in the partition before
	// any of Messages is stored. New and Of are ignored.
	//
	// If the message of the receipt is gone already, nothing is stored. The code is Gone if all
	// of Messages are live or remembered (one with Repeat: if its key belongs to a message with
	// Repeat), as after an earlier try, otherwise LeaseLost. Of items with the same receipt the
	// first that is not refused counts.
	Messages []Message `json:"messages,omitzero"`
}

// Occurrence describes the next of several times for which a message is delivered.
type Occurrence struct {
	Due  int64  `json:"due,omitzero"` // earliest instant of delivery; 0: after Settlement.Delay; in the past: now
	TTL  int64  `json:"ttl,omitzero"` // span from now after which the message is no longer delivered; 0: none
	Body []byte `json:"body,omitzero"`
	// NewBody: Body replaces the body of the message.
	NewBody bool `json:"new_body,omitzero"`
	// Repeat is the schedule from which Due was computed; "": not checked. If the message has
	// another one now, nothing is changed and the code is Changed.
	Repeat string `json:"repeat,omitzero"`
}

// Size returns what a settlement counts against MaxBatchBytes. Each of Messages counts at least
// MaxBatchBytes/MaxBatch, so that settlements which fit have at most MaxBatch messages.
func (s *Settlement) Size() int {
	size := len(s.Failure)
	if s.Next != nil {
		size += len(s.Next.Body)
	}
	for i := range s.Messages {
		size += max(s.Messages[i].Size(), MaxBatchBytes/MaxBatch)
	}
	return size
}

// Following returns the next occurrence, the zero value if Next is nil.
func (s *Settlement) Following() Occurrence {
	if s.Next == nil {
		return Occurrence{}
	}
	return *s.Next
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r SettleRequest) Validate() error {
	if !slices.Contains([]Verdict{Ack, Nack, Release, Snooze, Again, Next, Reject}, r.Verdict) {
		return NoneOf("verdict", string(r.Verdict), "ack, nack, release, snooze, again, next, reject")
	}
	if err := validateCount("items", len(r.Items), MaxBatch); err != nil {
		return err
	}
	for i := range r.Items {
		if err := r.Items[i].validate(r.Verdict); err != nil {
			return err
		}
	}
	if r.Verdict == Next {
		return validateFollowing(r.Items)
	}
	return nil
}

func (s Settlement) validate(v Verdict) error {
	if err := s.Receipt.validate(); err != nil {
		return err
	}
	if len(s.Failure) > MaxFailure {
		return Over("failure", "bytes", len(s.Failure), MaxFailure)
	}
	if v == Next {
		return s.validateMessages()
	}
	if len(s.Messages) > 0 {
		return Invalid("messages", "%d with %s: only next has any", len(s.Messages), v)
	}
	if v == Again && s.Next != nil {
		return s.Next.Validate(s.Delay)
	}
	if (v == Nack || v == Reject) && s.Next != nil {
		return cmp.Or(s.validateLetter(), validateDelay(s.Delay))
	}
	return validateDelay(s.Delay)
}

func (s Settlement) validateLetter() error {
	switch {
	case s.Letter.IsZero() || s.Letter.Partition() != s.Receipt.ID.Partition():
		return Invalid("letter", "%s is not an id of the partition of %s", s.Letter, s.Receipt.ID)
	case s.Next.NewBody || s.Next.TTL != 0:
		return Invalid("next", "has a body or a TTL, which only again can have")
	}
	return ValidateRepeat(s.Next.Repeat)
}

// Validate returns an *Error of kind ErrInvalid or ErrTooLarge for the first thing wrong with
// o, where delay is Settlement.Delay.
func (o *Occurrence) Validate(delay int64) error {
	if err := validateDue(o.Due, delay); err != nil {
		return err
	}
	if len(o.Body) > MaxBody {
		return tooLarge("body", len(o.Body), MaxBody)
	}
	return validateTTL(o.TTL, delay)
}

// validateFollowing checks the number and the size of the messages of all items of a Next.
func validateFollowing(items []Settlement) error {
	count, size := 0, 0
	for i := range items {
		count += len(items[i].Messages)
		for n := range items[i].Messages {
			size += items[i].Messages[n].Size()
		}
	}
	if err := validateCount("messages", count, MaxBatch); err != nil {
		return err
	}
	if size > MaxBatchBytes && count > 1 {
		return tooLarge("messages", size, MaxBatchBytes)
	}
	return nil
}

// validateMessages checks the messages that follow one delivery.
func (s *Settlement) validateMessages() error {
	if err := validateCount("messages", len(s.Messages), MaxBatch); err != nil {
		return err
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if err := m.Validate(); err != nil {
			return err
		}
		switch {
		case m.ID.Partition() != s.Receipt.ID.Partition():
			return Invalid("id", "%s of message %d is of partition %d, the delivery is of %d", m.ID, i, m.ID.Partition(), s.Receipt.ID.Partition())
		case m.ID == s.Receipt.ID:
			return Invalid("id", "%s of message %d is that of the delivery", m.ID, i)
		}
	}
	return validateApart(s.Messages)
}

// validateApart returns an error if two messages have a name in common: then the result of one
// could depend on the other.
func validateApart(messages []Message) error {
	if i, field := SameNames(messages); field != "" {
		return Invalid(field, "of message %d is that of another one that follows the same delivery", i)
	}
	return nil
}

// SameNames returns the index of the first message that has the id, key or dedup id of an earlier
// one, and the field: "id", "key" or "dedup id". The field is "" if there is none.
func SameNames(messages []Message) (index int, field string) {
	if len(messages) < 2 {
		return 0, ""
	}
	ids, keys, names := map[ID]bool{}, map[string]bool{}, map[DedupID]bool{}
	for i := range messages {
		m := &messages[i]
		switch {
		case ids[m.ID]:
			return i, "id"
		case m.Key != "" && keys[m.Key]:
			return i, "key"
		case !m.DedupID.IsZero() && names[m.DedupID]:
			return i, "dedup id"
		}
		ids[m.ID], keys[m.Key], names[m.DedupID] = true, true, true
	}
	return 0, ""
}
