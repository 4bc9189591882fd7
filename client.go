package dueq

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/internal/lane"
	"github.com/dueq-dev/dueq/internal/producer"
	"github.com/dueq-dev/dueq/internal/receiver"
	"github.com/dueq-dev/dueq/store"
)

// Client is a connection to a store with its queues. Make one with [Open],
// [NewRedis], [NewMemory] or [New], share it, and close it at the end. All methods are
// safe for concurrent use.
type Client struct {
	store    store.Store
	name     string // of the process
	log      *slog.Logger
	producer *producer.Producer
	receiver *receiver.Receiver
	isolated consumer.Isolation   // of all its consumers
	lanes    *lane.Pool[struct{}] // for the calls that manage messages
	hooks    Hooks
	wrapped  SendFunc // with middleware or hooks; nil: there are none
	filtered bool     // by middleware

	queues *idle.Map[string, *Queue]

	open    context.Context // ends when Close is called
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // what Close waits for
	close   func() error   // once
}

// New returns a client of any store, for one that another package has made. Close
// closes the store. Of o (nil: defaults), Prefix, Replicas and
// ReplicaTimeout do not matter. Errors:
// [ErrInvalid] for o, or if s is nil; s is then not closed.
func New(s store.Store, o *Options) (*Client, error) {
	c, err := o.complete()
	if err == nil && s == nil {
		err = invalid("store", "is nil")
	}
	if err != nil {
		return nil, fail("open", "", "", err)
	}
	return newClient(s, c, s.Close), nil
}

func newClient(s store.Store, c Options, closeStore func() error) *Client {
	ctx, end := context.WithCancel(context.Background())
	name := uniqueName()
	client := &Client{
		store: s, name: c.Name, log: c.Logger, hooks: c.Hooks,
		producer: producer.New(s, name, c.SendTimeout), receiver: receiver.New(s, uniqueNameOf(c.Name)), lanes: lane.NewPool[struct{}](name),
		open: ctx, queues: idle.NewMap[string, *Queue](idleAfter, nil),
	}
	client.wrapped, client.filtered = client.wrap(c.SendMiddleware), len(c.SendMiddleware) > 0
	client.close = sync.OnceValue(func() error {
		client.mu.Lock()
		client.closed = true
		client.mu.Unlock()
		end()
		client.running.Wait()
		client.leave()
		client.queues.Stop()
		client.producer.Stop()
		client.receiver.Stop()
		return closeStore()
	})
	return client
}

// leaveTimeout bounds what Close costs when the store does not answer.
const leaveTimeout = time.Second

// leave has the store drop what it remembers of this client's claims. What it does not
// drop, it forgets in an hour.
func (c *Client) leave() {
	ctx, end := context.WithTimeout(context.WithoutCancel(c.open), leaveTimeout)
	defer end()
	if err := c.receiver.Leave(ctx); err != nil {
		c.log.DebugContext(ctx, "dueq: could not deregister the client; it will be forgotten in time", slog.Any("error", err))
	}
}

// Queue returns the queue with the given name: 1 to 128 of A-Z a-z 0-9 . _ -, a
// letter or digit first. Nothing is sent to the store: a queue comes into being with
// its first message or consumer. With a bad name every method of the queue returns [ErrInvalid].
// A program can use any number of queues: what a client keeps of one is given back some
// minutes after its last use. So a Queue can be kept, or asked for each time.
func (c *Client) Queue(name string) *Queue {
	if err := store.ValidateQueue(name); err != nil {
		return &Queue{client: c, name: name, invalid: err}
	}
	return c.queues.Get(name, func(name string) *Queue { return &Queue{client: c, name: name} })
}

// idleAfter is after how long a Queue is given back that nobody has asked for.
const idleAfter = 5 * time.Minute

// Stats returns sizes and counters of every queue in the order of their names; none
// is not an error. Costs one read of each partition.
func (c *Client) Stats(ctx context.Context) ([]Stats, error) {
	if err := c.guard(ctx); err != nil {
		return nil, fail("stats", "", "", err)
	}
	found, err := c.store.Stats(ctx, "")
	if err != nil {
		return nil, fail("stats", "", "", err)
	}
	all := make([]Stats, len(found))
	for i := range found {
		all[i] = toStats(&found[i])
	}
	return all, nil
}

// Close ends every Receive and Consume of the client with [ErrClosed], waits for
// them (a Consume first finishes as its Grace allows), and closes what Open opened.
// It is idempotent and may be called at any time, but not from inside a handler, for
// which it would wait. Messages that are held and not settled come back when their
// leases have run out. Where it has claimed more than a few messages, it has the store
// drop what it remembers of that: one call for each partition, a second at most.
func (c *Client) Close() error { return c.close() }

// numbered makes a call under a name and a number that no other call of this client has, so
// that the store knows its repetitions and answers them as it answered the first.
func numbered[T any](c *Client, call func(caller string, number uint64) (T, error)) (T, error) {
	l := c.lanes.Take()
	defer c.lanes.Give(l)
	l.Number++
	return call(l.Name, l.Number)
}

// guard returns why no call may be made, if there is a reason.
func (c *Client) guard(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.open.Err() != nil {
		return ErrClosed
	}
	return nil
}

// enter makes Close wait until leave is called, and end the ctx that is returned.
func (c *Client) enter(ctx context.Context) (entered context.Context, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	c.running.Add(1)
	ctx, end := context.WithCancel(ctx)
	forget := context.AfterFunc(c.open, end)
	return ctx, func() {
		forget()
		end()
		c.running.Done()
	}, nil
}
