package consumer

import (
	"context"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Config of a Consumer. All fields are set and valid, but for the spans that may be 0.
type Config struct {
	Store      store.Store
	Queue      string
	Partitions int
	Name       string // never used again: it stands for the claims of one Consumer
	Isolation  *Isolation
	Log        *slog.Logger

	Handle  func(context.Context, *Held) error
	Backoff func(*Held, error) time.Duration

	// HandleBatch, if it is set, is called instead of Handle, with up to Batch deliveries.
	// It returns the result of each.
	HandleBatch func(context.Context, []*Held) []error
	Batch       int
	Linger      time.Duration // how long the first delivery of a batch waits for others

	Share *Share // of slots, without which no handler runs; nil: Concurrency run at a time. Not with HandleBatch.

	Observe func(Outcome) // of what a handler was given; nil: it is not reported

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
	// callTimeout bounds a call whose caller has no deadline of its own.
	callTimeout = 5 * time.Second
	// abandonAfter is how long handlers may ignore the end of their context.
	abandonAfter = 5 * time.Second
	// unwind is how long workers get to return from calls that were cut short.
	unwind = time.Second
)

// places is how many deliveries handlers can work on at a time.
func (c *Config) places() int {
	if c.HandleBatch == nil {
		return c.Concurrency
	}
	return c.Concurrency * c.Batch
}

const (
	// A delivery is still wanted for another lease after the end of its own, within these
	// limits: for that long it takes up a place, and holds back claims.
	minOvertime = 10 * time.Second
	maxOvertime = 5 * time.Minute
)

// overtime is for how long a delivery is wanted after the end of its lease.
func (c *Config) overtime() time.Duration { return min(max(c.Lease, minOvertime), maxOvertime) }

// lookEvery is how often leases are looked at.
func (c *Config) lookEvery() time.Duration { return min(c.Lease/10, time.Second) }

// margin is how long before its end a lease is given up, so that this happens in time
// also when it was just not so far at the last look.
func (c *Config) margin() time.Duration { return 2 * c.lookEvery() }
