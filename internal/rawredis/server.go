// Package rawredis talks to the Redis behind a store, past dueq: it reads what the servers have
// used, runs the floor that dueq is compared with, and removes the keys of a run. It is for
// benchmarks: `dueq bench` and the module bench/.
package rawredis

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redisurl"
)

// Server is one Redis server, the master that Sentinels name, or all masters of a Cluster; and
// the keys of one run on it: those with a prefix.
type Server struct {
	rdb    redis.UniversalClient
	prefix string
}

// New returns the server of a client, and of the keys with a prefix of letters, digits and
// dashes. Close closes the client.
func New(rdb redis.UniversalClient, prefix string) *Server { return &Server{rdb: rdb, prefix: prefix} }

// answerTimeout is how long the server may take for one call. Removing and reading are
// fast; a batch of the floor may wait behind others.
const answerTimeout = 30 * time.Second

// Dial prepares a connection to the server of a URL that Prefixed has accepted. It
// makes no call.
func Dial(store, prefix string) (*Server, error) {
	address, err := redisurl.Parse(store)
	if err != nil {
		return nil, err
	}
	for _, ours := range []string{"prefix", "replicas", "replica_timeout", "send_timeout"} {
		address.Pop(ours)
	}
	address.Set("read_timeout", answerTimeout.String())
	address.Set("max_retries", "-1") // a floor that repeats calls would be none
	rdb, err := address.Dial()
	if err != nil {
		return nil, err
	}
	return New(rdb, prefix), nil
}

// masters calls f for each server, at the same time for all masters of a Cluster, and returns
// the first error.
func (s *Server) masters(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	switch rdb := s.rdb.(type) {
	case *redis.ClusterClient:
		return rdb.ForEachMaster(ctx, f)
	case *redis.Client:
		return f(ctx, rdb)
	default:
		return fmt.Errorf("a client of type %T, want a client of one server or of a Cluster", rdb)
	}
}

// gather calls f for each server, and merges the answers, one at a time and in no order.
func gather[T any](ctx context.Context, s *Server, f func(context.Context, *redis.Client) (T, error), merge func(T)) error {
	var mu sync.Mutex
	return s.masters(ctx, func(ctx context.Context, rdb *redis.Client) error {
		answer, err := f(ctx, rdb)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		merge(answer)
		return nil
	})
}

// Close closes the client.
func (s *Server) Close() error { return s.rdb.Close() }

// Served reports whether a URL names a Redis, rather than a store in this process.
func Served(store string) bool { return redisurl.Known(store) }

// Prefixed returns the URL of the same store with another prefix for its keys. Stores
// in this process have none.
func Prefixed(store, prefix string) string {
	if !Served(store) {
		return store
	}
	address, query := split(store)
	query.Set("prefix", prefix)
	return join(address, query)
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

// Ping returns how long the server took to answer; of a Cluster, the slowest master.
func (s *Server) Ping(ctx context.Context) (time.Duration, error) {
	slowest := time.Duration(0)
	err := gather(ctx, s, func(ctx context.Context, rdb *redis.Client) (time.Duration, error) {
		start := time.Now()
		err := rdb.Ping(ctx).Err()
		return time.Since(start), err
	}, func(took time.Duration) { slowest = max(slowest, took) })
	return slowest, err
}

// SlowCalls returns how many calls the servers have ever called slow: longer than their
// slowlog-log-slower-than, 10 ms by default. It fails where SLOWLOG is not allowed.
func (s *Server) SlowCalls(ctx context.Context) (int64, error) {
	slow := int64(0)
	err := gather(ctx, s, func(ctx context.Context, rdb *redis.Client) (int64, error) {
		last, err := rdb.SlowLogGet(ctx, 1).Result()
		if err != nil || len(last) == 0 {
			return 0, err
		}
		return last[0].ID + 1, nil
	}, func(n int64) { slow += n })
	return slow, err
}

// Clock returns how far the server's clock is ahead of this one; of a Cluster, the clock that is
// furthest ahead, so that no message is taken for early because masters differ.
func (s *Server) Clock(ctx context.Context) (time.Duration, error) {
	var all []time.Duration
	err := gather(ctx, s, clock, func(ahead time.Duration) { all = append(all, ahead) })
	if err != nil {
		return 0, fmt.Errorf("read the server's clock: %w", err)
	}
	return slices.Max(all), nil
}

// clock returns how far a clock is ahead, as seen by the quickest of several answers, or 0 if
// the way there and back explains the difference.
func clock(ctx context.Context, rdb *redis.Client) (time.Duration, error) {
	const tries = 20
	best, ahead := time.Duration(-1), time.Duration(0)
	for range tries {
		start := time.Now()
		server, err := rdb.Time(ctx).Result()
		if err != nil {
			return 0, err
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
	if err := s.masters(ctx, s.clean); err != nil {
		return fmt.Errorf("remove the keys with prefix %q: %w", s.prefix, err)
	}
	return nil
}

func (s *Server) clean(ctx context.Context, rdb *redis.Client) error {
	const atOnce = 1000
	err := rdb.Ping(ctx).Err()
	for cursor, first := uint64(0), true; err == nil && (first || cursor > 0); first = false {
		var keys []string
		if keys, cursor, err = rdb.Scan(ctx, cursor, s.prefix+":*", atOnce).Result(); err == nil {
			err = unlink(ctx, rdb, keys)
		}
	}
	return err
}

// unlink removes each key with a command of its own: the keys of one command must have the same
// slot in a Cluster.
func unlink(ctx context.Context, rdb *redis.Client, keys []string) error {
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Unlink(ctx, key)
		}
		return nil
	})
	return err
}
