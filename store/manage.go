package store

// CancelRequest removes messages, and asks the holders of leased ones to stop. Dead messages
// stay, unless Dead is set.
//
// With Caller and Number, the repetition of a call gets the answer of the first try: the
// partition remembers the last number of each caller with its answer. So a caller may have one
// call in flight at a time (a cancel, reschedule, redrive or purge), with numbers that grow. A
// number lower than the last one is a delayed duplicate: nothing is done, and all its codes are
// Stale. A caller that made no call for an hour may be forgotten. Producers, consumers and these
// callers have separate names.
type CancelRequest struct {
	Caller string `json:"caller,omitzero"`
	Number uint64 `json:"number,omitzero"`
	Refs   []Ref  `json:"refs,omitzero"` // 1 to MaxBatch
	Dead   bool   `json:"dead,omitzero"` // remove dead messages, too; they count as purged
}

// RescheduleRequest gives messages new due times. Caller and Number are those of [CancelRequest].
type RescheduleRequest struct {
	Caller string `json:"caller,omitzero"`
	Number uint64 `json:"number,omitzero"`
	Moves  []Move `json:"moves,omitzero"` // 1 to MaxBatch
}

// RedriveRequest makes dead messages scheduled or ready again. Caller and Number are those of
// [CancelRequest].
type RedriveRequest struct {
	Caller string    `json:"caller,omitzero"`
	Number uint64    `json:"number,omitzero"`
	Items  []Redrive `json:"items,omitzero"` // 1 to MaxBatch
	// Of is the number of partitions of the queue by which the caller has found out that all items
	// with keys belong to this partition; 0: it has not. While the queue grows to another number, the
	// result of items with keys is Moved, and they stay dead.
	Of int `json:"of,omitzero"`
}

// Redrive is a dead message to be redriven, and when it is due.
type Redrive struct {
	ID    ID    `json:"id,omitzero"`
	Delay int64 `json:"delay,omitzero"` // 0: due now
}

// Move is a new due time for one message.
type Move struct {
	Ref   Ref   `json:"ref,omitzero"`
	Due   int64 `json:"due,omitzero"` // instant; 0: after Delay; in the past: now
	Delay int64 `json:"delay,omitzero"`
}

// ListRequest asks for one page of messages, in the order of Record.At. The order of those of one
// instant is the store's own, and always the same.
type ListRequest struct {
	State State `json:"state,omitzero"` // one of the five, or Waiting
	// Descending reverses the whole order: the page begins with the last message.
	Descending bool `json:"descending,omitzero"`
	// Cursor is Page.Next of the page before, or one of its Cursors, in the same order; "" for the
	// first page. A cursor is a place in the order: the message that was there may be gone.
	Cursor string `json:"cursor,omitzero"`
	// From is the least Record.At of the first page, Descending the greatest, up to MaxInstant; 0 is
	// no bound. It is unused with a Cursor.
	From      int64 `json:"from,omitzero"`
	Limit     int   `json:"limit,omitzero"`      // 1 to MaxListLimit
	BodyLimit int   `json:"body_limit,omitzero"` // bytes of each body to return; 0 returns none
	Cursors   bool  `json:"cursors,omitzero"`    // return Page.Cursors
}

// Page is one page of a list.
type Page struct {
	Records []Record `json:"records,omitzero"`
	Next    string   `json:"next,omitzero"`    // cursor of the next page; "" when there is none
	Cursors []string `json:"cursors,omitzero"` // for each of Records, the cursor of a page that begins behind it
}

// PurgeRequest removes messages for good. Caller and Number are those of [CancelRequest].
type PurgeRequest struct {
	Caller string `json:"caller,omitzero"`
	Number uint64 `json:"number,omitzero"`
	State  State  `json:"state,omitzero"` // Scheduled, Ready, Dead or Done
	All    bool   `json:"all,omitzero"`   // any message of that state, the earliest first
	IDs    []ID   `json:"ids,omitzero"`   // without All: the messages to remove, if they are in that state; 1 to MaxBatch
	Limit  int    `json:"limit,omitzero"` // 1 to MaxBatch
}

// PurgeResult is the answer to a purge.
type PurgeResult struct {
	Removed int  `json:"removed,omitzero"`
	Stale   bool `json:"stale,omitzero"` // Number is lower than the caller's last; nothing was removed
}

// CheckRequest makes a bounded step of an audit.
type CheckRequest struct {
	Cursor string `json:"cursor,omitzero"` // CheckResult.Next of the step before; "" for the first
	Limit  int    `json:"limit,omitzero"`  // elements to examine, about; 1 to MaxListLimit
}

// CheckResult is what one step of an audit found.
type CheckResult struct {
	Examined int       `json:"examined,omitzero"`
	Problems []Problem `json:"problems,omitzero"`
	Next     string    `json:"next,omitzero"` // cursor of the next step; "" when the audit is complete
}

// Problem is one inconsistency that an audit found.
type Problem struct {
	ID   string `json:"id,omitzero"` // the element: an id, a receipt, a field; "" for the partition as a whole
	Text string `json:"text,omitzero"`
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with m.
func (m Move) Validate() error {
	if err := m.Ref.Validate(); err != nil {
		return err
	}
	return validateDue(m.Due, m.Delay)
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r ListRequest) Validate() error {
	switch r.State {
	case Scheduled, Ready, Waiting, Leased, Dead, Done:
	default:
		return NoneOf("state", string(r.State), "scheduled, ready, waiting, leased, dead, done")
	}
	if r.BodyLimit < 0 {
		return Negative("body limit", r.BodyLimit)
	}
	if r.From < 0 || r.From > MaxInstant {
		return Outside("from", r.From, "0 to %d", int64(MaxInstant))
	}
	return validateCount("limit", r.Limit, MaxListLimit)
}

// OtherOrder is the error for a cursor of a list in the order opposite to that of r.
func (r ListRequest) OtherOrder() *Error {
	order, want := "descending", "ascending"
	if r.Descending {
		order, want = want, order
	}
	return Unfit("cursor", r.Cursor, " is of a list in %s order, not in %s order", order, want)
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r PurgeRequest) Validate() error {
	switch r.State {
	case Scheduled, Ready, Dead, Done:
	default:
		return NoneOf("state", string(r.State), "scheduled, ready, dead, done")
	}
	if r.All && len(r.IDs) > 0 {
		return Invalid("ids", "%d are given together with all, want one of them", len(r.IDs))
	}
	if !r.All {
		if err := validateCount("ids", len(r.IDs), MaxBatch); err != nil {
			return err
		}
	}
	if err := validateCount("limit", r.Limit, MaxBatch); err != nil {
		return err
	}
	return validateCaller("caller", r.Caller)
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r CheckRequest) Validate() error { return validateCount("limit", r.Limit, MaxListLimit) }

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
