package dueqhttp

import (
	"context"
	"net"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/socket"
)

// ListenSocket returns a listener on a Unix socket, http.sock, in the directory of a client that was
// opened with file:DIR. While a process has the directory open, the commands of dueq find its
// server by this socket:
//
//	listener, err := dueqhttp.ListenSocket(ctx, client)
//	...
//	go server.Serve(listener) // with a Handler
//
// The socket has the mode 0600: only the user of the process, and root, can connect to it, so its
// handler needs no tokens. One that a killed process has left behind is replaced. Closing the
// listener, or the server, removes the socket. Errors: [dueq.ErrInvalid] if client has no
// directory, or the path has more than about 100 bytes; those of the file system.
func ListenSocket(ctx context.Context, client *dueq.Client) (net.Listener, error) {
	if client == nil {
		return nil, invalid("client", "is nil")
	}
	s, ok := client.Store().(interface{ Dir() string })
	if !ok || s.Dir() == "" {
		return nil, invalid("client", "has no directory: only a store that was opened with file:DIR has one")
	}
	return socket.Listen(ctx, s.Dir())
}
