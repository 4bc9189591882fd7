package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Link is a TCP proxy before a server. After Cut it keeps the connections open and passes nothing,
// as a network does that loses all packets.
type Link struct {
	server   string
	listener net.Listener
	cut      atomic.Bool
	running  sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
}

func startLink(tb testing.TB, server string) *Link {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Link{server: server, listener: listener}
	l.running.Go(l.accept)
	tb.Cleanup(l.stop)
	return l
}

// Cut makes the link lose everything from now on.
func (l *Link) Cut() { l.cut.Store(true) }

func (l *Link) stop() {
	_ = l.listener.Close()
	l.mu.Lock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.running.Wait()
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		l.open = append(l.open, client, server)
		l.mu.Unlock()
		l.running.Go(func() { l.pass(client, server) })
		l.running.Go(func() { l.pass(server, client) })
	}
}

// pass passes what it reads, or, after a cut, drops it.
func (l *Link) pass(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if l.cut.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
