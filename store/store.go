// Package store is the port between dueq and the stores that keep messages.
//
// A [Store] holds queues; a queue has one or more partitions; a partition holds messages, each in
// exactly one of four states: scheduled, ready, leased, dead. A queue with Settings.History also
// keeps messages that have ended, as done: Get, List and Purge see them; for every other method
// they are gone. Every method that changes a partition is one atomic step: it happens as a whole
// or not at all, and no reader sees half of it.
//
// # Time
//
// Instants are unix milliseconds on the store's clock, spans are milliseconds.
// The store's clock is the only one that decides whether a message is due or a
// lease has run out; the clocks of producers and consumers are never compared.
//
// # Retrying
//
// Every method may be repeated with the same arguments after an error that leaves
// its outcome unknown, and the repetition has no further effect: settles and extensions carry
// receipts, and pushes, claims, cancels, reschedules, redrives and purges carry the caller's name
// and a number that grows with every new call (see [PushRequest], [ClaimRequest],
// [CancelRequest]). The repetition of a numbered call gets the answer of the first try.
//
// # Errors
//
// A method returns an error when the call as a whole failed: [ErrInvalid] and [ErrRepartitioned]
// (nothing was applied), [ErrUnavailable] (may have been applied), [ErrNotFound], [ErrCorrupt],
// [ErrClosed], or the error of the context. The result of each item of a batch is a [Code].
package store

import "context"

