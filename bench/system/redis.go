package system

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/bench/peer"
)

// connect returns the client of every design in Go, with the default settings of go-redis.
func connect(env peer.Env) *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: env.RedisSocket})
}

// dueMs is a score of a sorted set.
func dueMs(m peer.Message) float64 { return float64(m.Due.UnixMilli()) }

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// quiet returns nil for the error of a call that was cancelled by the end of the consumer.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // that it was cut short is no failure
	}
	return err
}
