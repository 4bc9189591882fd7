package store

// Limits of one call and of one message. They bound the work of a script. With bodies up to
// DefaultMaxBody no call blocks a Redis for more than 10 ms. A call that copies one body of
// MaxBody, 4 MiB, takes up to 20 ms, so raise Settings.MaxBody only if it is needed.
const (
	MaxBatch      = 500       // items in one call
	MaxBatchBytes = 1 << 20   // bodies, headers and keys of one push; a single larger message is allowed
	MaxListLimit  = 1000      // records in one page
	MaxExpired    = 1000      // expired messages that one claim removes
	MaxPartitions = 1024      // partitions of a queue
	MaxQueueName  = 128       // bytes of a queue name
	MaxKey        = 255       // bytes of a key
	MaxHeaders    = 64        // headers of a message
	MaxHeaderSize = 8 << 10   // bytes of all header names and values together
	MaxRepeat     = 255       // bytes of a schedule
	MaxBody       = 4 << 20   // bytes: the highest Settings.MaxBody
	MaxHistory    = 1_000_000 // the highest Settings.MaxHistory
	MaxAttempts   = 1000      // highest Message.MaxAttempts
	MaxFailure    = 1 << 10   // bytes of a failure text; longer ones are cut
	// MaxRecentFailures are the deliveries whose failure texts a message keeps. All but the newest
	// are cut to MaxOlderFailure bytes.
	MaxRecentFailures = 5
	MaxOlderFailure   = 200
	MaxCallerName     = 64               // bytes of a producer's or consumer's name
	MinLease          = 1000             // ms
	MaxLease          = 12 * 3600 * 1000 // ms: 12 h, as in SQS
	MaxDelay          = 3660 * day       // ms: about 10 years, from now to the due time
	MaxRemember       = day              // ms: highest Message.Remember
	MaxRemembered     = 1_000_000        // messages that a partition remembers when they are gone
	MaxInstant        = 253402300799999  // ms: the end of the year 9999, of a message that is restored
	MaxDeliveries     = 1<<31 - 1        // likewise

	day = 24 * 3600 * 1000
)

// ShortAnswer is the number of deliveries up to which the remembered answer of a claim is not
// worth a call of Store.Leave: it takes less than 100 bytes.
const ShortAnswer = 2

// Defaults of a queue's Settings.
const (
	DefaultPartitions = 1
	DefaultMaxBody    = 256 << 10
	DefaultHistory    = 10_000 // of MaxHistory, where History is set
)
