package store

// ValidateRefs returns an *Error of kind ErrInvalid for the first thing wrong with
// the arguments of Store.Cancel: 1 to MaxBatch references, each valid.
func ValidateRefs(refs []Ref) error {
	if err := validateCount("refs", len(refs), MaxBatch); err != nil {
		return err
	}
	for i := range refs {
		if err := refs[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

// ValidateMoves returns an *Error of kind ErrInvalid for the first thing wrong with
// the arguments of Store.Reschedule: 1 to MaxBatch moves, each valid.
func ValidateMoves(moves []Move) error {
	if err := validateCount("moves", len(moves), MaxBatch); err != nil {
		return err
	}
	for i := range moves {
		if err := moves[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

// ValidateIDs returns an *Error of kind ErrInvalid unless Store.Redrive can take the
// ids: 1 to MaxBatch of them.
func ValidateIDs(ids []ID) error { return validateCount("ids", len(ids), MaxBatch) }

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
		return invalid("ttl", "%d ms is outside 0 to %d ms (12 h)", ttl, int64(MaxLease))
	}
	return nil
}
