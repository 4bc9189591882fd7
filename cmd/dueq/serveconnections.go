package main

import (
	"container/list"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections bounds the connections of a server, so that descriptors are left for the files of its
// store. One connection more closes the one that has been idle for longest; if none is idle, it is
// closed itself. Connections that have sent half a request are none of the idle ones, and end soon.
type connections struct {
	most int
	log  *slog.Logger

	mu     sync.Mutex
	open   map[net.Conn]*list.Element // of idle; nil: it is not idle
	idle   list.List                  // of net.Conn, the one that has been idle for longest first
	warned time.Time
}

// warnEvery is how often is logged that there are too many connections.
const warnEvery = time.Minute

func newConnections(most int, log *slog.Logger) *connections {
	return &connections{most: most, log: log, open: map[net.Conn]*list.Element{}}
}

// changed is the server's hook for changes of a connection.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if unwanted := c.note(conn, state); unwanted != nil {
		_ = unwanted.Close() // its caller makes another one
	}
}

// note notes a change, and returns the connection that must be closed, nil if none.
func (c *connections) note(conn net.Conn, state http.ConnState) (unwanted net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.open[conn]
	if !known && state != http.StateNew {
		return nil // it is being closed
	}
	if at != nil {
		c.idle.Remove(at)
	}
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	case http.StateIdle:
		c.open[conn] = c.idle.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	case http.StateNew:
		c.open[conn] = nil
		if len(c.open) > c.most {
			return c.drop(conn)
		}
	}
	return nil
}

// drop removes the connection that has been idle for longest, or else the newest, and returns it.
func (c *connections) drop(newest net.Conn) net.Conn {
	if now := time.Now(); now.Sub(c.warned) >= warnEvery {
		c.warned = now
		c.log.Warn("too many connections; closed the one that was idle for longest, or a new one if none is idle", slog.Int("limit", c.most))
	}
	conn := newest
	if oldest := c.idle.Front(); oldest != nil {
		conn, _ = c.idle.Remove(oldest).(net.Conn)
	}
	delete(c.open, conn)
	if encrypted, ok := conn.(*tls.Conn); ok {
		return encrypted.NetConn() // to close the other one can take seconds: it sends an alert
	}
	return conn
}
