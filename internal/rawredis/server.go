// Package rawredis talks to the Redis behind a store, past dueq: it reads what the server has
// used, runs the floor that dueq is compared with, and removes the keys of a run. It is for
// benchmarks: `dueq bench` and the module bench/.
package rawredis

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is one Redis server, and the keys of one run on it: those with a prefix.
type Server struct {
	rdb    *redis.Client
	prefix string
}

// New returns the server of a client, and of the keys with a prefix of letters, digits and
// dashes. Close closes the client.
func New(rdb *redis.Client, prefix string) *Server { return &Server{rdb: rdb, prefix: prefix} }

// answerTimeout is how long the server may take for one call. Removing and reading are
// fast; a batch of the floor may wait behind others.
const answerTimeout = 30 * time.Second

// Dial prepares a connection to the server of a URL that Prefixed has accepted. It
// makes no call.
func Dial(store, prefix string) (*Server, error) {
	address, query := split(store)
	for _, ours := range []string{"prefix", "replicas", "replica_timeout", "send_timeout"} {
		query.Del(ours)
	}
	o, err := redis.ParseURL(join(address, query))
	if err != nil {
		return nil, fmt.Errorf("read the URL of the store: %w", err)
	}
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.ReadTimeout, o.MaxRetries = answerTimeout, -1 // a floor that repeats calls would be none
	return New(redis.NewClient(o), prefix), nil
}

// Close closes the client.
func (s *Server) Close() error { return s.rdb.Close() }

// Served reports whether a URL names a Redis, rather than a store in this process.
func Served(store string) bool {
	switch scheme, _, _ := strings.Cut(store, ":"); scheme {
	case "redis", "rediss", "unix":
		return true
	}
	return false
}

// Prefixed returns the URL of the same store with another prefix for its keys. Stores
// in this process have none. It refuses what is more than one server.
func Prefixed(store, prefix string) (string, error) {
	switch scheme, _, _ := strings.Cut(store, ":"); {
	case scheme == "redis+sentinel" || scheme == "redis+cluster":
		return "", fmt.Errorf("%s is more than one server, want mem: or one of redis://, rediss:// and unix://", scheme)
	case !Served(store):
		return store, nil
	}
	address, query := split(store)
	query.Set("prefix", prefix)
	return join(address, query), nil
}

// split leaves the part in front of the query as it is: it may hold a password. A query
// that cannot be read is reported by what opens the store.
func split(store string) (address string, query url.Values) {
	address, text, _ := strings.Cut(store, "?")
	query, _ = url.ParseQuery(text)
	return address, query
}

func join(address string, query url.Values) string {
	if len(query) == 0 {
		return address
	}
	return address + "?" + query.Encode()
}

// Ping returns how long the server took to answer.
func (s *Server) Ping(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	err := s.rdb.Ping(ctx).Err()
	return time.Since(start), err
}

// SlowCalls returns how many calls the server has ever called slow: longer than its
// slowlog-log-slower-than, 10 ms by default. It fails where SLOWLOG is not allowed.
func (s *Server) SlowCalls(ctx context.Context) (int64, error) {
	last, err := s.rdb.SlowLogGet(ctx, 1).Result()
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].ID + 1, nil
}

// Clock returns how far the server's clock is ahead of this one, as seen by the
// quickest of several answers, or 0 if the way there and back explains the difference.
func (s *Server) Clock(ctx context.Context) (time.Duration, error) {
	const tries = 20
	best, ahead := time.Duration(-1), time.Duration(0)
	for range tries {
		start := time.Now()
		server, err := s.rdb.Time(ctx).Result()
		if err != nil {
			return 0, fmt.Errorf("read the server's clock: %w", err)
		}
		if way := time.Since(start); best < 0 || way < best {
			best, ahead = way, server.Sub(start.Add(way/2))
		}
	}
	if ahead.Abs() <= best/2+time.Millisecond {
		return 0, nil
	}
	return ahead, nil
}

// Clean removes every key of the run, that is, every key with its prefix, which no other user
// of the server may have: it looks at all keys of the database. The server frees the memory
// in the background. Nothing may write to them any more: what was broken off on its way to
// the server is waited for by asking it something first.
func (s *Server) Clean(ctx context.Context) error {
	const atOnce = 1000
	err := s.rdb.Ping(ctx).Err()
	for cursor, first := uint64(0), true; err == nil && (first || cursor > 0); first = false {
		var keys []string
		if keys, cursor, err = s.rdb.Scan(ctx, cursor, s.prefix+":*", atOnce).Result(); err == nil && len(keys) > 0 {
			err = s.rdb.Unlink(ctx, keys...).Err()
		}
	}
	if err != nil {
		return fmt.Errorf("remove the keys with prefix %q: %w", s.prefix, err)
	}
	return nil
}
