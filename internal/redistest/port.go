package redistest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Servers listen on the ports from firstPort to lastPort, and a Cluster's bus on the
// port busOffset above. Both are below what systems give to outgoing connections: a
// port from there could be taken between two lives of a server.
const (
	firstPort = 10_000
	lastPort  = 19_999
	busOffset = 10_000
)

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// reservePort finds a port for a server. It stays reserved until the test ends, also
// while the server is down, so that no other server answers in its place.
func reservePort(tb testing.TB) (int, error) {
	tb.Helper()
	const ports = lastPort - firstPort + 1
	start := rand.IntN(ports)
	for i := range ports {
		port := firstPort + (start+i)%ports
		if held, err := reserve(port); err == nil {
			tb.Cleanup(func() { _ = held.Close() })
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d", firstPort, lastPort)
}

// reserve holds a port against the tests of all processes by its UDP side, which no
// server uses.
func reserve(port int) (io.Closer, error) {
	held, err := net.ListenPacket("udp", loopback(port))
	if err != nil {
		return nil, err
	}
	if err := free(port); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

// free returns an error when a program listens on a server's port or that of its bus.
func free(port int) error {
	for _, p := range []int{port, port + busOffset} {
		l, err := net.Listen("tcp", loopback(p))
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}
