package dueq

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
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

// Client is a connection to a store with its queues. Make one with [Open],
// [NewRedis], [NewMemory] or [New], share it, and close it at the end. All methods are
// safe for concurrent use.
type Client struct {
	store    store.Store
	name     string // of the process
	log      *slog.Logger
	producer *producer.Producer
	receiver *consumer.Receiver
	isolated consumer.Isolation   // of all its consumers
	lanes    *lane.Pool[struct{}] // for the calls that manage messages
	hooks    Hooks
	wrapped  SendFunc // with middleware or hooks; nil: there are none
	filtered bool     // by middleware

	ids    route.IDs
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
		producer: producer.New(s, name, c.SendTimeout), receiver: consumer.NewReceiver(s, uniqueNameOf(c.Name)), lanes: lane.NewPool[struct{}](name),
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
	return c.queues.Get(name, func(name string) *Queue {
		return &Queue{
			client: c, name: name, learning: make(chan struct{}, 1),
			bell: consumer.NewBell(c.open, &c.running, c.store, name),
		}
	})
}

// idleAfter is after how long a Queue is given back that nobody has asked for.
const idleAfter = 5 * time.Minute

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

// Options of a [Client]. The zero value, and nil, mean the defaults.
type Options struct {
	// Prefix of every key in Redis: 1 to 32 of A-Z a-z 0-9 . _ -. Clients with other
	// prefixes do not see each other's queues. Default "dueq". Elsewhere it is ignored.
	Prefix string
	// Replicas is how many replicas of a Redis must confirm a message before Send
	// returns without an error. Default 0: none are asked.
	Replicas int
	// ReplicaTimeout is how long Send waits for them before it returns
	// [ErrNotReplicated]. Default 1 s.
	ReplicaTimeout time.Duration
	// SendTimeout is how long Send waits for a Redis that does not answer when its ctx has
	// no deadline; then it returns [ErrUnavailable]. In a SendBatch it applies to each call
	// that the batch makes. A Send that shares a call with others may wait for up to a 32nd
	// longer. Default 10 s. A deadline of ctx takes its place, be it sooner or
	// later. Other methods without a deadline give up after 10 s. In the stores of this
	// process there are no outages: there, Send waits for as long as the disk takes.
	SendTimeout time.Duration
	// Logger gets the failures of handlers as warnings and dead letters as errors, with the
	// error, the id, the key, the attempt and the time until the next: 10 of a kind in 10 s,
	// then their number. It gets outages of the store, lost leases and warnings about a Redis
	// that is set up to lose messages; at debug level, what go-redis logs (see [Open]). It never
	// gets a body. Default [slog.Default].
	Logger *slog.Logger
	// SendMiddleware wraps Send, SendBatch and SendSeq; the first is the outermost.
	SendMiddleware []SendMiddleware
	// Hooks are called when something happens to messages.
	Hooks Hooks
	// Name of this process: 1 to 32 of A-Z a-z 0-9 . _ -. Record.Holder begins with it, where
	// no other is given in ConsumeOptions. It need not be unique. Default: the name of the
	// host without its domain, of a long one the end, and the process id.
	Name string
}

const defaultSendTimeout = 10 * time.Second

// complete returns the options with their defaults, or what is wrong with them.
func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Replicas < 0 {
		return c, invalid("replicas", "%d is negative", c.Replicas)
	}
	if c.ReplicaTimeout < 0 {
		return c, invalid("replica timeout", "%s is negative", c.ReplicaTimeout)
	}
	if c.SendTimeout < 0 {
		return c, invalid("send timeout", "%s is negative", c.SendTimeout)
	}
	if slices.ContainsFunc(c.SendMiddleware, func(m SendMiddleware) bool { return m == nil }) {
		return c, invalid("send middleware", "one is nil")
	}
	c.SendTimeout = cmp.Or(c.SendTimeout, defaultSendTimeout)
	c.Name = cmp.Or(c.Name, processName())
	return c, checkName(c.Name)
}

func invalid(field, format string, args ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format+": %w", append(args, ErrInvalid)...)}
}

// maxName leaves room for what makes a name unique: with the names of lanes behind it, it has up
// to store.MaxCallerName characters.
const maxName = 32

// uniqueName returns a name of 80 random bits for a producer or a consumer.
func uniqueName() string { return strings.ToLower(rand.Text())[:16] }

// uniqueNameOf returns a name that no other consumer has, and that begins with a given one.
func uniqueNameOf(name string) string { return name + "-" + uniqueName() }

func checkName(name string) error {
	if len(name) > maxName || strings.ContainsFunc(name, notInName) {
		return invalid("name", "%.50q: want at most %d letters, digits, '.', '_', '-'", name, maxName)
	}
	return nil
}

func notInName(r rune) bool {
	return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", r)
}

// processName returns a name for this process: host and process id. In a container
// the id is often 1, but there the host has a name of its own.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return nameOf(host, os.Getpid())
}

// nameOf returns host-pid without what may not be in a name. Names of hosts that were made by
// numbering or at random differ at the end, so that is kept of a long one.
func nameOf(host string, pid int) string {
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if notInName(r) {
			return '-'
		}
		return r
	}, host)
	behind := "-" + strconv.Itoa(pid)
	if room := maxName - len(behind); len(host) > room {
		host = host[len(host)-room:]
	}
	return cmp.Or(host, "process") + behind
}
