// Package redisurl reads the URLs of Redis servers, Clusters and Sentinels, and makes clients of them.
package redisurl

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// URL is a Redis URL taken apart. It is not left to net/url as a whole, which
// knows no lists of hosts.
type URL struct {
	scheme string
	user   *url.Userinfo
	hosts  []string
	path   string
	query  url.Values
	secure bool                         // Dial has been called and its client uses TLS
	dialed func(addr string, err error) // nil: nobody wants to know
}

// Parse returns an ErrInvalid for what it cannot read. The error never holds a part of the URL
// behind the scheme: that could be a password with a character in it that should have been escaped.
func Parse(text string) (*URL, error) {
	scheme, _, _ := strings.Cut(text, ":")
	if !Known(text) {
		return nil, store.Invalid("url", "%.20q is none of redis, rediss, unix, redis+sentinel, redis+cluster", scheme)
	}
	_, rest, ok := strings.Cut(text, "://")
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
	a := &URL{scheme: scheme, user: u.User, hosts: []string{first}, path: u.Path, query: values}
	if more != "" {
		a.hosts = append(a.hosts, strings.Split(more, ",")...)
	}
	return a, nil
}

// Pop removes a parameter of the query. Parameters that are left are those of go-redis.
func (a *URL) Pop(name string) (string, bool) {
	v, ok := a.query.Get(name), a.query.Has(name)
	a.query.Del(name)
	return v, ok
}

// Set sets a parameter of the query.
func (a *URL) Set(name, value string) { a.query.Set(name, value) }

// Hosts returns the number of addresses in the URL.
func (a *URL) Hosts() int { return len(a.hosts) }

// Watch makes the client call dialed with the result of each connection that it tries to make.
func (a *URL) Watch(dialed func(addr string, err error)) { a.dialed = dialed }

// dialer returns what go-redis dials with by default, watched.
func (a *URL) dialer(timeout time.Duration, secure *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	const usual = 5 * time.Second // the default of go-redis
	a.secure = secure != nil
	dial := redis.NewDialer(&redis.Options{DialTimeout: cmp.Or(timeout, usual), TLSConfig: secure})
	if a.dialed == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		a.dialed(addr, err)
		return conn, err
	}
}

// Dial returns a client. It makes no call. It returns an ErrInvalid, with any password left out.
func (a *URL) Dial() (redis.UniversalClient, error) {
	f, err := a.popFiles()
	if err != nil {
		return nil, store.Invalid("url", "%w", err)
	}
	rdb, err := dialers[a.scheme](a, f)
	if err != nil {
		return nil, store.Invalid("url", "%s", a.redact(err))
	}
	return rdb, nil
}

// port returns the port of an address that has none.
func (a *URL) port() string {
	if a.scheme == "redis+sentinel" {
		return "26379"
	}
	return "6379"
}

// goRedis returns the URL as go-redis reads it; further hosts go into the query.
func (a *URL) goRedis(scheme, path string) string {
	query, port := a.query, a.port()
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
func (a *URL) redact(err error) string {
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

// Known reports whether the scheme of a URL is one of Redis.
func Known(text string) bool {
	scheme, _, _ := strings.Cut(text, ":")
	return dialers[scheme] != nil
}

type dialer func(*URL, files) (redis.UniversalClient, error)

var dialers = map[string]dialer{
	"redis": dialOne, "rediss": dialOne, "unix": dialOne,
	"redis+sentinel": dialSentinel, "redis+cluster": dialCluster,
}

// The options set below: a call never outlives its ctx, and no CLIENT SETINFO is sent,
// which Redis before 7.2 answers with an error.

func dialOne(a *URL, f files) (redis.UniversalClient, error) {
	if len(a.hosts) > 1 {
		return nil, errors.New("several hosts, want one, or the scheme redis+sentinel or redis+cluster")
	}
	o, err := redis.ParseURL(a.goRedis(a.scheme, a.path))
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	if err := f.configure(o.TLSConfig); err != nil {
		return nil, err
	}
	o.Dialer = a.dialer(o.DialTimeout, o.TLSConfig)
	return redis.NewClient(o), nil
}

func dialSentinel(a *URL, f files) (redis.UniversalClient, error) {
	master, db, _ := strings.Cut(strings.Trim(a.path, "/"), "/")
	if master == "" {
		return nil, errors.New("want the name of the master: redis+sentinel://host1,host2/master")
	}
	username, _ := a.Pop("sentinel_username")
	password, _ := a.Pop("sentinel_password")
	user := a.user
	a.user = nil // of the Redis servers; go-redis would take it for that of the Sentinels
	o, err := redis.ParseFailoverURL(a.goRedis(a.popScheme(), "/"+db))
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
	if err := f.configure(o.TLSConfig); err != nil {
		return nil, err
	}
	o.Dialer = a.dialer(o.DialTimeout, o.TLSConfig)
	return redis.NewFailoverClient(o), nil
}

func dialCluster(a *URL, f files) (redis.UniversalClient, error) {
	if strings.Trim(a.path, "/") != "" {
		return nil, errors.New("a Cluster has no database numbers, want nothing after the hosts")
	}
	o, err := redis.ParseClusterURL(a.goRedis(a.popScheme(), ""))
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	if err := f.configure(o.TLSConfig); err != nil {
		return nil, err
	}
	o.Dialer = a.dialer(o.DialTimeout, o.TLSConfig)
	o.DisableRoutingPolicies = true // else COMMAND is asked of any node, and one that hangs delays all calls
	return redis.NewClusterClient(o), nil
}

// popScheme returns the scheme by which go-redis decides whether to use TLS.
func (a *URL) popScheme() string {
	if v, _ := a.Pop("tls"); v == "true" {
		return "rediss"
	}
	return "redis"
}
