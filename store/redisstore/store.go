// Package redisstore keeps queues on Redis or Valkey: one server or Sentinel from Redis 6.2
// on, Cluster from 7.0 on.
//
// Every operation on a partition is one Lua script (scripts/*.lua), so it happens as a
// whole. docs/REDIS.md describes the keys, the records and each script.
package redisstore

import (
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/store"
)

// Config of a Store. The zero value means the documented defaults.
type Config struct {
	Prefix         string        // of every key, ^[A-Za-z0-9._-]{1,32}$; "": "dueq"
	Replicas       int           // that must have a push before it returns; 0: none
	ReplicaTimeout time.Duration // how long to wait for them, whole ms; 0: 1 s
	PushTimeout    time.Duration // how long a push without a deadline is repeated; 0: 10 s
	Logger         *slog.Logger  // nil: slog.Default()
}

// Store is a store.Store on Redis. It is safe for concurrent use.
type Store struct {
	rdb     redis.UniversalClient
	owned   bool
	kind    store.Kind
	config  Config
	scripts map[string]*script
	sharded bool // on a Cluster: events are published within their slot

	pipelines *pipelines
	hub       *hub
	dials     *dials // nil: the client is the caller's

	closed  atomic.Bool
	closing chan struct{} // closed by Close
	close   sync.Once

	servers  sync.Map // address -> *inspection
	idle     idleClaims
	consumed consumed
	known    sync.Map // queue -> *knownSettings: the latest that this Store has seen
	tidy     *idle.Ticker
	began    time.Time
}

var _ store.Store = (*Store)(nil)

// New returns a store on rdb, which the caller keeps, and closes after the store. It
// makes no call. Errors: ErrInvalid, for the config.
//
// The store repeats calls until the context's deadline; without one for 10 s, and pushes
// for PushTimeout. Give rdb
// ContextTimeoutEnabled, or else a call to a server that hangs lasts until rdb's
// ReadTimeout, whatever the context says, and a ClusterClient DisableRoutingPolicies, or
// else a node that hangs can delay calls to the others.
func New(rdb redis.UniversalClient, c Config) (*Store, error) {
	if c.Prefix == "" {
		c.Prefix = "dueq"
	}
	if c.ReplicaTimeout == 0 {
		c.ReplicaTimeout = time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.PushTimeout == 0 {
		c.PushTimeout = callTimeout
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		rdb: rdb, kind: store.KindRedis, config: c, pipelines: newPipelines(rdb), closing: make(chan struct{}),
		began: time.Now(), consumed: consumed{members: map[store.Member]bool{}},
	}
	s.scripts, s.sharded = library(), s.pipelines.cluster != nil
	if s.sharded {
		s.scripts = shardedLibrary()
	}
	s.tidy = s.newTidy()
	s.hub = newHub(s)
	return s, nil
}

// Close ends calls that are being repeated, and watches. It closes the client only if
// the store was made by Open.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		s.closed.Store(true)
		close(s.closing)
		s.tidy.Stop()
		if s.owned {
			err = s.rdb.Close()
		}
	})
	return err
}

func (c Config) validate() error {
	switch {
	case !regexp.MustCompile(`^[A-Za-z0-9._-]{1,32}$`).MatchString(c.Prefix):
		return store.Unfit("prefix", c.Prefix, ": want 1 to 32 letters, digits, '.', '_', '-'")
	case c.Replicas < 0:
		return store.Negative("replicas", c.Replicas)
	case c.ReplicaTimeout < time.Millisecond:
		return store.Invalid("replica timeout", "%s is less than 1 ms", c.ReplicaTimeout)
	case c.PushTimeout < 0:
		return store.Negative("push timeout", c.PushTimeout)
	}
	return nil
}
