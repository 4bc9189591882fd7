package dueq

import "time"

// Message is what a producer sends. The zero value is a message without a body that
// is due at once.
type Message struct {
	// ID repeats an earlier Send whose outcome is unknown: the id it returned. If that one
	// was stored, nothing happens: as long as the message is live or dead and, when it is
	// gone, for another DedupFor, whichever client or process sends it again. Without
	// DedupFor, only the client that sent it first, if it still runs, recognizes it then, for
	// up to an hour. "": Send makes a new id.
	ID string
	// DedupID is a name of your own for this send, such as "payment-7:email": of the messages
	// with the same DedupID only the first is stored, whatever the others contain. They are
	// recognized as long as it is live or dead and, when it is gone, be it acked, cancelled,
	// expired or purged, for another DedupFor. A repetition succeeds: Send returns the id of
	// the first message, and SendResult.Deduplicated and SendEvent.Deduplicated are true. Of
	// any length. A DedupID is one of a queue, unless messages have keys: with
	// different keys, the same DedupID can be stored more than once.
	DedupID string
	// DedupFor is for how long this message is remembered when it is gone, by its ID and by
	// its DedupID: up to 24 h. Default Settings.DedupFor, which is 0 unless it is set: not at
	// all. For the bound on how many are remembered, see there.
	DedupFor time.Duration
	// Key is a name of your own, such as "order-42": at most one message of a queue that
	// is scheduled, ready or leased has a given key. Up to 255 bytes of printable UTF-8.
	Key string
	// Headers travel with the body: up to 64, 8 KiB together, with names as in HTTP.
	Headers map[string]string
	// Body is opaque to dueq: up to the queue's Settings.MaxBody bytes, 256 KiB unless
	// configured otherwise.
	Body []byte

	// Delay from now, on the store's clock, until the message is due: up to 10 years.
	Delay time.Duration
	// Due is the earliest instant of delivery, as an alternative to Delay. One in the
	// past means now.
	Due time.Time
	// MaxAttempts is how many deliveries may fail before the message is dead: 1 to
	// 1000. Default Settings.MaxAttempts, which is 25 unless it is set: about 20
	// days with [DefaultBackoff]. A lease that runs out is a failure only if the store knew that
	// the handler had started, which it does on the last attempt and after a lease that
	// ran out before: a message whose handler ends the process each time is delivered
	// MaxAttempts + 1 times at most, and one that nobody has started is never dead. With
	// 1, every delivery costs one more call, shared with others made at the same time.
	MaxAttempts int
	// TTL from now after which the message is no longer delivered but removed, unless
	// it is being held then. It must end after the message is due ([ErrInvalid]), and a
	// redrive ends it. Default 0: none.
	TTL time.Duration
	// Replace takes Key from the message that has it, if that one is scheduled or
	// ready, and removes that message. One that is leased is still [ErrDuplicate].
	Replace bool
	// Repeat makes the message recur, see [Repeat]. It needs a Key, and TTL must be 0. Where
	// Delay and Due are 0, it is due first at the first time of the schedule that is to come, by
	// the store's clock; to find that out, Send makes one call more.
	Repeat Repeat
}

// Schedule is a new due time for a message: after Delay, or at Due; one of the two.
// The zero value is now.
type Schedule struct {
	Delay time.Duration // from now, on the store's clock
	Due   time.Time     // an instant; one in the past means now
}

// SendResults are what became of the messages of a [Queue.SendBatch], in their order.
type SendResults []SendResult

// FirstErr returns the error of the first message that has one, nil if all are stored.
func (r SendResults) FirstErr() error {
	for i := range r {
		if r[i].Err != nil {
			return r[i].Err
		}
	}
	return nil
}

// SendResult is what became of one message of a [Queue.SendBatch].
type SendResult struct {
	ID  string // "" if the message was definitely not stored
	Err error  // nil: stored
	// Deduplicated: the message was not stored, since one with its DedupID had been sent
	// before under another id: ID is that one.
	Deduplicated bool
}
