package store

import (
	"cmp"
	"slices"
)

// Verdict is what a consumer says about a delivery.
type Verdict string

// The verdicts. Each ends the delivery. A message whose cancellation was asked for is removed,
// whatever the verdict.
const (
	Ack     Verdict = "ack"     // done: leased -> (gone)
	Nack    Verdict = "nack"    // failed: leased -> scheduled after Delay, or dead when out of attempts
	Release Verdict = "release" // given back unharmed: leased -> scheduled after Delay; no failure
	// Snooze is Release by a handler that wants to be called later: leased -> scheduled after
	// Delay, no failure; how often is counted, and Failure says why.
	Snooze Verdict = "snooze"
	// Again ends an occurrence of a message, which is due again: leased -> scheduled as
	// Settlement.Next says, with the same id, key and headers, and without its failures,
	// snoozes and failure text.
	Again Verdict = "again"
	// Next is Ack, and stores messages of the same partition in the same step: leased ->
	// (gone), and each of Settlement.Messages (none) -> scheduled, or ready. Or nothing
	// happens, if one of them is refused.
	Next   Verdict = "next"
	Reject Verdict = "reject" // leased -> dead
)

// SettleRequest carries one verdict for several deliveries of one partition.
type SettleRequest struct {
	Verdict Verdict
	Items   []Settlement // 1 to MaxBatch; with Next also MaxBatch messages and MaxBatchBytes together
}

// Settlement is the verdict's detail for one delivery.
//
// Its Code: OK; Gone (the message is no more, which is a success); LeaseLost (another delivery
// may have begun; nothing was changed); Cancelled (for Nack, Release, Snooze, Again, Reject:
// removed, as was asked for); Dead (Nack used up the attempts; for Again, the record cannot be
// read); where Next counts, TooFar, Expires (the TTL ends before the due time, or would end a message with Repeat)
// and Changed, with nothing changed. A verdict repeated
// with the same receipt gets the same code, or Gone.
//
// For Next also Duplicate, Full, TooFar and Expires, as of a push: that is what is wrong with
// the first of the messages that is refused, and neither the message nor its lease has
// changed. See Messages for Gone.
//
// A lease that has run out can still be settled for as long as no claim has put
// its message back.
type Settlement struct {
	Receipt Receipt
	Delay   int64  // Nack, Release, Snooze, Again: span to the new due time
	Failure string // Nack, Reject, Snooze: why, at most MaxFailure bytes
	// Next is for Again. nil: due after Delay, with the body as it was and no TTL.
	//
	// With Nack and Reject it is for messages with Repeat, and says when the message is due
	// next if this occurrence fails for good: then, in one step, the occurrence becomes a dead
	// letter with the id Letter, and the message is scheduled as Again does it. The dead letter
	// has the body and headers, the history and the key of the message, but no schedule; it
	// names the key and never holds it, also when it is redriven. It counts as sent and dead
	// lettered. The code is Dead for Nack, OK for Reject. Without Next, the message itself dies.
	Next   *Occurrence
	Letter ID // of the partition of Receipt.ID

	// Messages are for Next: 1 to MaxBatch, of the partition of Receipt.ID, no two with the same
	// ID, Key or DedupID. Each is stored as a push does it, by the state of the partition
	// in which the message of the receipt is gone: its key and its room are free. But one
	// whose ID the partition has, live or remembered, counts as stored, whatever its content
	// is, and so does one whose DedupID it has. That is looked at before any of them is
	// stored. New and Of mean nothing.
	//
	// When the message of the receipt is gone already, the code is Gone if all of Messages are
	// known still (one with Repeat: if its key belongs to a message with Repeat), as after an
	// earlier try, and else LeaseLost: they are not stored. Of items with the same receipt
	// the first that is not refused counts.
	Messages []Message
}

// Occurrence is one of several times that a message is delivered for.
type Occurrence struct {
	Due  int64 // earliest instant of delivery; 0: after Settlement.Delay; in the past: now
	TTL  int64 // span from now after which the message is no longer delivered; 0: none
	Body []byte
	// NewBody: Body is in the place of the body before.
	NewBody bool
	// Repeat is the schedule from which Due was computed; "": not checked. If the message has
	// another one by now, nothing is changed and the code is Changed.
	Repeat string
}

// Size returns what a settlement counts against MaxBatchBytes. A message that follows counts at
// least its share of a full call, so that what fits has no more than MaxBatch of them.
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

// Following returns what the next occurrence is to be.
func (s *Settlement) Following() Occurrence {
	if s.Next == nil {
		return Occurrence{}
	}
	return *s.Next
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r SettleRequest) Validate() error {
	if !slices.Contains([]Verdict{Ack, Nack, Release, Snooze, Again, Next, Reject}, r.Verdict) {
		return Invalid("verdict", "%s is none of ack, nack, release, snooze, again, next, reject", quote(string(r.Verdict)))
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
		return Invalid("failure", "%d bytes, the limit is %d", len(s.Failure), MaxFailure)
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
		return tooLarge("body", "%d bytes, the limit is %d", len(o.Body), MaxBody)
	}
	return validateTTL(o.TTL, delay)
}

// validateFollowing checks what the messages of all items of a Next are together.
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
		return tooLarge("messages", "%d bytes in one batch, the limit is %d", size, MaxBatchBytes)
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

// validateApart returns an error if messages have a name in common, so that what becomes of
// one could depend on another.
func validateApart(messages []Message) error {
	if i, field := SameNames(messages); field != "" {
		return Invalid(field, "of message %d is that of another one that follows the same delivery", i)
	}
	return nil
}

// SameNames returns the first of messages that has an id, a key or a dedup id which one before
// it has, and which of them: "id", "key" or "dedup id". The field is "" if there is none.
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
