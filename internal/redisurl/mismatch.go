package redisurl

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// mismatchTimeout is how long Mismatch may take.
const mismatchTimeout = 500 * time.Millisecond

// Mismatch says what to change in a URL whose first address serves only connections with TLS while
// the URL wants none, or the other way round; "" if it does not. It can be used after Dial. It sends
// no user and no password.
func (a *URL) Mismatch(ctx context.Context) string {
	if a.scheme == "unix" || a.hosts[0] == "" {
		return ""
	}
	ctx, end := context.WithTimeout(ctx, mismatchTimeout)
	defer end()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", withPort(a.hosts[0], a.port()))
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return ""
	}
	byScheme := a.scheme == "redis" || a.scheme == "rediss" // the others have the option tls
	switch {
	case a.secure && !servesPlain(conn), !a.secure && !servesTLS(ctx, conn):
		return ""
	case a.secure && byScheme:
		return "the server has no TLS at this port: use redis:// instead of rediss://"
	case a.secure:
		return "the server has no TLS at this port: leave out tls=true"
	case byScheme:
		return "the server wants TLS at this port: use rediss:// instead of redis://"
	}
	return "the server wants TLS at this port: add tls=true"
}

// servesPlain reports whether a Redis answers to a command that is not encrypted.
func servesPlain(conn net.Conn) bool {
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	kind := make([]byte, 1)
	_, err := conn.Read(kind)
	return err == nil && (kind[0] == '+' || kind[0] == '-') // it may want a password first
}

// servesTLS reports whether the server agrees on TLS. Its certificate is not checked: no command is
// sent to it.
func servesTLS(ctx context.Context, conn net.Conn) bool {
	secured := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the connection is closed without being used
	return secured.HandshakeContext(ctx) == nil
}
