package store

// NamesRequest asks for a step of the names that a partition has.
type NamesRequest struct {
	Cursor string `json:"cursor,omitzero"` // Names.Next of the step before; "" for the first
	Limit  int    `json:"limit,omitzero"`  // elements to examine, about; 1 to MaxListLimit
}

// Names are some of the names that a partition has. A name that it has from the first step to the
// last is in the answer to one of them; it can be in several.
type Names struct {
	Keys     []string    `json:"keys,omitzero"` // of live and dead messages
	DedupIDs []NamedByID `json:"dedup_ids,omitzero"`
	Next     string      `json:"next,omitzero"` // cursor of the next step; "" when there is none
}

// NamedByID is a message that has a dedup id. Stores may leave out those that have a key, too, and
// those that are gone.
type NamedByID struct {
	DedupID DedupID `json:"dedup_id,omitzero"`
	ID      ID      `json:"id,omitzero"`
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r NamesRequest) Validate() error { return validateCount("limit", r.Limit, MaxListLimit) }
