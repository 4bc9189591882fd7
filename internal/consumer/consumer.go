// Package consumer runs the roles of a consumer, each with what belongs to it in a file:
//
//	consumer  starts and stops the roles
//	runner    runs the function of a role when there is something to do
//	fetch     claims messages of one partition while permits are free, or at a hint
//	capacity  how much may be held
//	backlog   deliveries that wait for a worker
//	shed      releases those that wait for too long
//	work      runs handlers
//	staff     how many workers there are
//	together  runs handlers on several deliveries at a time
//	slots     runs handlers of several queues that share a limit
//	crash     isolates handlers that may end the process, and records their start
//	recur     skips occurrences of recurring messages that no handler must get
//	held      a delivery that is held
//	verdict   what a handler returned, as a verdict
//	settle    reports verdicts to the store until it knows them
//	outcome   logs failures, within a quota, and reports the end of deliveries
//	duty      which consumer of a queue claims when
//	roster    keeps the duties of the consumers of a client
//	lease     extends the leases of held deliveries, and ends the work on those that may have run out
//	gate      holds back claims that would take such leases away
//	outage    notes and logs that a store does not answer
//
// and, for callers that receive without a loop:
//
//	receive   claims and settles, once each
//	poll      long polls over the partitions of a queue
//	bell      passes hints of the store to callers that wait
//
// Both settle and extend through calls.go, which combines requests.
//
// A role is the function of a runner, which has a goroutine only while the function runs. A consumer
// with nothing to do has only the goroutine of [Consumer.Run], which starts and stops the roles in the
// right order, and watches for hints of the store meanwhile.
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

// Consumer is one consumer of a queue.
type Consumer struct {
	config   *Config
	held     *holdings
	settler  *settler
	work     *work
	fetchers []*fetch

	finished  chan struct{} // closed when handlers have returned after an ErrRepartitioned
	abandoned error         // set before: handlers that have not
}

// New returns a consumer that can Run once. It takes over c.
func New(c *Config) *Consumer {
	if c.AtMostOnce {
		c.Prefetch = 0 // messages that wait for a worker are lost if the process dies
	}
	held := newHoldings()
	settler := newSettler(c)
	work := newWork(c, held, settler)
	n := &Consumer{config: c, held: held, settler: settler, work: work, finished: make(chan struct{})}
	for _, index := range c.claimed() {
		n.fetchers = append(n.fetchers, newFetch(c, index, work))
	}
	if c.Before != nil {
		c.Before.work.capacity.handOver(work.capacity)
		c.Before = nil // which would keep it in memory
	}
	return n
}

// Run consumes until ctx ends, then stops gracefully. It returns nil, or the error that made it
// stop: ErrClosed, ErrFailed, ErrInvalid, ErrRepartitioned or, when the queue was deleted,
// ErrNotFound of the store; or an error with the number of handlers that still run.
//
// After ErrRepartitioned handlers may still run, see Finish. Another consumer of the queue can run
// meanwhile, see Config.Before.
func (c *Consumer) Run(ctx context.Context) error {
	watching, failed := c.start(ctx)
	c.watch(watching)
	return *failed
}

// Finish waits, after an ErrRepartitioned of Run, until the handlers have returned and the store has
// their verdicts. They have Config.Grace from the end of Run's ctx on. It returns an error with the
// number of handlers that still run.
func (c *Consumer) Finish() error {
	<-c.finished
	return c.abandoned
}

// watch passes on the store's hints until ctx ends.
func (c *Consumer) watch(ctx context.Context) {
	(&wake{c.config, c.work.outage, c.held, c.fetchers, c.work.hints}).Run(ctx)
}

