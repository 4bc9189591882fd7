package dueq

import (
	"fmt"
	"log/slog"
	"time"
)

// Config of a [Client]. The zero value is good for most.
type Config struct {
	// Prefix of every key in Redis: 1 to 32 of A-Z a-z 0-9 . _ -. Clients with other
	// prefixes do not see each other's queues. Default "dueq". Elsewhere it is ignored.
	Prefix string
	// Replicas is how many replicas of a Redis must confirm a message before Send
	// returns without an error. Default 0: none are asked.
	Replicas int
	// ReplicaTimeout is how long Send waits for them before it returns
	// [ErrNotReplicated]. Default 1 s.
	ReplicaTimeout time.Duration
	// Logger gets outages of the store, lost leases and warnings about a Redis that is
	// set up to lose messages; never a body. Default [slog.Default].
	Logger *slog.Logger
}

// onlyConfig returns the one Config given, or the default.
func onlyConfig(configs []Config) (Config, error) {
	var c Config
	if len(configs) > 1 {
		return c, invalid("config", "%d are given, want at most one", len(configs))
	}
	if len(configs) == 1 {
		c = configs[0]
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
	return c, nil
}

func invalid(field, format string, args ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format+": %w", append(args, ErrInvalid)...)}
}
