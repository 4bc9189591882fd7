package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/rawredis"
)

// Redis is a redis-server without persistence on a unix socket.
type Redis struct {
	Socket string
	cmd    *exec.Cmd
	rdb    *redis.Client
	raw    *rawredis.Server // the same server, for its statistics
}

// StartRedis starts the program in DUEQ_REDIS_SERVER, or redis-server.
func StartRedis(ctx context.Context, dir string) (*Redis, error) {
	program := os.Getenv("DUEQ_REDIS_SERVER")
	if program == "" {
		program = "redis-server"
	}
	r := &Redis{Socket: filepath.Join(dir, "redis.sock")}
	var err error
	r.cmd, err = start(filepath.Join(dir, "redis.log"), nil, program,
		"--port", "0", "--unixsocket", r.Socket, "--unixsocketperm", "700",
		"--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no")
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	r.rdb = redis.NewClient(&redis.Options{Network: "unix", Addr: r.Socket, PoolSize: 1})
	r.raw = rawredis.New(r.rdb, "")
	if err := await(ctx, func() error { return r.rdb.Ping(ctx).Err() }); err != nil {
		return nil, fmt.Errorf("start %s, log in %s: %w", program, dir, err)
	}
	return r, nil
}

// CPU is user and system time as Redis reports it.
func (r *Redis) CPU(ctx context.Context) (time.Duration, error) { return r.raw.CPU(ctx) }

// Memory is what Redis has allocated, without the buffers of clients.
func (r *Redis) Memory(ctx context.Context) (int64, error) {
	now, err := r.raw.Read(ctx)
	return now.Memory, err
}

// Reset empties the server and restores settings that a queue may have changed.
func (r *Redis) Reset(ctx context.Context) error {
	if err := r.rdb.FlushAll(ctx).Err(); err != nil {
		return err
	}
	if err := r.rdb.ScriptFlush(ctx).Err(); err != nil {
		return err
	}
	return r.rdb.ConfigSet(ctx, "notify-keyspace-events", "").Err()
}

// Version as in INFO; of a Valkey, with its name.
func (r *Redis) Version(ctx context.Context) (string, error) {
	now, err := r.raw.Read(ctx)
	return strings.TrimPrefix(now.Version, "redis "), err
}

// Stop ends the server.
func (r *Redis) Stop() error {
	_ = r.rdb.Close() // nothing of it is needed any more
	return stop(r.cmd)
}
