package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is a redis-server without persistence on a unix socket.
type Redis struct {
	Socket string
	cmd    *exec.Cmd
	rdb    *redis.Client
}

// StartRedis starts the program DUEQ_REDIS_SERVER names, or redis-server.
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
	if err := await(ctx, func() error { return r.rdb.Ping(ctx).Err() }); err != nil {
		return nil, fmt.Errorf("start %s, log in %s: %w", program, dir, err)
	}
	return r, nil
}

// CPU is user and system time as Redis reports it.
func (r *Redis) CPU(ctx context.Context) (time.Duration, error) {
	user, err := r.info(ctx, "cpu", "used_cpu_user")
	if err != nil {
		return 0, err
	}
	sys, err := r.info(ctx, "cpu", "used_cpu_sys")
	return time.Duration((user + sys) * float64(time.Second)), err
}

// Memory is used_memory: what Redis has allocated.
func (r *Redis) Memory(ctx context.Context) (int64, error) {
	n, err := r.info(ctx, "memory", "used_memory")
	return int64(n), err
}

// Reset empties the server and undoes what a queue may have configured.
func (r *Redis) Reset(ctx context.Context) error {
	if err := r.rdb.FlushAll(ctx).Err(); err != nil {
		return err
	}
	if err := r.rdb.ScriptFlush(ctx).Err(); err != nil {
		return err
	}
	return r.rdb.ConfigSet(ctx, "notify-keyspace-events", "").Err()
}

// Version as in INFO.
func (r *Redis) Version(ctx context.Context) (string, error) {
	return r.field(ctx, "server", "redis_version")
}

// Stop ends the server.
func (r *Redis) Stop() error {
	_ = r.rdb.Close() // nothing of it is needed any more
	return stop(r.cmd)
}

func (r *Redis) info(ctx context.Context, section, name string) (float64, error) {
	text, err := r.field(ctx, section, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

func (r *Redis) field(ctx context.Context, section, name string) (string, error) {
	text, err := r.rdb.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("INFO %s has no %s", section, name)
}
