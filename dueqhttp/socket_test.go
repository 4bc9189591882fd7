package dueqhttp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// A store in a directory is used through the socket of the process that has it open, with the mode
// of a file for its owner only; a socket that was left behind is replaced, and does not keep the
// directory from being opened.
func TestListenSocket_OfADirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "http.sock")
	for range 2 {
		client, err := dueq.Open(t.Context(), "file:"+dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		listener, err := dueqhttp.ListenSocket(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != os.ModeSocket|0o600 {
			t.Fatalf("the socket: %v, %v", info, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		sendThrough(t, client, listener, path)
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is there after the server was closed: %v", err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		leaveSocket(t, path)
	}
}

// sendThrough serves a client on a listener while another sends a message through it.
func sendThrough(t *testing.T, client *dueq.Client, listener net.Listener, path string) {
	t.Helper()
	handler, err := dueqhttp.Handler(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	other, err := dueq.Open(t.Context(), "http+unix://"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Queue("orders").Send(t.Context(), dueq.Message{}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(other.Close(), server.Close()); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// leaveSocket makes a socket as a killed process leaves it: nobody listens on it.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenSocket_WithoutADirectory(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for _, client := range []*dueq.Client{nil, r.client} {
		if _, err := dueqhttp.ListenSocket(t.Context(), client); !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("error %v", err)
		}
	}
}
