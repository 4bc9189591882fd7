package store

// Message is a message to be stored.
type Message struct {
	ID          ID                `json:"id,omitzero"`
	Key         string            `json:"key,omitzero"` // at most one live message of a queue has a given key; "" is none
	Headers     map[string]string `json:"headers,omitzero"`
	Body        []byte            `json:"body,omitzero"`
	Due         int64             `json:"due,omitzero"`          // earliest instant of delivery; 0: after Delay; in the past, before 1970 too: now
	Delay       int64             `json:"delay,omitzero"`        // span from the push to the due time, where Due is 0
	MaxAttempts int               `json:"max_attempts,omitzero"` // failures after which the message is dead, from 1
	TTL         int64             `json:"ttl,omitzero"`          // span from the push after which it is no longer delivered; 0: none
	Replace     bool              `json:"replace,omitzero"`      // remove a scheduled or ready message that has the key
	// Repeat is the schedule of a recurring message, in a form that clients interpret; "": none.
	// Stores only compare schedules. A message with one needs a Key and has no TTL. It declares
	// the message with that key: see [PushResult].
	Repeat string `json:"repeat,omitzero"`
	// DedupID is another name for the message: see [PushRequest].
	DedupID DedupID `json:"dedup_id,omitzero"`
	// Remember is how long ID and DedupID are remembered after the message is gone: 0 to
	// MaxRemember ms.
	Remember int64 `json:"remember,omitzero"`
	// New says that the ID was made for this push, so that no message can have it and a store
	// need not check. It is ignored in a push that repeats one of unknown outcome.
	New bool `json:"new,omitzero"`
	// OnlyHeld makes a push store the message only in the place of one that has its key: with Replace,
	// with Repeat, or because the TTL of that one has passed. When the partition has no live message
	// with the key, the result is CodeMoved, and nothing is stored. All other results are the usual
	// ones. A client asks the old partition of a message in this way while the queue grows
	// (Settings.From), before it pushes the message to the new one: no message with the key can be
	// stored in the old partition after that.
	OnlyHeld bool `json:"only_held,omitzero"`
	// Of is the number of partitions from which the message's partition was chosen; 0: not
	// checked. When the queue has another number, the push is refused as a whole with
	// ErrRepartitioned.
	Of int `json:"of,omitzero"`
}

// State is the state of a message.
type State string

// The four states of a live message, and Done, the state of one that has ended, for as long as
// Settings.History keeps it. Ready is not stored apart from Scheduled: a message becomes ready
// because its due time passes.
const (
	Scheduled State = "scheduled" // due later
	Ready     State = "ready"     // due now
	Leased    State = "leased"    // held by a consumer
	Dead      State = "dead"      // out of attempts, or rejected
	Done      State = "done"      // acked, cancelled or expired
)

// Waiting is scheduled or ready: a list of it has the messages of both in the order of their due
// times, so that none is missed because it becomes ready meanwhile. Only ListRequest takes it, and
// the records of such a list, and of a RestoreRequest, have it.
const Waiting State = "waiting"

// Ending is how a message became Done.
type Ending string

// The endings of done messages.
const (
	EndingAcked     Ending = "acked"
	EndingCancelled Ending = "cancelled"
	EndingExpired   Ending = "expired"
)

// Record is a message in the store.
type Record struct {
	ID          ID                `json:"id,omitzero"`
	Key         string            `json:"key,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	Body        []byte            `json:"body,omitzero"`
	BodySize    int               `json:"body_size,omitzero"` // bytes of the whole body; Body may be cut in a list
	State       State             `json:"state,omitzero"`
	At          int64             `json:"at,omitzero"`           // scheduled, ready: due; leased: end of the lease; dead: death; done: its end
	MaxAttempts int               `json:"max_attempts,omitzero"` // 0: the message cannot be read, and only what is known apart from it is here
	Expiry      int64             `json:"expiry,omitzero"`       // instant after which it is no longer delivered; 0: none
	Attempt     int               `json:"attempt,omitzero"`      // deliveries so far
	Earlier     int               `json:"earlier,omitzero"`      // of them, those of earlier occurrences (see [Again])
	Failures    int               `json:"failures,omitzero"`     // deliveries that failed, since the last redrive or occurrence
	Snoozes     int               `json:"snoozes,omitzero"`      // deliveries that were snoozed, likewise
	LastFailure string            `json:"last_failure,omitzero"`
	// RecentFailures are the last deliveries that ended with a failure text, the newest first: at
	// most MaxRecentFailures since the last occurrence. LastFailure is the text of the first; the
	// others are cut to MaxOlderFailure bytes.
	RecentFailures []Failure `json:"recent_failures,omitzero"`
	Cancelling     bool      `json:"cancelling,omitzero"` // leased, and its holder has been asked to stop
	Holder         string    `json:"holder,omitzero"`     // leased: ClaimRequest.Consumer of its holder; "" if that is not known
	Ending         Ending    `json:"ending,omitzero"`     // done: how it ended
	Repeat         string    `json:"repeat,omitzero"`
	// Letter is set for what became of an occurrence of a recurring message that failed for good:
	// Key is the one of that message, which the letter does not hold.
	Letter    bool      `json:"letter,omitzero"`
	Suspicion Suspicion `json:"suspicion,omitzero"` // of a message that is not done
	// DedupID and Remember are those of the Message, while it is live.
	DedupID  DedupID `json:"dedup_id,omitzero"`
	Remember int64   `json:"remember,omitzero"`
}

// Failure is a delivery that ended with a text: one that failed, was snoozed or whose lease ran out.
type Failure struct {
	At      int64  `json:"at,omitzero"` // when it ended
	Attempt int    `json:"attempt,omitzero"`
	Text    string `json:"text,omitzero"`
}

// Delivery is a message handed to a consumer.
type Delivery struct {
	Receipt     Receipt           `json:"receipt,omitzero"`
	Key         string            `json:"key,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	Body        []byte            `json:"body,omitzero"`
	Due         int64             `json:"due,omitzero"`
	MaxAttempts int               `json:"max_attempts,omitzero"`
	Expiry      int64             `json:"expiry,omitzero"`
	Earlier     int               `json:"earlier,omitzero"`  // deliveries of earlier occurrences, which Receipt.Attempt counts, too
	Failures    int               `json:"failures,omitzero"` // before this delivery
	Snoozes     int               `json:"snoozes,omitzero"`  // likewise
	Suspicion   Suspicion         `json:"suspicion,omitzero"`

	// Repeat is the message's schedule. With it, Now is the instant of the claim: the occurrence
	// is missed if the first time of the schedule after Due is not after Now. An occurrence with
	// Failures >= MaxAttempts is spent: its last lease ran out, and the consumer must settle it
	// with Reject.
	Repeat string `json:"repeat,omitzero"`
	Now    int64  `json:"now,omitzero"`
}

// Ref names one message, by id or, when ID is zero, by key.
type Ref struct {
	ID  ID     `json:"id,omitzero"`
	Key string `json:"key,omitzero"`
}
