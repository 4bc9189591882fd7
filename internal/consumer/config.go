package consumer

import (
	"context"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Config configures a Consumer. All fields are set and valid; those that may be 0 or nil say so.
type Config struct {
	Store      store.Store
	Queue      string
	Partitions int
	From       int    // Settings.From
	Pinned     []int  // the only partitions that it claims from, in order; nil: all, with duties
	Name       string // unique: it identifies the claims of one Consumer
	Roster     *Roster
	Isolation  *Isolation
	Log        *slog.Logger

	Handle  func(context.Context, *Held) error
	Backoff func(*Held, error) time.Duration

	// HandleBatch, if it is set, is called instead of Handle, with up to Batch deliveries. It
	// returns one result for each delivery, in order.
	HandleBatch func(context.Context, []*Held) []error
	Batch       int
	Linger      time.Duration // how long the first delivery of a batch waits for others

	Share *Share // of slots, which handlers need to run; nil: Concurrency handlers run at a time. Not with HandleBatch.

	Observe func(Outcome) // called at the end of each delivery that a handler was given, or that no handler gets; may be nil

	Before *Consumer // the one that this succeeds: as long as handlers of that run, fewer of this do; may be nil

	Concurrency   int
	Prefetch      int // 0: none
	PrefetchBytes int
	Lease         time.Duration
	Timeout       time.Duration // 0: none
	Grace         time.Duration
	MaxHold       time.Duration // 0: none
	AtMostOnce    bool
}

const (
	// callTimeout is the timeout of a call whose caller has no deadline.
	callTimeout = 5 * time.Second
	// abandonAfter is how long handlers have to return after their context has ended.
	abandonAfter = 5 * time.Second
	// unwind is how long workers have to return from calls that were cancelled.
	unwind = time.Second
)

// workers returns how many deliveries handlers can work on at a time.
func (c *Config) workers() int {
	if c.HandleBatch == nil {
		return c.Concurrency
	}
	return c.Concurrency * c.Batch
}

const (
	// A delivery whose lease has run out is wanted for the time of one more lease, within these
	// limits. For that long it takes up a permit and holds back claims.
	minOvertime = 10 * time.Second
	maxOvertime = 5 * time.Minute
)

// overtime returns how long a delivery is wanted after the end of its lease.
func (c *Config) overtime() time.Duration { return min(max(c.Lease, minOvertime), maxOvertime) }

// extendEvery returns the interval at which leases are extended that are due for it.
func (c *Config) extendEvery() time.Duration { return c.Lease / 6 }

// lookEvery returns the interval at which leases are checked.
func (c *Config) lookEvery() time.Duration { return min(c.Lease/10, time.Second) }

// margin returns how long before its end a lease is given up: two intervals, so that a lease
// which was just outside the margin at one check is still given up in time at the next.
func (c *Config) margin() time.Duration { return 2 * c.lookEvery() }

// claimed returns the partitions that the consumer claims from, in order.
func (c *Config) claimed() []int {
	if c.Pinned != nil {
		return c.Pinned
	}
	all := make([]int, c.Partitions)
	for i := range all {
		all[i] = i
	}
	return all
}
