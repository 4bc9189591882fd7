package store

// RestoreRequest stores messages as List has returned them, from another store or from this one.
type RestoreRequest struct {
	// Messages are 1 to MaxBatch, MaxBatchBytes together. Each is Waiting, Dead or Done. BodySize,
	// Cancelling and Holder are ignored. A message that List could not read (MaxAttempts is 0)
	// cannot be restored.
	Messages []Record `json:"messages,omitzero"`
	// Of is the number of partitions of the queue that the messages are from, as Message.Of.
	Of int `json:"of,omitzero"`
}

// Validate returns an *Error of kind ErrInvalid or ErrTooLarge for the first thing wrong with r.
func (r RestoreRequest) Validate() error {
	if err := validateCount("messages", len(r.Messages), MaxBatch); err != nil {
		return err
	}
	total := 0
	for i := range r.Messages {
		if err := r.Messages[i].ValidateRestored(); err != nil {
			return err
		}
		m := r.Messages[i].Message()
		total += m.Size() + r.Messages[i].failureSize()
	}
	if total > MaxBatchBytes && len(r.Messages) > 1 {
		return tooLarge("messages", total, MaxBatchBytes)
	}
	return nil
}

// Message returns what a sender has given to a message. Its due time and its TTL are missing.
func (r *Record) Message() Message {
	return Message{
		ID: r.ID, Key: r.Key, Headers: r.Headers, Body: r.Body, MaxAttempts: r.MaxAttempts, Repeat: r.Repeat,
		DedupID: r.DedupID, Remember: r.Remember,
	}
}

// ValidateRestored returns an *Error of kind ErrInvalid or ErrTooLarge for the first thing that
// makes r unfit for a RestoreRequest.
func (r *Record) ValidateRestored() error {
	m := r.Message()
	if err := m.Validate(); err != nil {
		return err
	}
	switch r.State {
	case Waiting, Dead, Done:
	default:
		return NoneOf("state", string(r.State), "waiting, dead, done")
	}
	if (r.State == Done) != (r.Ending != "") {
		return Invalid("ending", "%s of a message that is %s", quote(string(r.Ending)), r.State)
	}
	switch r.Ending {
	case "", EndingAcked, EndingCancelled, EndingExpired:
	default:
		return NoneOf("ending", string(r.Ending), "acked, cancelled, expired")
	}
	if r.Letter && (r.Key == "" || r.Repeat != "") {
		return Invalid("letter", "it names the key of a recurring message, and has no schedule")
	}
	return r.validateNumbers()
}

func (r *Record) validateNumbers() error {
	for _, n := range []struct {
		field       string
		value, most int64
	}{
		{"at", r.At, MaxInstant},
		{"expiry", r.Expiry, MaxInstant},
		{"attempt", int64(r.Attempt), MaxDeliveries},
		{"earlier", int64(r.Earlier), int64(r.Attempt)},
		{"failures", int64(r.Failures), int64(r.Attempt)},
		{"snoozes", int64(r.Snoozes), int64(r.Attempt)},
		{"suspicion", int64(r.Suspicion), int64(Crashed)},
	} {
		if n.value < 0 || n.value > n.most {
			return Outside(n.field, n.value, "0 to %d", n.most)
		}
	}
	return r.validateFailures()
}

func (r *Record) validateFailures() error {
	if len(r.LastFailure) > MaxFailure {
		return Over("last failure", "bytes", len(r.LastFailure), MaxFailure)
	}
	if len(r.RecentFailures) > MaxRecentFailures {
		return Over("recent failures", "deliveries", len(r.RecentFailures), MaxRecentFailures)
	}
	for i, f := range r.RecentFailures {
		switch {
		case i == 0 && f.Text != r.LastFailure:
			return Invalid("recent failures", "the first is %s, the last failure %s", quote(f.Text), quote(r.LastFailure))
		case f.At < 0 || f.At > MaxInstant:
			return Outside("recent failures: at", f.At, "0 to %d", MaxInstant)
		case f.Attempt < 0 || f.Attempt > r.Attempt:
			return Outside("recent failures: attempt", int64(f.Attempt), "0 to %d", r.Attempt)
		case i > 0 && len(f.Text) > MaxOlderFailure:
			return Over("recent failures: text", "bytes", len(f.Text), MaxOlderFailure)
		}
	}
	return nil
}

// failureSize returns how many bytes the failure texts take.
func (r *Record) failureSize() int {
	size := len(r.LastFailure)
	for i, f := range r.RecentFailures {
		if i > 0 {
			size += len(f.Text)
		}
	}
	return size
}
