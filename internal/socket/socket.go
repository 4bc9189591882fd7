// Package socket has the Unix socket in the directory of a store, by which commands reach the
// server of a store that another process has open.
package socket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

const (
	name = "http.sock"
	// private is a directory for the time in which a socket has no mode yet.
	private = ".http"
	mode    = 0o600
	dirMode = 0o700
	// maxPath is the length that the path of a socket can have on all systems, in bytes.
	maxPath = 103
	// dialTimeout is how long a server may take to accept a connection.
	dialTimeout = time.Second
)

// Listen listens on the socket in a directory that this process has locked. Only its user can
// connect to it. A socket that a process has left behind is replaced. Close removes the socket.
// Errors: ErrInvalid for a path that is too long; those of the file system.
func Listen(ctx context.Context, dir string) (net.Listener, error) {
	made := filepath.Join(dir, private)
	if err := cmp.Or(os.RemoveAll(made), os.Mkdir(made, dirMode)); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(made) }()
	at := short(filepath.Join(made, "s"))
	if len(at) > maxPath {
		return nil, store.Invalid("directory", "the path of a socket in it has %d bytes, the limit is %d: start the process in a directory near to %s", len(at), maxPath, dir)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", at)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it gets another name
	found := &listener{Listener: l, path: filepath.Join(dir, name)}
	if err := cmp.Or(os.Chmod(at, mode), os.Rename(at, found.path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return found, nil
}

// listener removes its socket when it is closed.
type listener struct {
	net.Listener
	path string
}

func (l *listener) Close() error {
	err := l.Listener.Close()
	if err == nil { // the first time
		err = os.Remove(l.path)
	}
	return err
}

// URL returns the URL of the server that listens on the socket in the directory of a file: URL;
// "" if there is none.
func URL(ctx context.Context, storeURL string) string {
	dir, _, err := embedded.ParseURL(storeURL, embedded.Config{})
	if err != nil {
		return ""
	}
	path := short(filepath.Join(dir, name))
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", path)
	if err != nil {
		return ""
	}
	_ = conn.Close() // it was only to see that a process listens
	return fmt.Sprintf("http+unix:%s", path)
}

// short returns the shorter one of the absolute path and that from the working directory.
func short(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	from, err := os.Getwd()
	if err != nil {
		return absolute
	}
	relative, err := filepath.Rel(from, absolute)
	if err != nil || len(relative) > len(absolute) {
		return absolute
	}
	return relative
}
