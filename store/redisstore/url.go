package redisstore

import (
	"cmp"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/internal/redisurl"
	"github.com/dueq-dev/dueq/store"
)

// Open returns a store on the Redis that a URL names; Close closes its connections. It makes
// no call. Prefix, replicas, replica_timeout and send_timeout of the URL's query win over c.
// The first Open of a process sends the lines of go-redis to c.Logger.
//
// Errors: ErrInvalid, for the URL, with any password left out, and for the config.
func Open(text string, c Config) (*Store, error) {
	u, err := redisurl.Parse(text)
	if err != nil {
		return nil, err
	}
	if c, err = c.with(u); err != nil {
		return nil, err
	}
	logGoRedis(cmp.Or(c.Logger, slog.Default()))
	dials := newDials(u)
	u.Watch(dials.done)
	rdb, err := u.Dial()
	if err != nil {
		return nil, err
	}
	s, err := New(rdb, c)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	s.owned, s.dials = true, dials
	if strings.HasPrefix(text, "redis+sentinel:") {
		s.kind = store.KindSentinel
	}
	return s, nil
}

// with returns the config with the settings of dueq that a URL has, and removes them from the URL.
func (c Config) with(u *redisurl.URL) (Config, error) {
	var err error
	if v, ok := u.Pop("prefix"); ok {
		c.Prefix = v
	}
	if v, ok := u.Pop("replicas"); ok {
		if c.Replicas, err = strconv.Atoi(v); err != nil || c.Replicas < 0 {
			return c, store.Unfit("replicas", v, " is not a count")
		}
	}
	if v, ok := u.Pop("replica_timeout"); ok {
		if c.ReplicaTimeout, err = time.ParseDuration(v); err != nil || c.ReplicaTimeout < 0 {
			return c, store.Unfit("replica timeout", v, " is not a span such as 500ms")
		}
	}
	if v, ok := u.Pop("send_timeout"); ok {
		if c.PushTimeout, err = time.ParseDuration(v); err != nil || c.PushTimeout <= 0 {
			return c, store.Unfit("send timeout", v, " is not a span such as 2s")
		}
	}
	return c, nil
}