// start starts the roles. The context that it returns ends when the consumer has stopped; failed then
// has the result of Run.
func (c *Consumer) start(caller context.Context) (watching context.Context, failed *error) {
	life, kill := context.WithCancel(context.WithoutCancel(caller))
	ctx, stop := context.WithCancelCause(caller)
	claiming, endClaiming := context.WithCancel(life)
	watching, endWatching := context.WithCancel(context.WithoutCancel(ctx))
	c.work.start(ctx, life)
	for _, f := range c.fetchers {
		f.start(ctx, claiming, stop)
	}
	if c.config.From != 0 && c.fetchers[0].partition.Index == 0 {
		g := newGrowth(c.config, c.fetchers[0].duty)
		defer c.work.claiming.add(func() time.Duration { return g.step(ctx) }).ring()
	}
	post := c.join()
	for _, f := range c.fetchers {
		f.ring()
	}
	failed = new(error)
	context.AfterFunc(ctx, func() { // ctx also ends when a fetcher cannot continue
		defer endWatching()
		defer stop(nil)
		if cause := context.Cause(ctx); errors.Is(cause, store.ErrRepartitioned) {
			*failed = cause
			c.finishBehind(caller, endWatching, func(grace context.Context) error {
				return c.finish(life, grace, kill, endClaiming, post)
			})
			return
		}
		grace, endGrace := context.WithTimeout(life, c.config.Grace)
		defer endGrace()
		left := c.finish(life, grace, kill, endClaiming, post)
		if *failed = c.failed(); left != nil {
			*failed = errors.Join(*failed, left)
		}
	})
	return watching, failed
}

// finishBehind makes Run return, and then stops the consumer, whose handlers still hear that their
// messages are cancelled. Their grace begins at the end of caller.
func (c *Consumer) finishBehind(caller context.Context, endRun func(), finish func(grace context.Context) error) {
	watching, endWatching := context.WithCancel(context.WithoutCancel(caller))
	var watch sync.WaitGroup
	watch.Go(func() { c.watch(watching) })
	grace, endGrace := context.WithCancel(context.WithoutCancel(caller))
	defer endGrace()
	defer context.AfterFunc(caller, func() {
		pause(grace, c.config.Grace)
		endGrace()
	})()
	endRun()
	c.abandoned = finish(grace)
	endWatching()
	watch.Wait()
	close(c.finished)
}

// finish stops the consumer gracefully: handlers may continue until grace ends. It ends life by kill,
// and returns an error with the number of handlers that still run.
func (c *Consumer) finish(life, grace context.Context, kill, endClaiming context.CancelFunc, post *post) error {
	c.work.notices.Go(func() { c.retire(life, post) })
	// Calls have a second even if handlers have less.
	closing, endClosing := context.WithTimeout(life, max(c.config.Grace, unwind))
	defer endClosing()
	defer context.AfterFunc(closing, endClaiming)()
	c.work.releaseWaiting(closing)
	left := c.stop(grace, life, kill)
	c.work.tending.end()
	c.settler.hedges.Wait() // their calls have been cancelled
	c.settler.outcomes.end()
	c.settler.coalescers.Stop()
	c.leave(life)
	c.work.notices.Wait()
	return left
}

// failed returns why fetchers could not continue.
func (c *Consumer) failed() error {
	var failed []error
	for _, f := range c.fetchers {
		same := func(other error) bool { return other.Error() == f.err.Error() } // each may report that the queue was deleted
		if f.err != nil && !slices.ContainsFunc(failed, same) {
			failed = append(failed, f.err)
		}
	}
	if len(failed) == 1 {
		return failed[0]
	}
	return errors.Join(failed...)
}

// stop waits until grace ends for handlers and for the store to know their verdicts. Then it ends
// the contexts of handlers, which have abandonAfter to return; calls to the store have unwind. It
// returns how many handlers have not returned.
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

// join enters the consumer into the roster of its client.
func (c *Consumer) join() *post {
	post := newPost(c.config.Queue, c.config.Name, c.config.Partitions, func() {
		for _, f := range c.fetchers {
			if f.duty.gained() {
				f.ring()
			}
		}
	})
	if post.pinned = c.config.Pinned != nil; !post.pinned {
		for _, f := range c.fetchers {
			f.duty.post = post
		}
	}
	c.config.Roster.join(post)
	return post
}

// retire ends the duties of the consumer: others take them over while its handlers finish.
func (c *Consumer) retire(life context.Context, post *post) {
	ctx, end := context.WithTimeout(context.WithoutCancel(life), unwind)
	defer end()
	for _, f := range c.fetchers {
		if distance, consumers := f.duty.distance(); distance == 0 && consumers > 1 {
			c.work.notify(ctx, store.Event{Kind: store.EventLeft, Partition: f.partition.Index})
		}
	}
	c.config.Roster.leave(ctx, post)
}

// leave makes the partitions drop their long answers to the consumer, if the store can be reached.
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
	calls.Wait()
}

func (c *Consumer) left(err error) {
	if err != nil {
		c.config.Log.Debug("dueq: a partition could not drop its answers to a consumer; it will forget them in time",
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
