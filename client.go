package dueq

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/internal/lane"
	"github.com/dueq-dev/dueq/internal/producer"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// Client is a connection to a store and its queues. Make one with [Open], [NewRedis], [NewMemory]
// or [New], share it, and close it at the end. All methods are safe for concurrent use.
type Client struct {
	store    store.Store
	name     string // of the process
	log      *slog.Logger
	producer *producer.Producer
	receiver *consumer.Receiver
	roster   *consumer.Roster     // of all its consumers
	isolated consumer.Isolation   // likewise
	lanes    *lane.Pool[struct{}] // for the calls that manage messages
	hooks    Hooks
	wrapped  SendFunc // sends with middleware; nil: there is none

	ids    route.IDs
	queues *idle.Map[string, *Queue]

	open    context.Context // ends when Close is called
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // calls that Close waits for
	close   func() error   // once
}

// New returns a client of a store that another package has made. Close closes the store. In o
// (nil: defaults), Prefix, Replicas and ReplicaTimeout are ignored. Errors: [ErrInvalid] for o,
// or if s is nil; s is then not closed.
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
	s = c.Hooks.observe(s)
	client := &Client{
		store: s, name: c.Name, log: c.Logger, hooks: c.Hooks,
		producer: producer.New(s, name, c.SendTimeout), receiver: consumer.NewReceiver(s, uniqueNameOf(c.Name)), lanes: lane.NewPool[struct{}](name),
		open: ctx, queues: idle.NewMap[string, *Queue](idleAfter, nil),
	}
	client.roster = consumer.NewRoster(s, uniqueNameOf(c.Name), &client.running, c.Logger)
	client.wrapped = client.wrap(c.SendMiddleware)
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

// leaveTimeout bounds the time of Close when the store does not answer.
const leaveTimeout = time.Second

// leave makes the store drop the answers that it remembers for this client's claims. The store
// forgets the others after an hour.
func (c *Client) leave() {
	ctx, end := context.WithTimeout(context.WithoutCancel(c.open), leaveTimeout)
	defer end()
	if err := c.receiver.Leave(ctx); err != nil {
		c.log.DebugContext(ctx, "dueq: could not deregister the client; it will be forgotten in time", slog.Any("error", err))
	}
}

// Queue returns the queue with the given name: 1 to 128 of A-Z a-z 0-9 . _ -, a letter or digit
// first. It makes no call: the store makes a queue with its first message or consumer. With a bad
// name every method of the queue returns [ErrInvalid]. A program can use any number of queues: a
// client drops the state of a queue some minutes after its last use. A Queue may be kept, or
// requested for each use.
func (c *Client) Queue(name string) *Queue {
	if err := store.ValidateQueue(name); err != nil {
		return &Queue{client: c, name: name, invalid: err}
	}
	return c.queues.Get(name, func(name string) *Queue {
		q := &Queue{
			client: c, name: name, learning: make(chan struct{}, 1),
			bell: consumer.NewBell(c.open, &c.running, c.store, name),
		}
		q.roundRobin.Avoid = q.silent
		return q
	})
}

// Store returns the store that the client uses, for packages that give others access to it, such as
// dueqhttp. It keeps the promises of package store only: [Queue] has those of this package. Do not
// close it: Close does.
func (c *Client) Store() store.Store { return c.store }

// idleAfter is the time without a use after which a Queue is dropped.
const idleAfter = 5 * time.Minute

// Close ends every Receive and Consume of the client with [ErrClosed], waits for them (a Consume
// first finishes as its Grace allows), and closes what Open opened. It is idempotent and may be
// called at any time, but not from inside a handler, for which it would wait. Messages that are
// held and not settled are delivered again when their leases have run out. If the client has
// claimed more than a few messages at a time, Close makes the store drop what it remembers of
// these claims: one call for each partition, for at most a second.
func (c *Client) Close() error { return c.close() }

// numbered makes a call with a name and a number that no other call of this client has, so that
// the store recognizes a repetition and gives it the answer of the first try.
func numbered[T any](c *Client, call func(caller string, number uint64) (T, error)) (T, error) {
	l := c.lanes.Take()
	defer c.lanes.Give(l)
	l.Number++
	return call(l.Name, l.Number)
}

