package store

import "fmt"

// Settings of a queue. They are kept in the store and the same for all clients.
type Settings struct {
	Partitions int `json:"partitions,omitzero"` // 1 to MaxPartitions; an existing queue can get more
	// From is the number of partitions before, while the queue grows; 0: it does not. A message with
	// a key or dedup id whose partition is another one since then has moved: its old partition can
	// have a message with that name still, see Message.OnlyHeld. Clients end the growth when no
	// message with a moved name is left. Drained is the instant at which there was no such message any
	// more, live or dead; 0: there may be one. Those that are gone may be remembered still.
	From    int   `json:"from,omitzero"`
	Drained int64 `json:"drained,omitzero"`

	MaxBody int `json:"max_body,omitzero"` // bytes of a body, 1 to MaxBody
	// MaxMessages is the maximum number of messages that are not dead; 0: no limit. Each
	// partition has an equal share, see LivePerPartition.
	MaxMessages int64 `json:"max_messages,omitzero"`
	Paused      bool  `json:"paused,omitzero"` // claims hand out nothing; sends are accepted

	// DeadRetention is how long a dead message is kept, ms, up to MaxDelay; 0: until it is
	// removed. MaxDead is how many the queue keeps; 0: no limit. Each partition has an equal
	// share, see DeadPerPartition. A claim removes up to some hundred of those over a limit, the ones
	// that died first.
	DeadRetention int64 `json:"dead_retention,omitzero"`
	MaxDead       int64 `json:"max_dead,omitzero"`

	// History is how long a message is kept as Done after it was acked or cancelled, or has
	// expired, ms, up to MaxDelay; 0: it is not kept. MaxHistory is how many of them the queue
	// keeps, up to MaxHistory; 0: DefaultHistory. Each partition has an equal share, see
	// DonePerPartition. Each message that ends removes one that is over a limit, the oldest first, and a
	// claim removes up to some hundred.
	History    int64 `json:"history,omitzero"`
	MaxHistory int64 `json:"max_history,omitzero"`

	// Defaults for clients, which the store keeps and does not interpret. 0: the default of the
	// client.
	MaxAttempts int   `json:"max_attempts,omitzero"` // 1 to MaxAttempts
	Lease       int64 `json:"lease,omitzero"`        // ms, MinLease to MaxLease
	BackoffBase int64 `json:"backoff_base,omitzero"` // ms; both or none
	BackoffMost int64 `json:"backoff_most,omitzero"`
	DedupFor    int64 `json:"dedup_for,omitzero"` // ms, of Message.Remember: 0 to MaxRemember

	Version   int64  `json:"version,omitzero"`    // grows with every change; never 0
	ChangedBy string `json:"changed_by,omitzero"` // Change.Token of the change that made this version
}

// LivePerPartition returns the maximum number of messages of a partition that are not dead; 0: no
// limit. Only a push is refused because of it: a redrive brings back messages that had been accepted.
func (s Settings) LivePerPartition() int64 {
	if s.MaxMessages == 0 {
		return 0
	}
	return max(1, s.MaxMessages/int64(s.Partitions))
}

// DeadPerPartition returns how many dead messages a partition keeps; 0: no limit.
func (s Settings) DeadPerPartition() int64 {
	if s.MaxDead == 0 {
		return 0
	}
	return max(1, s.MaxDead/int64(s.Partitions))
}

// DonePerPartition returns how many done messages a partition keeps.
func (s Settings) DonePerPartition() int64 {
	switch {
	case s.History == 0:
		return 0
	case s.MaxHistory == 0:
		return max(1, DefaultHistory/int64(s.Partitions))
	}
	return max(1, s.MaxHistory/int64(s.Partitions))
}

// IfMissing is the Change.If of a change that makes a queue and changes none.
const IfMissing = -1

// Change is a change of Settings. Fields that are nil are not changed.
type Change struct {
	Create bool `json:"create,omitzero"` // make the queue if it is missing
	// If is the Settings.Version to which the change applies: if the settings have another one,
	// nothing is changed and ErrConflict is returned. 0: any version. IfMissing: only if the
	// queue is missing.
	If int64 `json:"if,omitzero"`
	// Token identifies a change with If: if the change is repeated after a lost reply, and the
	// settings are those that it made, nothing is changed and the call succeeds. It has up to
	// MaxCallerName characters.
	Token string `json:"token,omitzero"`
	// Partitions is the number of partitions of a new queue. An existing one grows to it: From becomes
	// the number that it had. ErrInvalid when it has more, ErrConflict while it grows already.
	Partitions  *int   `json:"partitions,omitzero"`
	From        *int   `json:"from,omitzero"` // 0: the growth has ended; nothing else is valid
	Drained     *int64 `json:"drained,omitzero"`
	MaxBody     *int   `json:"max_body,omitzero"`
	MaxMessages *int64 `json:"max_messages,omitzero"`
	Paused      *bool  `json:"paused,omitzero"`

	DeadRetention *int64 `json:"dead_retention,omitzero"`
	MaxDead       *int64 `json:"max_dead,omitzero"`
	History       *int64 `json:"history,omitzero"`
	MaxHistory    *int64 `json:"max_history,omitzero"`

	MaxAttempts *int   `json:"max_attempts,omitzero"`
	Lease       *int64 `json:"lease,omitzero"`
	BackoffBase *int64 `json:"backoff_base,omitzero"`
	BackoffMost *int64 `json:"backoff_most,omitzero"`
	DedupFor    *int64 `json:"dedup_for,omitzero"`
}

