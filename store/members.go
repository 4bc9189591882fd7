package store

// Member is a consumer of a queue, and the client that runs it.
type Member struct {
	Queue    string `json:"queue,omitzero"`
	Consumer string `json:"consumer,omitzero"` // 1 to MaxCallerName letters, digits, '.', '_', '-'; unique
	Client   string `json:"client,omitzero"`   // likewise
}

// LiveMember is a consumer that is alive.
type LiveMember struct {
	Member
	Trial  bool  `json:"trial,omitzero"`  // it gets no duties yet
	Duties []int `json:"duties,omitzero"` // partitions that it is on duty for, as the last answer of Duties said
}

// BeatRequest reports that a client is alive.
type BeatRequest struct {
	Client string `json:"client,omitzero"`
	TTL    int64  `json:"ttl,omitzero"` // ms until it counts as gone without another beat, up to MaxLease; 0: it leaves, with all its consumers
	// Trial, Join and Leave name consumers, at most MaxBatch in all. Their Client is ignored. Those of
	// Trial have been started lately, and get no duties, so that a process that crashes again and
	// again does not delay the messages of others. Those of Join get duties from now on. Those of
	// Leave have been stopped. Repeating a beat is safe.
	Trial []Member `json:"trial,omitzero"`
	Join  []Member `json:"join,omitzero"`
	Leave []Member `json:"leave,omitzero"`
	Known int64    `json:"known,omitzero"` // the Version of the client's last BeatResult; 0: none
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r BeatRequest) Validate() error {
	if err := validateCaller("client", r.Client); err != nil {
		return err
	}
	if r.TTL < 0 || r.TTL > MaxLease {
		return Outside("ttl", ms(r.TTL), "0 to %s", ms(MaxLease))
	}
	if n := len(r.Trial) + len(r.Join) + len(r.Leave); n > MaxBatch {
		return Over("consumers", "consumers", n, MaxBatch)
	}
	if r.Known < 0 {
		return Negative("known", r.Known)
	}
	for _, members := range [][]Member{r.Trial, r.Join, r.Leave} {
		for _, m := range members {
			if err := validateMember(m.Queue, m.Consumer); err != nil {
				return err
			}
		}
	}
	return nil
}

func validateMember(queue, consumer string) error {
	if err := ValidateQueue(queue); err != nil {
		return err
	}
	return validateCaller("consumer", consumer)
}

// BeatResult is the answer to a beat. Its size does not grow with the number of clients.
type BeatResult struct {
	// Version changes when a consumer of any queue joins, leaves or falls silent.
	Version int64 `json:"version,omitzero"`
	// Changed are queues whose consumers have changed since BeatRequest.Known, at most MaxBatch.
	// More reports that there may be others.
	Changed []string `json:"changed,omitzero"`
	More    bool     `json:"more,omitzero"`
	// Unknown reports that the store did not know the client before this beat. If it had consumers,
	// the store has lost them or taken the client for dead, and they must join again.
	Unknown bool `json:"unknown,omitzero"`
}

// DutyRequest asks for the duties of one consumer.
type DutyRequest struct {
	Queue      string `json:"queue,omitzero"`
	Consumer   string `json:"consumer,omitzero"`
	Partitions int    `json:"partitions,omitzero"` // of the queue
}

// Validate returns an *Error of kind ErrInvalid for the first thing wrong with r.
func (r DutyRequest) Validate() error {
	if err := validateMember(r.Queue, r.Consumer); err != nil {
		return err
	}
	return validateCount("partitions", r.Partitions, MaxPartitions)
}

// ValidateDuties checks the argument of Store.Duties.
func ValidateDuties(r []DutyRequest) error {
	if err := validateCount("consumers", len(r), MaxBatch); err != nil {
		return err
	}
	for _, one := range r {
		if err := one.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// MaxRanked is how many consumers of a queue have a place in the order of its Duties: those whose
// names come first.
const MaxRanked = 1000

// Duties say which consumer of a queue is on duty for each of its partitions: it claims messages
// as soon as they are due. The consumers have an order, that of their names; after the last comes
// the first again. For a partition, those that follow its consumer on duty help it in that order.
type Duties struct {
	Consumers int   `json:"consumers,omitzero"` // ranked consumers of the queue
	Index     int   `json:"index,omitzero"`     // of the consumer that asked in the order, from 0; -1: it is not ranked, has not joined, or is unknown
	Owners    []int `json:"owners,omitzero"`    // of each partition, the index of the consumer on duty; -1: none has joined
}
