// Package httpstore is a store behind an HTTP API: it implements the port by calls to a server of
// package dueqhttp, such as the command "dueq serve".
//
// Each method of the port is one POST. Calls carry the names and numbers of the port, so a call
// whose answer is lost is repeated like one to any other store, and the store behind the server
// recognizes it.
package httpstore

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/store"
)

// Config of a Store. The zero value means the documented defaults. What the URL says wins.
type Config struct {
	// Token is presented to the server. It needs the scope admin, for all queues.
	Token string
	// TLS is used for https. Default: the authorities of the system, and no certificate.
	TLS *tls.Config
}

// Limits of connections and answers.
const (
	dialTimeout      = 5 * time.Second
	idleTimeout      = 90 * time.Second // below that of the server, which would close them first
	mostIdle         = 100
	pingAfter        = 15 * time.Second // without a frame, with HTTP/2
	pingTimeout      = 5 * time.Second
	maxAnswerHeaders = 64 << 10
)

// Store is a store.Store behind a server. It is safe for concurrent use.
type Store struct {
	server  string // its URL, without a token
	token   string
	client  *http.Client
	known   *idle.Map[string, *known]
	closing context.Context //nolint:containedctx // ends when Close is called
	close   func()
}

var _ store.Store = (*Store)(nil)

// Open returns a store behind the server that a URL names. It makes no call.
//
//	http://[:TOKEN@]host[:port][/path]      the path is that where the handler is mounted
//	https://...                             the same over TLS
//	http+unix:///run/dueq.sock              over a Unix socket
//
// Special characters of the token are escaped with %XX. For https the query may have ca=FILE, for
// the authorities that sign the server's certificate, and cert=FILE and key=FILE, for that of the
// client, all in PEM.
//
// Errors: ErrInvalid for the URL, without the token.
func Open(text string, c Config) (*Store, error) {
	a, err := parse(text, c)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	transport := a.transport()
	s := &Store{
		server: a.server, token: a.token, closing: ctx, known: newKnown(),
		client: &http.Client{
			Transport: transport,
			// The token is for this server only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	s.close = sync.OnceFunc(func() {
		end()
		s.known.Stop()
		transport.CloseIdleConnections()
	})
	return s, nil
}

// Close ends calls and watches, and closes connections.
func (s *Store) Close() error {
	s.close()
	return nil
}

// transport returns what makes connections to the server.
func (a *address) transport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	t := &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: a.tls, TLSHandshakeTimeout: dialTimeout,
		Proxy: http.ProxyFromEnvironment, MaxIdleConns: mostIdle, MaxIdleConnsPerHost: mostIdle, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: maxAnswerHeaders, DisableCompression: true, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	if a.socket != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", a.socket)
		}
	}
	return t
}