// guard returns the reason why no call may be made, nil if there is none.
func (c *Client) guard(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.open.Err() != nil {
		return ErrClosed
	}
	return nil
}

// enter returns a ctx that Close ends. Close waits until leave is called.
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

// Options of a [Client]. The zero value and nil mean the defaults.
type Options struct {
	// Prefix of every key in Redis: 1 to 32 of A-Z a-z 0-9 . _ -. Clients with different prefixes
	// do not see each other's queues. Default "dueq". Other stores ignore it.
	Prefix string
	// Replicas is how many replicas of a Redis must confirm a message before Send returns without
	// an error. Default 0: Send does not wait for replicas.
	Replicas int
	// ReplicaTimeout is how long Send waits for them before it returns
	// [ErrNotReplicated]. Default 1 s.
	ReplicaTimeout time.Duration
	// SendTimeout is how long Send waits for a Redis that does not answer when its ctx has no
	// deadline; then it returns [ErrUnavailable]. In a SendBatch it applies to each call that the
	// batch makes. A Send that shares a call with others may wait for up to a 32nd longer.
	// Default 10 s. A deadline of ctx replaces it, whether sooner or later. Other methods without
	// a deadline return after 10 s. The embedded stores ignore it: there, Send waits for as long
	// as the disk takes.
	SendTimeout time.Duration
	// Logger logs failures of handlers as warnings and dead letters as errors, with the error,
	// the id, the key, the attempt and the time until the next: up to 10 of a kind in 10 s, then
	// the number of the others. It also logs outages of the store, lost leases, warnings about a
	// Redis whose configuration can lose messages and, at debug level, the lines of go-redis (see
	// [Open]). Bodies are never logged. Default [slog.Default].
	Logger *slog.Logger
	// SendMiddleware wraps Send, SendBatch and SendSeq; the first is the outermost.
	SendMiddleware []SendMiddleware
	// Hooks are called at events of messages.
	Hooks Hooks
	// Name of this process: 1 to 32 of A-Z a-z 0-9 . _ -. Record.Holder begins with it, unless
	// ConsumeOptions has another. It need not be unique. Default: the name of the host without
	// its domain, of a long one the end, and the process id.
	Name string
}

const defaultSendTimeout = 10 * time.Second

// complete returns the options with their defaults, or an error if they are invalid.
func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Replicas < 0 {
		return c, negative("replicas", c.Replicas)
	}
	if c.ReplicaTimeout < 0 {
		return c, negative("replica timeout", c.ReplicaTimeout)
	}
	if c.SendTimeout < 0 {
		return c, negative("send timeout", c.SendTimeout)
	}
	if slices.ContainsFunc(c.SendMiddleware, func(m SendMiddleware) bool { return m == nil }) {
		return c, invalid("send middleware", "one is nil")
	}
	c.SendTimeout = cmp.Or(c.SendTimeout, defaultSendTimeout)
	c.Name = cmp.Or(c.Name, processName())
	return c, checkName(c.Name)
}

// maxName leaves space for the text that makes a name unique and the names of lanes: together they
// have up to store.MaxCallerName characters.
const maxName = 32

// uniqueName returns a name of 80 random bits for a producer or a consumer.
func uniqueName() string { return strings.ToLower(rand.Text())[:16] }

// uniqueNameOf returns a name that no other consumer has, and that begins with a given one.
func uniqueNameOf(name string) string { return name + "-" + uniqueName() }

func checkName(name string) error {
	if len(name) > maxName || strings.ContainsFunc(name, notInName) {
		return unfit("name", name, ": want at most %d letters, digits, '.', '_', '-'", maxName)
	}
	return nil
}

func notInName(r rune) bool {
	return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", r)
}

// processName returns a name for this process: host and process id. In a container the id is
// often 1, but the container has its own host name.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return nameOf(host, os.Getpid())
}

// nameOf returns host-pid without the characters that a name must not have. Generated names of
// hosts differ at the end, so the end of a long one is kept.
func nameOf(host string, pid int) string {
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if notInName(r) {
			return '-'
		}
		return r
	}, host)
	behind := "-" + strconv.Itoa(pid)
	if left := maxName - len(behind); len(host) > left {
		host = host[len(host)-left:]
	}
	return cmp.Or(host, "process") + behind
}
