package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// inspection is what is known of one server.
type inspection struct {
	done   atomic.Bool
	asking chan struct{} // holds a token while the server is being asked
}

// inspect looks at the server of a key once, before the first call to it: one that is too
// old is refused, and settings under which messages can get lost are warned of. While that
// server does not answer it is asked again. Calls to other servers do not wait for it.
func (s *Store) inspect(ctx context.Context, op, queue, key string) error {
	if at, err := s.serverOf(ctx, key); err == nil && at.done.Load() {
		return nil
	}
	_, err := s.repeat(ctx, op, queue, func(int) (any, error) {
		server, err := s.master(ctx, key)
		if err != nil {
			return nil, err
		}
		return nil, s.inspectOnce(ctx, server)
	})
	return err
}

// serverOf returns what is known of the server that has a key.
func (s *Store) serverOf(ctx context.Context, key string) (*inspection, error) {
	server, err := s.master(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.inspection(server), nil
}

func (s *Store) inspection(server redis.UniversalClient) *inspection {
	address := ""
	if node, ok := server.(*redis.Client); ok && node != s.rdb {
		address = node.Options().Addr
	}
	at, ok := s.servers.Load(address)
	if !ok {
		at, _ = s.servers.LoadOrStore(address, &inspection{asking: make(chan struct{}, 1)})
	}
	return at.(*inspection)
}

func (s *Store) inspectOnce(ctx context.Context, server redis.UniversalClient) error {
	at := s.inspection(server)
	select {
	case at.asking <- struct{}{}:
		defer func() { <-at.asking }()
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return store.ErrClosed
	}
	if at.done.Load() {
		return nil
	}
	if err := s.inspectServer(ctx, server); err != nil {
		return err
	}
	at.done.Store(true)
	return nil
}

func (s *Store) reach(ctx context.Context) error {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		return s.start(ctx, "open", "", s.queuesKey())
	}
	if err := s.ready(ctx, "open", ""); err != nil {
		return err
	}
	_, err := s.repeat(ctx, "open", "", func(int) (any, error) {
		return nil, hedge(ctx, func(ctx context.Context) error { return s.reachMaster(ctx, cluster) })
	})
	return err
}

// hedge calls try, and once more each time that a while has passed without an answer. It
// returns the first success, or an error when all have failed. go-redis asks the nodes of
// a Cluster one after the other, in random order, for the map of it: one that hangs must
// not keep the others from being asked.
func hedge(ctx context.Context, try func(context.Context) error) error {
	const after, most = 250 * time.Millisecond, 16
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error, most)
	started, failed := 0, 0
	begin := func() {
		started++
		go func() { answers <- try(ctx) }()
	}
	begin()
	late := time.NewTicker(after)
	defer late.Stop()
	for {
		select {
		case err := <-answers:
			if failed++; err == nil || failed == started || errors.Is(err, errTooOld) {
				return err
			}
		case <-late.C:
			if started < most {
				begin()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reachMaster returns nil when any of the masters answers.
func (s *Store) reachMaster(ctx context.Context, cluster *redis.ClusterClient) error {
	var mu sync.Mutex
	var masters []*redis.Client
	if err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, node)
		return nil
	}); err != nil {
		return err
	}
	answers := make(chan error, len(masters))
	for _, node := range masters {
		go func() { answers <- s.inspectOnce(ctx, node) }()
	}
	err := errNoMaster
	for range masters {
		if err = <-answers; err == nil || errors.Is(err, errTooOld) {
			return err
		}
	}
	return err
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
	if oldest := oldestVersion(s.sharded); before(fields["redis_version"], oldest) {
		return fmt.Errorf("redis %s is %w, want %d.%d or newer", fields["redis_version"], errTooOld, oldest.major, oldest.minor)
	}
	s.warn(ctx, fields)
	return nil
}

// warn logs what the settings of a server mean for the messages on it.
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

// version of a server.
type version struct{ major, minor int }

// oldestVersion returns the oldest that has the commands that dueq uses: channels are in slots of a
// Cluster since 7.0.
func oldestVersion(sharded bool) version {
	if sharded {
		return version{7, 0}
	}
	return version{6, 2}
}

// before reports whether a version is below another. One that cannot be read is not: forks number
// theirs as they like.
func before(text string, other version) bool {
	first, rest, _ := strings.Cut(text, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	return err == nil && err2 == nil && (major < other.major || major == other.major && minor < other.minor)
}

// Now implements store.Store: the clock of the server that has the partition.
func (s *Store) Now(ctx context.Context, p store.Partition) (int64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	got, err := s.run(ctx, call{op: "now", queue: p.Queue, script: s.scripts["now"], keys: s.partitionKeys(p, 1)})
	if err != nil {
		return 0, err
	}
	now, ok := got.(int64)
	if !ok {
		return 0, fail("now", p.Queue, unexpected(got))
	}
	return now, nil
}