// Reads reports whether the change is empty: it only reads the settings.
func (c Change) Reads() bool { return c == (Change{}) }

// Counters of what happened in a queue since it was made.
type Counters struct {
	Sent         int64 `json:"sent,omitzero"`      // messages stored
	Delivered    int64 `json:"delivered,omitzero"` // deliveries, including repeated ones
	Acked        int64 `json:"acked,omitzero"`
	Nacked       int64 `json:"nacked,omitzero"`
	Released     int64 `json:"released,omitzero"`
	Snoozed      int64 `json:"snoozed,omitzero"`
	Repeated     int64 `json:"repeated,omitzero"` // occurrences that ended and were followed by another
	Rejected     int64 `json:"rejected,omitzero"`
	LeaseLost    int64 `json:"lease_lost,omitzero"` // leases that ran out
	DeadLettered int64 `json:"dead_lettered,omitzero"`
	Cancelled    int64 `json:"cancelled,omitzero"` // removed by a cancel
	Replaced     int64 `json:"replaced,omitzero"`  // removed by a push that replaces
	Expired      int64 `json:"expired,omitzero"`
	Redriven     int64 `json:"redriven,omitzero"`
	Purged       int64 `json:"purged,omitzero"`
	DeadExpired  int64 `json:"dead_expired,omitzero"` // dead messages removed because of DeadRetention or MaxDead
	Duplicates   int64 `json:"duplicates,omitzero"`   // pushes refused because of their key
	Deduplicated int64 `json:"deduplicated,omitzero"` // pushes of messages that were remembered, or that had the dedup id of another message
	Forgotten    int64 `json:"forgotten,omitzero"`    // messages forgotten before their time because of MaxRemembered
}

// Counter is one of the Counters, with the name that stores and outputs use for it.
type Counter struct {
	Name  string
	Value *int64
}

// All returns every counter. Stores keep counters by their names or in this order, so a new one
// comes last.
func (c *Counters) All() []Counter {
	return []Counter{
		{"sent", &c.Sent},
		{"delivered", &c.Delivered},
		{"acked", &c.Acked},
		{"nacked", &c.Nacked},
		{"released", &c.Released},
		{"rejected", &c.Rejected},
		{"lease_lost", &c.LeaseLost},
		{"dead_lettered", &c.DeadLettered},
		{"cancelled", &c.Cancelled},
		{"replaced", &c.Replaced},
		{"expired", &c.Expired},
		{"redriven", &c.Redriven},
		{"purged", &c.Purged},
		{"duplicates", &c.Duplicates},
		{"snoozed", &c.Snoozed},
		{"repeated", &c.Repeated},
		{"dead_expired", &c.DeadExpired},
		{"deduplicated", &c.Deduplicated},
		{"forgotten", &c.Forgotten},
	}
}

// Gone returns how many messages have left the queue. At every instant
// Sent = Gone + live messages.
func (c Counters) Gone() int64 {
	return c.Acked + c.Cancelled + c.Replaced + c.Expired + c.Purged + c.DeadExpired
}

