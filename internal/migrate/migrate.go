// Package migrate copies the messages of other queues, which they keep in Redis, to a queue of dueq.
// It only reads the other queue. Docs: docs/guide/moving.md; reasons: ADR 55.
package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redisurl"
	"github.com/dueq-dev/dueq/store"
)

// Config says what is copied, and where to.
type Config struct {
	Kind   string      // one of Kinds
	From   string      // URL of the Redis that has the queue
	Name   string      // of the queue there
	Prefix string      // of its keys; "" is the default of the library
	To     *dueq.Queue // gets the messages
	Type   string      // "": all; else only tasks of this type, or jobs of this name
	Active bool        // what consumers hold is copied, too
	Keys   bool        // ids of the source become keys
	Follow bool        // go on until ctx ends, then look once more

	// Interval is the least time from one look at the source to the next; default 1 s. It is at
	// least four times as long as a look takes.
	Interval time.Duration
	Looked   func(Result) // called after each look; nil: not
	Failed   func(error)  // called when a look has failed and Follow goes on; nil: not
}

// Kinds returns the libraries whose queues can be copied.
func Kinds() []string { return []string{"asynq", "bullmq", "delayqueue"} }

// Run copies the messages. With Follow it returns when ctx has ended, after a last look that ctx
// does not end. Errors: ErrNotFound if there is no such queue, ErrInvalid, ErrQueueFull,
// ErrUnavailable; then some messages may have been copied, and a repetition copies the others.
func Run(ctx context.Context, config Config) (Result, error) {
	c, err := newCopier(config)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = c.rdb.Close() }() // it was only read
	if err := c.find(ctx); err != nil {
		return Result{}, err
	}
	r, err := c.look(ctx)
	if !config.Follow || err != nil && ctx.Err() == nil {
		return r, err
	}
	c.follow(ctx, r)
	return c.look(context.WithoutCancel(ctx))
}

type copier struct {
	Config
	rdb    redis.UniversalClient
	source source
	known  map[digest]verdict // what became of each message of the source
	why    []Reason           // verdicts other than copied and before are indexes of it
	lost   tally              // what dueq has no place for, of messages that were copied
	sent   int
	pause  time.Duration // until the next look
}

func newCopier(config Config) (*copier, error) {
	address, err := redisurl.Parse(config.From)
	if err != nil {
		return nil, err
	}
	if config.Interval == 0 {
		config.Interval = time.Second
	}
	c := &copier{Config: config, known: map[digest]verdict{}}
	if c.rdb, err = address.Dial(); err != nil {
		return nil, err
	}
	switch config.Kind {
	case "asynq":
		c.source = newAsynq(c.rdb, config.Name)
	case "bullmq":
		c.source = newBullMQ(c.rdb, config.Prefix, config.Name)
	case "delayqueue":
		c.source = newDelayqueue(c.rdb, config.Prefix, config.Name)
	default:
		_ = c.rdb.Close()
		return nil, store.Invalid("kind", "%q, want one of %q", config.Kind, Kinds())
	}
	return c, nil
}

// find returns an error if the source has no key of the queue: its name may be misspelt. A queue
// that is followed may get its first message later.
func (c *copier) find(ctx context.Context) error {
	found := int64(0)
	for _, key := range c.source.keys() {
		n, err := c.rdb.Exists(ctx, key).Result()
		if err != nil {
			return c.unreachable(err)
		}
		found += n
	}
	if found == 0 && !c.Follow {
		return fmt.Errorf("%s has no queue %q at this address: %w", c.Kind, c.Name, dueq.ErrNotFound)
	}
	return nil
}

func (c *copier) unreachable(err error) error {
	return fmt.Errorf("read %s queue %q: %w: %w", c.Kind, c.Name, err, dueq.ErrUnavailable)
}

// follow looks at the source until ctx ends.
func (c *copier) follow(ctx context.Context, r Result) {
	for err := error(nil); ; {
		switch {
		case err == nil && c.Looked != nil:
			c.Looked(r)
		case err != nil && ctx.Err() == nil && c.Failed != nil:
			c.Failed(err)
		}
		timer := time.NewTimer(max(c.Interval, c.pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		r, err = c.look(ctx)
	}
}

// look copies what is in the source and was not known, and compares the counts.
func (c *copier) look(ctx context.Context) (Result, error) {
	start := time.Now()
	defer func() { c.pause = 4 * time.Since(start) }()
	l := &look{copier: c, seen: map[digest]verdict{}, states: map[string]*State{}}
	for _, s := range c.sets() {
		l.state(s.state) // in this order
		if s.skip != "" {
			continue
		}
		if err := s.each(ctx, c.rdb, func(page []item) error { return l.page(ctx, s, page) }); err != nil {
			return l.result(), err
		}
	}
	c.known = l.seen // what has left the source is forgotten
	err := l.count(ctx)
	return l.result(), err
}

// sets returns the sets of the source, in the direction in which messages move, so that one that
// moves meanwhile is met once at least.
func (c *copier) sets() []set {
	all := c.source.sets()
	for i := range all {
		if c.Active && all[i].active {
			all[i].skip = ""
		}
	}
	return all
}
