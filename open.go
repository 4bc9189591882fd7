package dueq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store/embedded"
	"github.com/dueq-dev/dueq/store/httpstore"
	"github.com/dueq-dev/dueq/store/redisstore"
)

// Open connects to the store that a URL names and checks that it answers; of a Cluster,
// that one of its masters does:
//
//	file:./data or file:///var/lib/dueq      in a directory that this process has for itself; it is made if missing
//	mem:                                     in the memory of this process, for tests and demos
//	redis://[user:password@]host:6379/0      Redis 6.2 or newer, or Valkey
//	rediss://...                             the same over TLS
//	unix:///run/redis.sock?db=0              the same over a Unix socket
//	redis+sentinel://host1,host2:26379/master/0
//	redis+cluster://host1:6379,host2:6379
//	https://[:TOKEN@]host:7373/path           the store of a server, see package dueqhttp; http:// without TLS
//	http+unix:///var/lib/dueq/http.sock       the same over a Unix socket
//
// The query may set prefix, replicas, replica_timeout and send_timeout (these win over o), and
// the options of go-redis, such as pool_size, read_timeout or client_name; for Sentinels also
// sentinel_username, sentinel_password and tls=true, for a Cluster tls=true. password_file names a
// file with the password of a Redis. With TLS, ca names a file of authorities to trust instead of
// those of the system, and cert and key the files of a certificate to present. For a directory,
// sync sets when changes are synced to disk: always (the default) before a call returns; 100ms or
// another span at that interval; never leaves it to the operating system. repair=true opens a
// damaged directory and logs what was lost. create=false makes no store in a directory that has
// none: [ErrNotFound]. For a server with TLS, ca, cert and key are as for Redis. With o nil all options have their
// defaults.
//
// go-redis has one logger for the whole process, which writes to stderr. The first Open of a
// Redis replaces it, so that its lines go to Options.Logger of that client. To use another
// logger, call redis.SetLogger after the first Open. [NewRedis] does not change it.
//
// Errors: [ErrInvalid] for the URL, with any password left out, and for o; [ErrUnavailable] when
// the store does not answer within 4 s, or before ctx ends, or another process uses the
// directory; [ErrNotFound] for a directory without a store with create=false; [ErrCorrupt] when the directory has damaged data.
func Open(ctx context.Context, url string, o *Options) (*Client, error) {
	c, err := o.complete()
	if err != nil {
		return nil, fail("open", "", "", err)
	}
	client, err := open(ctx, url, c)
	if err != nil {
		return nil, fail("open", "", "", err)
	}
	if err := client.reach(ctx); err != nil {
		err = fail("open", "", "", err)
		if closing := client.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
		return nil, err
	}
	return client, nil
}

// NewMemory returns a client of a store in memory that lives as long as the client. It needs no
// server and no clean-up, works inside testing/synctest, and gives all guarantees except
// durability. In o (nil: defaults), Prefix, Replicas, ReplicaTimeout and SendTimeout are ignored.
// Errors: [ErrInvalid] for o.
func NewMemory(o *Options) (*Client, error) {
	c, err := o.complete()
	if err != nil {
		return nil, fail("open", "", "", err)
	}
	return newMemory(c), nil
}

func newMemory(c Options) *Client {
	s := embedded.NewMemory(embedded.Config{})
	return newClient(s, c, s.Close)
}

// NewRedis returns a client that uses rdb. The caller owns rdb and closes it after the client.
// NewRedis makes no call. Errors: [ErrInvalid] for o (nil: defaults), or if rdb is nil.
func NewRedis(rdb redis.UniversalClient, o *Options) (*Client, error) {
	c, err := o.complete()
	if err != nil {
		return nil, fail("open", "", "", err)
	}
	if rdb == nil {
		return nil, fail("open", "", "", invalid("redis client", "is nil"))
	}
	s, err := redisstore.New(rdb, redisConfig(c))
	if err != nil {
		return nil, fail("open", "", "", err)
	}
	return newClient(s, c, s.Close), nil
}

func redisConfig(c Options) redisstore.Config {
	return redisstore.Config{
		Prefix: c.Prefix, Replicas: c.Replicas, ReplicaTimeout: c.ReplicaTimeout, PushTimeout: c.SendTimeout,
		Logger: c.Logger,
	}
}