// Store is implemented by Redis and the embedded engine. Package storetest tests what every
// implementation must do.
//
// All methods are safe for concurrent use.
type Store interface {
	// Push stores messages: (none) -> scheduled, or ready where they are due at once.
	// Results are in the order of the messages. A missing queue is made with default
	// settings.
	Push(ctx context.Context, p Partition, r PushRequest) ([]PushResult, error)

	// Claim puts back leases that ran out, then hands out messages that are due: ready -> leased.
	// It does not wait for messages; ClaimResult.Wait says when to claim again. ErrNotFound when
	// the queue was deleted, see ClaimRequest.Of.
	Claim(ctx context.Context, p Partition, r ClaimRequest) (ClaimResult, error)

	// Settle ends deliveries, with one verdict for the whole batch. Results are in the order
	// of the items.
	Settle(ctx context.Context, p Partition, r SettleRequest) ([]Code, error)

	// Extend makes leases end r.Lease from now, and never shortens them: leased -> leased.
	// Results are in the order of the receipts.
	Extend(ctx context.Context, p Partition, r ExtendRequest) ([]Code, error)

	// Cancel removes messages that are scheduled or ready, on request also dead ones, and
	// asks the holder of a leased one to stop. Codes: OK, Running, Dead, NotFound, Stale.
	Cancel(ctx context.Context, p Partition, r CancelRequest) ([]Code, error)

	// Reschedule gives messages that are scheduled or ready a new due time. Codes:
	// OK, Running, Dead, NotFound, TooFar, Stale.
	Reschedule(ctx context.Context, p Partition, r RescheduleRequest) ([]Code, error)

	// Get returns one message, or ErrNotFound. A key names the live message that has it,
	// otherwise the one that died last with it, otherwise the one that ended last with it: of
	// those that are done, the last 16 of a key are found. An id names the live or dead message,
	// otherwise the done one.
	Get(ctx context.Context, p Partition, ref Ref) (Record, error)

	// List returns one page of the messages in a state, in the order of Record.At,
	// then id; leased ones with the same At in any order. A message that changes state
	// meanwhile may be missed or seen twice.
	List(ctx context.Context, p Partition, r ListRequest) (Page, error)

	// Stats returns the sizes and counters of one queue, or of all queues in the
	// order of their names when queue is empty. An unknown queue is ErrNotFound.
	Stats(ctx context.Context, queue string) ([]Stats, error)

	// Forecast counts the messages of a partition that become due in each of the next spans of
	// time. Of a partition that does not exist there are none.
	Forecast(ctx context.Context, p Partition, r ForecastRequest) (Forecast, error)

	// Names returns keys and dedup ids that a partition has, step by step.
	Names(ctx context.Context, p Partition, r NamesRequest) (Names, error)

	// Queues returns the names of all queues in order, in one call. Names of queues that are
	// being made, or of which only consumers are left, may be among them.
	Queues(ctx context.Context) ([]string, error)

	// Redrive brings dead messages back, due now or after a delay, with their failures, snoozes
	// and TTLs cleared: dead -> scheduled, ready. Codes: OK, NotFound (also when it is not dead),
	// Duplicate, Stale, Moved.
	Redrive(ctx context.Context, p Partition, r RedriveRequest) ([]PushResult, error)

	// Purge removes scheduled, ready, dead or done messages for good, at most r.Limit of them. If
	// it removes as many as the limit, there may be more.
	Purge(ctx context.Context, p Partition, r PurgeRequest) (PurgeResult, error)

	// Restore stores messages that another store has listed, with their ids, states, times and
	// attempts: (none) -> scheduled, ready, dead, done. The queue must be paused, else ErrNotPaused:
	// so none of the messages is handed out before the last one is there, and a repetition finds
	// those that are. ErrNotFound if there is no such queue. The limit MaxMessages does not apply.
	// Codes: OK, Known (a message that is live, done or remembered has the id or the dedup id),
	// Duplicate (another live message has the key), Gone (the queue keeps no done messages).
	Restore(ctx context.Context, p Partition, r RestoreRequest) ([]Code, error)

	// Configure changes a queue's settings and returns all of them; with a zero
	// Change it only reads. A missing queue is made if c.Create, else ErrNotFound. With
	// c.If also ErrConflict.
	Configure(ctx context.Context, queue string, c Change) (Settings, error)

	// Known returns a queue's settings without a call, if the store has them. They are those of
	// the last call about the queue, or later ones.
	Known(queue string) (s Settings, ok bool)

	// DeleteQueue removes a queue with its settings and counters, and returns nil when all are
	// removed. Its consumers leave when they notice. If it has a message in any state, nothing is
	// changed and ErrNotEmpty is returned, unless r.Force is set: then its messages are removed,
	// too. ErrNotFound if there is no such queue, also when the repetition of a call finds that the
	// first try has removed it. After another error some partitions may have been removed, without r.Force only empty
	// ones; a repetition removes the rest.
	//
	// Receipts of the queue are answered as those of messages that are gone, and claims that
	// name its partitions (ClaimRequest.Of) with ErrNotFound. A push makes a new queue, with
	// default settings. No call that was sent before acts on that, except by the id of a
	// message that was pushed to it again.
	DeleteQueue(ctx context.Context, queue string, r DeleteRequest) error

	// Beat reports that a client is alive, and which consumers it has started and stopped. Their
	// queues need not exist and are not made. Of a client that leaves, or that has not sent a beat
	// for its TTL, the consumers are removed.
	Beat(ctx context.Context, r BeatRequest) (BeatResult, error)

	// Duties returns the duties of up to MaxBatch consumers, in the order of r. All consumers of a
	// queue get the same answer as long as BeatResult.Version does not change. Partitions are
	// spread evenly over the consumers: the numbers that any two have differ by at most one. When
	// one of n consumers joins or leaves, the duty for at most a n-th of them moves, rounded up.
	Duties(ctx context.Context, r []DutyRequest) ([]Duties, error)

	// Members returns the live consumers of a queue in the order of their names, none for a queue
	// that does not exist.
	Members(ctx context.Context, queue string) ([]LiveMember, error)

	// Notify sends an event of one consumer to the watchers of the queue: EventHelp or EventLeft.
	// The queue need not exist.
	Notify(ctx context.Context, queue string, e Event) error

	// Now returns the store's clock, as it is for a partition, in unix ms. The partition need
	// not exist.
	Now(ctx context.Context, p Partition) (int64, error)

	// Leave reports that consumers will neither make nor repeat claims of a partition: the store
	// may drop their last answers. It keeps their numbers, so that a late duplicate of a claim
	// hands out nothing. The partition need not exist.
	Leave(ctx context.Context, p Partition, r LeaveRequest) error

	// Watch calls notify for every [Event] of a queue until ctx ends, then returns
	// nil. Events are hints: some may be lost, and notify must not block. An Event of
	// kind Resync is sent when the watch begins and after any gap, one of kind Gap when a gap
	// that the store has noticed begins.
	Watch(ctx context.Context, queue string, notify func(Event)) error

	// Check audits up to r.Limit elements of a partition and returns the inconsistencies. It
	// changes nothing.
	Check(ctx context.Context, p Partition, r CheckRequest) (CheckResult, error)

	// Close releases the resources that the store has opened. It is idempotent; later calls of
	// the other methods return ErrClosed.
	Close() error
}
