package store

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r CancelRequest) Validate() error {
	if err := validateCount("refs", len(r.Refs), MaxBatch); err != nil {
		return err
	}
	for i := range r.Refs {
		if err := r.Refs[i].Validate(); err != nil {
			return err
		}
	}
	return validateCaller("caller", r.Caller)
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r RescheduleRequest) Validate() error {
	if err := validateCount("moves", len(r.Moves), MaxBatch); err != nil {
		return err
	}
	for i := range r.Moves {
		if err := r.Moves[i].Validate(); err != nil {
			return err
		}
	}
	return validateCaller("caller", r.Caller)
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r RedriveRequest) Validate() error {
	if err := validateCount("items", len(r.Items), MaxBatch); err != nil {
		return err
	}
	for i := range r.Items {
		if err := validateDelay(r.Items[i].Delay); err != nil {
			return err
		}
	}
	return validateCaller("caller", r.Caller)
}

// ValidateLeave returns an *Error of kind ErrInvalid for the first thing wrong with the
// consumers of Store.Leave: 1 to MaxBatch names.
func ValidateLeave(consumers []string) error {
	if err := validateCount("consumers", len(consumers), MaxBatch); err != nil {
		return err
	}
	for _, name := range consumers {
		if err := validateCaller("consumer", name); err != nil {
			return err
		}
	}
	return nil
}

// ValidateHeartbeat returns an *Error of kind ErrInvalid for the first thing wrong
// with the arguments of Store.Heartbeat: the names, and a ttl of 0 to MaxLease ms.
func ValidateHeartbeat(queue, consumer string, ttl int64) error {
	if err := ValidateQueue(queue); err != nil {
		return err
	}
	if err := validateCaller("consumer", consumer); err != nil {
		return err
	}
	if ttl < 0 || ttl > MaxLease {
		return Invalid("ttl", "%d ms is outside 0 to %d ms (12 h)", ttl, int64(MaxLease))
	}
	return nil
}