func open(ctx context.Context, text string, c Options) (*Client, error) {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok {
		return nil, invalid("url", "has no scheme, want one like redis://localhost:6379 or mem:")
	}
	switch scheme {
	case "mem":
		if rest != "" {
			return nil, invalid("url", `nothing may follow "mem:"`)
		}
		return newMemory(c), nil //nolint:contextcheck // for what Close does, which has none
	case "file":
		return openFile(ctx, text, c)
	case "redis", "rediss", "unix", "redis+sentinel", "redis+cluster":
		return openRedis(text, c) //nolint:contextcheck // for what Close does, which has none
	case "http", "https", "http+unix":
		return openRemote(text, c) //nolint:contextcheck // for what Close does, which has none
	}
	return nil, invalid("url", "%.20q is none of file, mem, redis, rediss, unix, redis+sentinel, redis+cluster, http, https, http+unix", scheme)
}

func openRemote(text string, c Options) (*Client, error) {
	s, err := httpstore.Open(text, httpstore.Config{})
	if err != nil {
		return nil, err
	}
	return newClient(s, c, s.Close), nil
}

func openFile(ctx context.Context, text string, c Options) (*Client, error) {
	dir, config, err := embedded.ParseURL(text, embedded.Config{Logger: c.Logger})
	if err != nil {
		return nil, err
	}
	s, err := embedded.Open(ctx, dir, config)
	if err != nil {
		return nil, err
	}
	return newClient(s, c, s.Close), nil //nolint:contextcheck // for what Close does, which has none
}

func openRedis(text string, c Options) (*Client, error) {
	s, err := redisstore.Open(text, redisConfig(c))
	if err != nil {
		return nil, err
	}
	return newClient(s, c, s.Close), nil
}

// openTimeout is how long Open tries to reach a store. It is short, so that a program with a
// wrong address reports that soon.
const openTimeout = 4 * time.Second

// reach waits until the store answers, if it is a remote one.
func (c *Client) reach(ctx context.Context) error {
	remote, ok := bare(c.store).(interface {
		Reach(ctx context.Context) error
	})
	if !ok || ctx.Err() != nil {
		return ctx.Err()
	}
	call, end := context.WithTimeout(ctx, openTimeout)
	defer end()
	err := remote.Reach(call)
	if err != nil && ctx.Err() == nil && call.Err() != nil && !errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("no answer within %s: %w", openTimeout, ErrUnavailable)
	}
	return err
}

// Damage is a part of a directory that cannot be read.
type Damage struct {
	File   string // in the directory, or a partition whose messages and counters disagree
	Offset int    // bytes
	Bytes  int    // 0: the whole file
	Reason string
}

// Inspect lists the damaged parts of the directory of a file: URL, and changes nothing. It is for
// a store that [Open] refuses with [ErrCorrupt]: opening it with repair=true skips the listed
// parts. No process may have the directory open. Inspect takes as long as opening it.
//
// Errors: [ErrInvalid] for the URL; [ErrUnavailable] when the directory cannot be read, is in
// use, or was written by a newer version of dueq.
func Inspect(ctx context.Context, url string) ([]Damage, error) {
	damage, err := inspect(ctx, url)
	if err != nil {
		return nil, fail("inspect", "", "", err)
	}
	return damage, nil
}

func inspect(ctx context.Context, text string) ([]Damage, error) {
	dir, _, err := embedded.ParseURL(text, embedded.Config{})
	if err != nil {
		return nil, err
	}
	found, err := embedded.Inspect(ctx, dir)
	damage := make([]Damage, len(found))
	for i, f := range found {
		damage[i] = Damage(f)
	}
	return damage, err
}

// backuper is a store that can be copied while it is in use.
type backuper interface {
	Backup(ctx context.Context, dir string) error
}

// Backup makes a copy of a store that was opened with file:DIR, in a directory that must not
// exist yet, while the store is in use. The copy has every message whose send returned before
// Backup began, in the state it had then or a later one, and can be opened as file:DIR. It is
// complete and on disk when Backup returns, and gets its name only then.
//
// On the same file system the copy shares all but the newest files with the store (hard links),
// so that a backup is quick and takes little space; to survive a failure of the disk, it must be
// copied to another. Other calls continue meanwhile, but no space on the disk is freed before
// Backup returns.
//
// Errors: [ErrInvalid] when the store was not opened with file:, or the directory exists;
// [ErrUnavailable] when a file cannot be read or written; [ErrClosed]; the error of ctx.
func (c *Client) Backup(ctx context.Context, dir string) error {
	if err := c.guard(ctx); err != nil {
		return fail("backup", "", "", err)
	}
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return fail("backup", "", "", err)
	}
	defer leave()
	s, ok := bare(c.store).(backuper)
	if !ok {
		return fail("backup", "", "", fmt.Errorf("only a store of files (file:DIR) can be backed up; for Redis use its own snapshots: %w", ErrInvalid))
	}
	err = s.Backup(ctx, dir)
	if err != nil && c.open.Err() != nil {
		err = ErrClosed
	}
	return fail("backup", "", "", err)
}
