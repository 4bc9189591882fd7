package dueq

import "time"

// Stats are the sizes and counters of a queue, over all its partitions. Each partition is
// read at its own instant.
type Stats struct {
	Queue    string
	Settings Settings

	Scheduled int64 // messages due later
	Ready     int64 // messages due now
	Leased    int64 // messages held by consumers
	Dead      int64 // dead letters
	Done      int64 // messages that have ended and are kept, see Settings.History

	// OldestReady is for how long the oldest ready message has been due; 0 if none is.
	OldestReady time.Duration
	Consumers   int // that run now, as far as the store knows; each reports every 10 s
	// Remembered is how many messages that are gone are still recognized when they are sent
	// again (see Settings.DedupFor); it can count some whose time is over.
	Remembered int64
	Counters   Counters
}

// Counters count what happened in a queue since it was made.
type Counters struct {
	Sent         int64 // messages stored
	Delivered    int64 // deliveries, the repeated ones too
	Acked        int64
	Nacked       int64 // failures that handlers reported
	Released     int64 // deliveries given back unharmed
	Snoozed      int64 // deliveries postponed without a failure
	Repeated     int64 // occurrences that were done, and followed by another
	Rejected     int64
	LeaseLost    int64 // leases that ran out
	DeadLettered int64 // messages that became dead letters, each time that they did
	Cancelled    int64 // removed by a cancel
	Replaced     int64 // removed by a send with Replace
	Expired      int64 // removed after their TTL
	Redriven     int64 // dead letters made ready again
	Purged       int64
	DeadExpired  int64 // dead letters removed because of Settings.DeadRetention or MaxDead
	Duplicates   int64 // sends refused because of their key
	Deduplicated int64 // sends that stored nothing because of their DedupID, or the ID of a message that is gone
	Forgotten    int64 // messages that were gone and forgotten before their time (see Settings.DedupFor)
}

// Gone returns how many messages have left the queue. At every instant
// Sent = Gone + live messages, dead letters included.
func (c Counters) Gone() int64 {
	return c.Acked + c.Cancelled + c.Replaced + c.Expired + c.Purged + c.DeadExpired
}
