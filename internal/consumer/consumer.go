// Package consumer runs the loops of a consumer, one role a file:
//
//	fetch      claims messages of one partition when there is room for them
//	work       runs handlers
//	together   runs handlers on several deliveries at a time
//	slots      divides the places for handlers between the consumers of several queues
//	dispatch   runs handlers when there are slots for them
//	recur      leaves out occurrences of recurring messages that no handler is to see
//	suspect    records the start of handlers that may end the process
//	isolate    runs these handlers apart
//	shed       releases what waits for a worker for too long
//	settle     reports verdicts to the store
//	outcome    logs what has failed, within a quota, and reports the end of deliveries
//	extend     prolongs the leases of what is held
//	lapse      ends the work on leases that could have run out
//	gate       holds claims back that would take such leases away
//	wake       passes the store's hints on to the fetchers and to handlers
//	heartbeat  says that the consumer is alive
//
// A role that runs has one method Run(ctx), which blocks until ctx ends and everything
// it started has stopped. Run of [Consumer] starts and stops them in the right order.
package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
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

	Observe func(Outcome) // of what a handler was given; nil: nobody wants to know

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

// Consumer is one consumer of a queue.
type Consumer struct {
	config   Config
	outage   *outage
	held     *holdings
	settler  *settler
	work     *work
	fetchers []*fetch
}

// places is how many deliveries handlers can work on at a time.
func (c *Config) places() int {
	if c.HandleBatch == nil {
		return c.Concurrency
	}
	return c.Concurrency * c.Batch
}

// New returns a consumer that can Run once.
func New(c Config) *Consumer {
	if c.AtMostOnce {
		c.Prefetch = 0 // what waits for a worker when the process dies is lost
	}
	outage := &outage{log: c.Log, failing: map[string]bool{}}
	held := newHoldings()
	settler := newSettler(c)
	work := newWork(c, held, settler)
	n := &Consumer{config: c, outage: outage, held: held, settler: settler, work: work}
	for index := range c.Partitions {
		n.fetchers = append(n.fetchers, newFetch(c, index, work, outage))
	}
	return n
}

// Run consumes until ctx ends, then stops gracefully. It returns nil, or why it could
// not go on: an error of kind ErrClosed, ErrFailed, ErrInvalid, ErrRepartitioned or, when the
// queue was deleted, ErrNotFound of the store, or one with the number of handlers that still run.
func (c *Consumer) Run(ctx context.Context) error {
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tending, endTending := context.WithCancel(life)
	defer endTending()
	tended := c.tend(tending)
	c.work.start(ctx, life)

	claiming, endClaiming := context.WithCancel(life)
	defer endClaiming()
	fetched := c.fetch(ctx, claiming, stop)
	<-ctx.Done() // also when a fetcher cannot go on
	grace, endGrace := context.WithTimeout(life, c.config.Grace)
	defer endGrace()
	// Calls get a second even when handlers get less.
	closing, endClosing := context.WithTimeout(life, max(c.config.Grace, unwind))
	defer endClosing()
	defer context.AfterFunc(closing, endClaiming)()
	c.work.releaseWaiting(closing, fetched.done)
	<-fetched.done
	left := c.stop(grace, life, kill)
	endTending()
	tended.Wait()
	c.settler.hedges.Wait() // what they wait for has been cancelled
	c.settler.outcomes.end()
	c.settler.coalescers.Stop()
	c.leave(life)
	if left == nil {
		return fetched.err
	}
	return errors.Join(fetched.err, left)
}

// tend starts the roles that look after what is held for as long as something is.
func (c *Consumer) tend(ctx context.Context) *sync.WaitGroup {
	var running sync.WaitGroup
	running.Go(func() { (&wake{c.config, c.outage, c.held, c.fetchers}).Run(ctx) })
	running.Go(func() { (&heartbeat{c.config, c.outage}).Run(ctx) })
	if !c.config.AtMostOnce {
		running.Go(func() { (&extend{c.config, c.outage, c.held, c.settler.outcomes}).Run(ctx) })
		running.Go(func() { newLapse(c.work).Run(ctx) })
	}
	return &running
}

// fetching is the fetchers at work.
type fetching struct {
	done chan struct{}
	err  error // once done
}

// fetch runs the fetchers until ctx ends; the first that cannot go on calls stop.
func (c *Consumer) fetch(ctx, life context.Context, stop context.CancelFunc) *fetching {
	f := &fetching{done: make(chan struct{})}
	errs := make([]error, len(c.fetchers))
	var running sync.WaitGroup
	if !c.config.AtMostOnce {
		running.Go(func() { (&shed{c.work}).Run(ctx) })
	}
	for i, fetcher := range c.fetchers {
		running.Go(func() {
			defer stop()
			errs[i] = fetcher.Run(ctx, life)
		})
	}
	go func() {
		defer close(f.done)
		running.Wait()
		failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
		failed = slices.CompactFunc(failed, sameText) // all can say that the queue was deleted
		if f.err = errors.Join(failed...); len(failed) == 1 {
			f.err = failed[0]
		}
	}()
	return f
}

func sameText(a, b error) bool { return a.Error() == b.Error() }

// stop waits until grace ends for handlers and for the store to know their verdicts.
// Then it ends the contexts of handlers, which have abandonAfter to return, and the store
// has unwind. It returns how many handlers it had to leave behind.
func (c *Consumer) stop(grace, life context.Context, kill context.CancelFunc) error {
	returned, done := c.work.finish()
	select {
	case <-done:
	case <-grace.Done():
		c.held.stopAll(store.ErrClosed)
		within(abandonAfter, returned)
		if !within(unwind, done) {
			last, end := context.WithTimeout(life, unwind)
			c.work.release(last, c.held.all())
			end()
		}
	}
	kill()
	if n := c.work.running.Load(); !within(unwind, done) && n > 0 {
		return fmt.Errorf("%d handlers still run, %s after the end of their context", n, abandonAfter)
	}
	return nil
}

// leave takes the consumer out of the list of live ones, and has the partitions drop their
// long answers to it, if the store answers.
func (c *Consumer) leave(life context.Context) {
	ctx, end := context.WithTimeout(context.WithoutCancel(life), unwind)
	defer end()
	var calls sync.WaitGroup
	for _, f := range c.fetchers {
		if f.answered > store.ShortAnswer {
			calls.Go(func() {
				c.left(c.config.Store.Leave(ctx, f.partition, store.LeaveRequest{Consumers: []string{c.config.Name}}))
			})
		}
	}
	c.left(c.config.Store.Heartbeat(ctx, c.config.Queue, store.HeartbeatRequest{Consumer: c.config.Name}))
	calls.Wait()
}

func (c *Consumer) left(err error) {
	if err != nil {
		c.config.Log.Debug("dueq: could not deregister consumer; it will be forgotten in time",
			slog.String("queue", c.config.Queue), slog.String("consumer", c.config.Name), slog.Any("error", err))
	}
}

// within reports whether done is closed before d has passed.
func within(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
