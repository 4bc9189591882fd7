package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// clustered is what a Cluster client has beside a UniversalClient.
type clustered interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ReloadState(ctx context.Context)
}

// tryReplicated runs a script once, and WAIT behind it on the same connection: WAIT
// speaks of what its own connection saw written, and has no key to be routed by.
// Too few replicas is an unknown outcome: they may still get it.
func (s *Store) tryReplicated(ctx context.Context, c call) (any, error) {
	node, err := s.master(ctx, c.keys[0])
	if err != nil {
		return nil, err
	}
	answer, err := s.tryWait(ctx, node, c, "evalsha", c.script.sha)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = s.tryWait(ctx, node, c, "eval", c.script.source)
	}
	if cluster, ok := s.rdb.(clustered); ok && redis.HasErrorPrefix(err, "MOVED") {
		cluster.ReloadState(ctx)
	}
	return answer, err
}

func (s *Store) tryWait(ctx context.Context, node redis.UniversalClient, c call, verb, text string) (any, error) {
	cmd := c.command(ctx, verb, text)
	wait := redis.NewCmd(ctx, "wait", s.config.Replicas, s.config.ReplicaTimeout.Milliseconds())
	pipe := node.Pipeline()
	_ = pipe.Process(ctx, cmd)
	_ = pipe.Process(ctx, onceCmd{wait})
	_, failed := pipe.Exec(ctx)
	answer, err := reply(cmd, cmd.Err())
	if err != nil {
		return nil, err
	}
	if _, refused, err := otherSettings(answer); refused {
		return answer, err // nothing was written that replicas could have
	}
	if err := wait.Err(); err != nil {
		return nil, err
	}
	if failed != nil && !errors.Is(failed, redis.Nil) {
		return nil, failed
	}
	if got, _ := wait.Int(); got < s.config.Replicas {
		return nil, fmt.Errorf("%d of %d replicas within %s: %w",
			got, s.config.Replicas, s.config.ReplicaTimeout, store.ErrNotReplicated)
	}
	return answer, nil
}

// master returns a client whose pipelines go to the server that has the key, each on one
// connection.
func (s *Store) master(ctx context.Context, key string) (redis.UniversalClient, error) {
	if cluster, ok := s.rdb.(clustered); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return s.rdb, nil
}
