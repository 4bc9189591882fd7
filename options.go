package dueq

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

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
	// that the batch makes. Default 10 s. A deadline of ctx takes its place, be it sooner or
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