// Stats are the sizes and counters of a queue, over all its partitions. Each
// partition is read at its own instant.
type Stats struct {
	Queue     string   `json:"queue,omitzero"`
	Settings  Settings `json:"settings,omitzero"`
	Scheduled int64    `json:"scheduled,omitzero"`
	Ready     int64    `json:"ready,omitzero"`
	Leased    int64    `json:"leased,omitzero"`
	Dead      int64    `json:"dead,omitzero"`
	Done      int64    `json:"done,omitzero"` // Counters count these as gone
	// OldestReady is how long the oldest ready message has been due, ms; 0 if none is ready.
	OldestReady int64    `json:"oldest_ready,omitzero"`
	Consumers   int      `json:"consumers,omitzero"`  // that are alive
	Remembered  int64    `json:"remembered,omitzero"` // messages that are gone and still remembered, including some whose time has passed
	Counters    Counters `json:"counters,omitzero"`
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with c.
func (c Change) Validate() error {
	if c.Partitions != nil && (*c.Partitions < 1 || *c.Partitions > MaxPartitions) {
		return Outside("partitions", *c.Partitions, "1 to %d", MaxPartitions)
	}
	if c.From != nil && *c.From != 0 {
		return Invalid("from", "%d is not 0", *c.From)
	}
	if c.Drained != nil && *c.Drained < 0 {
		return Invalid("drained", "%d is negative", *c.Drained)
	}
	if c.MaxBody != nil && (*c.MaxBody < 1 || *c.MaxBody > MaxBody) {
		return Outside("max body", fmt.Sprintf("%d bytes", *c.MaxBody), "1 to %d", MaxBody)
	}
	if c.MaxMessages != nil && *c.MaxMessages < 0 {
		return Negative("max messages", *c.MaxMessages)
	}
	if err := c.validateRetention(); err != nil {
		return err
	}
	if c.If < IfMissing {
		return Invalid("if", "%d is not a version", c.If)
	}
	if c.If != 0 || c.Token != "" {
		if err := validateCaller("token", c.Token); err != nil {
			return err
		}
	}
	return c.validateDefaults()
}

func (c Change) validateRetention() error {
	if r := c.DeadRetention; r != nil && (*r < 0 || *r > MaxDelay) {
		return Outside("dead retention", ms(*r), "0 to %s (10 years)", ms(MaxDelay))
	}
	if c.MaxDead != nil && *c.MaxDead < 0 {
		return Negative("max dead", *c.MaxDead)
	}
	if h := c.History; h != nil && (*h < 0 || *h > MaxDelay) {
		return Outside("history", ms(*h), "0 to %s (10 years)", ms(MaxDelay))
	}
	if n := c.MaxHistory; n != nil && (*n < 0 || *n > MaxHistory) {
		return Outside("max history", *n, "0 to %d", MaxHistory)
	}
	return nil
}

// validateDefaults checks the settings that only clients use.
func (c Change) validateDefaults() error {
	if n := c.MaxAttempts; n != nil && (*n < 0 || *n > MaxAttempts) {
		return Outside("max attempts", *n, "0 to %d", MaxAttempts)
	}
	if l := c.Lease; l != nil && *l != 0 && (*l < MinLease || *l > MaxLease) {
		return Outside("lease", ms(*l), "%s to %s", ms(MinLease), ms(MaxLease))
	}
	if d := c.DedupFor; d != nil && (*d < 0 || *d > MaxRemember) {
		return Outside("dedup for", ms(*d), "0 to %s", ms(MaxRemember))
	}
	if (c.BackoffBase == nil) != (c.BackoffMost == nil) {
		return Invalid("backoff", "has one of base and most, want both or none")
	}
	if c.BackoffBase == nil {
		return nil
	}
	base, most := *c.BackoffBase, *c.BackoffMost
	if base < 0 || most < base || most > MaxDelay || (base == 0) != (most == 0) {
		return Invalid("backoff", "%s to %s: want 1 ms to %s, the first not above the second, or both 0", ms(base), ms(most), ms(MaxDelay))
	}
	return nil
}

// EventKind is the kind of an Event.
type EventKind string

// Kinds of events.
const (
	EventWake   EventKind = "wake"   // a partition has a new first message, or claims may succeed again
	EventStop   EventKind = "stop"   // cancellation of a leased message was requested
	EventHelp   EventKind = "help"   // the consumers on duty for a partition cannot take all that is due
	EventLeft   EventKind = "left"   // the consumer on duty for a partition has stopped
	EventReset  EventKind = "reset"  // a partition was deleted: claims of it may fail
	EventGap    EventKind = "gap"    // events are missed from now on, until EventResync
	EventResync EventKind = "resync" // events may have been missed: check every partition
)

// Event is a hint that something in a queue changed.
type Event struct {
	Kind      EventKind `json:"kind,omitzero"`
	Partition int       `json:"partition,omitzero"` // of EventWake, EventStop, EventHelp, EventLeft and EventReset
	ID        ID        `json:"id,omitzero"`        // of EventStop
	// Helpers is of EventHelp: how many consumers are called, besides the one on duty: those that
	// follow it in the order of Duties.
	Helpers int `json:"helpers,omitzero"`
}

// ValidateNotice returns an *Error of kind ErrInvalid if consumers do not send such an event.
func (e Event) ValidateNotice() error {
	if e.Kind != EventHelp && e.Kind != EventLeft {
		return Unfit("event", string(e.Kind), " is not one that consumers send")
	}
	if e.Partition < 0 || e.Partition >= MaxPartitions {
		return Outside("partition", e.Partition, "0 to %d", MaxPartitions-1)
	}
	if e.Kind == EventLeft {
		return nil
	}
	return validateCount("helpers", e.Helpers, MaxRanked)
}

// DeleteRequest deletes a queue.
type DeleteRequest struct {
	Force bool `json:"force,omitzero"` // also if it has messages, which are removed
}
