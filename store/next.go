package store

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
