package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// inspect looks at the server once, before the first call, and warns of settings under
// which messages can get lost. While the server does not answer it is tried again.
func (s *Store) inspect(ctx context.Context, op, queue string) error {
	select {
	case <-s.inspecting:
	case <-ctx.Done():
		return fail(op, queue, ctx.Err())
	case <-s.closing:
		return store.ErrClosed
	}
	defer func() { s.inspecting <- struct{}{} }()
	if s.inspected.Load() {
		return nil
	}
	if _, err := s.repeat(ctx, op, queue, func(int) (any, error) {
		return nil, s.eachServer(ctx, s.inspectServer)
	}); err != nil {
		return err
	}
	s.inspected.Store(true)
	return nil
}

func (s *Store) eachServer(ctx context.Context, do func(context.Context, redis.Cmdable) error) error {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return do(ctx, node) })
	}
	return do(ctx, s.rdb)
}

func (s *Store) inspectServer(ctx context.Context, server redis.Cmdable) error {
	info, err := server.Info(ctx).Result()
	if redis.HasErrorPrefix(err, "NOPERM") {
		s.config.Logger.WarnContext(ctx, "dueq: cannot look at the Redis server's settings",
			slog.Any("error", err), slog.String("fix", "allow INFO, or see to maxmemory-policy and persistence yourself"))
		return nil
	}
	if err != nil {
		return err
	}
	fields := infoFields(info)
	if old(fields["redis_version"]) {
		return fmt.Errorf("redis %s is %w", fields["redis_version"], errTooOld)
	}
	s.warn(ctx, fields)
	return nil
}

// warn tells what the settings of a server mean for the messages on it.
func (s *Store) warn(ctx context.Context, info map[string]string) {
	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		s.config.Logger.WarnContext(ctx, "dueq: Redis may evict messages when it is full, and they are lost",
			slog.String("maxmemory_policy", policy), slog.String("fix", "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"))
	}
	if info["aof_enabled"] == "0" {
		s.config.Logger.WarnContext(ctx, "dueq: Redis keeps no append-only file, so a crash loses everything since the last snapshot, if there is one",
			slog.String("aof_enabled", "0"), slog.String("fix", "CONFIG SET appendonly yes, and the same in redis.conf"))
	}
	if info["role"] == "slave" {
		s.config.Logger.WarnContext(ctx, "dueq: this Redis is a replica: every call fails until it is made master",
			slog.String("role", "replica"), slog.String("fix", "use the master's address, or Sentinel"))
	}
}

func infoFields(info string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// old reports whether a version is below 6.2. One that cannot be read is not: forks
// number theirs as they like.
func old(version string) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	return err == nil && err2 == nil && (major < 6 || major == 6 && minor < 2)
}
