package redisstore

import (
	"cmp"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// Open returns a store on the Redis that a URL names; Close closes its connections. It makes
// no call. Prefix, replicas, replica_timeout and send_timeout of the URL's query win over c.
// The first Open of a process sends the lines of go-redis to c.Logger.
//
// Errors: ErrInvalid, for the URL, with any password left out, and for the config.
func Open(text string, c Config) (*Store, error) {
	scheme, _, _ := strings.Cut(text, ":")
	dial, ok := dialers[scheme]
	if !ok {
		return nil, store.Invalid("url", "%.20q is none of redis, rediss, unix, redis+sentinel, redis+cluster", scheme)
	}
	address, err := parseAddress(text)
	if err != nil {
		return nil, err
	}
	if c, err = address.take(c); err != nil {
		return nil, err
	}
	logGoRedis(cmp.Or(c.Logger, slog.Default()))
	rdb, err := dial(address)
	if err != nil {
		return nil, store.Invalid("url", "%s", address.redact(err))
	}
	s, err := New(rdb, c)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	s.owned = true
	return s, nil
}

// address is a Redis URL taken apart. It is not left to net/url as a whole, which
// knows no lists of hosts.
type address struct {
	scheme string
	user   *url.Userinfo
	hosts  []string
	path   string
	query  url.Values
}

// parseAddress never returns an error that holds a part of the URL: that could be a
// password with a character in it that should have been escaped.
func parseAddress(text string) (*address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return nil, store.Invalid("url", "want // after the scheme, as in redis://localhost:6379")
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	userinfo, hosts := "", authority
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		userinfo, hosts = authority[:i+1], authority[i+1:]
	}
	first, more, _ := strings.Cut(hosts, ",")
	u, err := url.Parse("redis://" + userinfo + first + "/" + path + "?" + query)
	if err != nil {
		return nil, store.Invalid("url", "cannot be read: escape special characters of the password with %%XX")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, store.Invalid("url", "the query cannot be read")
	}
	a := &address{scheme: scheme, user: u.User, hosts: []string{first}, path: u.Path, query: values}
	if more != "" {
		a.hosts = append(a.hosts, strings.Split(more, ",")...)
	}
	return a, nil
}

// pop removes a parameter of the query.
func (a *address) pop(name string) (string, bool) {
	v, ok := a.query.Get(name), a.query.Has(name)
	a.query.Del(name)
	return v, ok
}

// goRedis returns the URL as go-redis reads it; further hosts go into the query.
func (a *address) goRedis(scheme, path, port string) string {
	query := a.query
	for _, host := range a.hosts[1:] {
		query.Add("addr", withPort(host, port))
	}
	u := url.URL{Scheme: scheme, User: a.user, Host: a.hosts[0], Path: path, RawQuery: query.Encode()}
	if u.Host != "" {
		u.Host = withPort(u.Host, port)
	}
	return u.String()
}

func withPort(host, port string) string {
	if u, err := url.Parse("redis://" + host); err == nil && u.Port() == "" {
		return host + ":" + port
	}
	return host
}

// redact returns the text of err, unless that could be or contain the password.
func (a *address) redact(err error) string {
	text := err.Error()
	if inner, ok := errors.AsType[*url.Error](err); ok {
		text = inner.Err.Error()
	}
	secret, _ := a.user.Password()
	for _, s := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return strings.TrimPrefix(text, "redis: ")
}

type dialer func(*address) (redis.UniversalClient, error)

var dialers = map[string]dialer{
	"redis": dialOne, "rediss": dialOne, "unix": dialOne,
	"redis+sentinel": dialSentinel, "redis+cluster": dialCluster,
}

// The options set below: a call never outlives its ctx, and no CLIENT SETINFO is sent,
// which Redis before 7.2 answers with an error.

func dialOne(a *address) (redis.UniversalClient, error) {
	if len(a.hosts) > 1 {
		return nil, errors.New("several hosts, want one, or the scheme redis+sentinel or redis+cluster")
	}
	o, err := redis.ParseURL(a.goRedis(a.scheme, a.path, "6379"))
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	return redis.NewClient(o), nil
}

func dialSentinel(a *address) (redis.UniversalClient, error) {
	master, db, _ := strings.Cut(strings.Trim(a.path, "/"), "/")
	if master == "" {
		return nil, errors.New("want the name of the master: redis+sentinel://host1,host2/master")
	}
	username, _ := a.pop("sentinel_username")
	password, _ := a.pop("sentinel_password")
	user := a.user
	a.user = nil // of the Redis servers; go-redis would take it for that of the Sentinels
	o, err := redis.ParseFailoverURL(a.goRedis(a.popScheme(), "/"+db, "26379"))
	a.user = user
	if err != nil {
		return nil, err
	}
	o.MasterName, o.SentinelUsername, o.SentinelPassword = master, username, password
	if user != nil {
		o.Username = user.Username()
		o.Password, _ = user.Password()
	}
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	return redis.NewFailoverClient(o), nil
}

func dialCluster(a *address) (redis.UniversalClient, error) {
	if strings.Trim(a.path, "/") != "" {
		return nil, errors.New("a Cluster has no database numbers, want nothing after the hosts")
	}
	o, err := redis.ParseClusterURL(a.goRedis(a.popScheme(), "", "6379"))
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.DisableRoutingPolicies = true // else COMMAND is asked of any node, and one that hangs delays all calls
	return redis.NewClusterClient(o), nil
}

// popScheme returns the scheme by which go-redis decides whether to use TLS.
func (a *address) popScheme() string {
	if v, _ := a.pop("tls"); v == "true" {
		return "rediss"
	}
	return "redis"
}

// take moves the store's own settings from the query into c.
func (a *address) take(c Config) (Config, error) {
	var err error
	if v, ok := a.pop("prefix"); ok {
		c.Prefix = v
	}
	if v, ok := a.pop("replicas"); ok {
		if c.Replicas, err = strconv.Atoi(v); err != nil || c.Replicas < 0 {
			return c, store.Invalid("replicas", "%.20q is not a count", v)
		}
	}
	if v, ok := a.pop("replica_timeout"); ok {
		if c.ReplicaTimeout, err = time.ParseDuration(v); err != nil || c.ReplicaTimeout < 0 {
			return c, store.Invalid("replica timeout", "%.20q is not a span such as 500ms", v)
		}
	}
	if v, ok := a.pop("send_timeout"); ok {
		if c.PushTimeout, err = time.ParseDuration(v); err != nil || c.PushTimeout <= 0 {
			return c, store.Invalid("send timeout", "%.20q is not a span such as 2s", v)
		}
	}
	return c, nil
}
