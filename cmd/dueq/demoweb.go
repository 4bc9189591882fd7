package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// webLength is how long the replay takes with the dashboard: long enough to look around.
const webLength = 2 * time.Minute

// demoWeb serves the dashboard on a free port of this machine while run runs, which begins when a
// browser shows the page. It is read-only: a flight that was cancelled by hand would count as lost.
func (a *app) demoWeb(ctx context.Context, client *dueq.Client, say io.Writer, run func(context.Context) error) error {
	log := slog.New(slog.DiscardHandler)
	handler, err := dueqhttp.UI(client, &dueqhttp.Options{ReadOnly: true, Stopping: ctx, Logger: log}) //nolint:contextcheck // each request has its own
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	shown := make(chan struct{})
	server := newServer(log)
	server.Handler = whenFollowed(handler, sync.OnceFunc(func() { close(shown) }))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	_, err = fmt.Fprintf(say, "Open http://%s in a browser: the flights begin then, and take %.0f minutes.\n\n", listener.Addr(), webLength.Minutes())
	if err == nil {
		select {
		case <-shown:
			err = run(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return errors.Join(err, server.Close(), ignoreClosed(<-served))
}

// whenFollowed calls a function at each request for events, which the page makes when it is there.
func whenFollowed(next http.Handler, call func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/events" {
			call()
		}
		next.ServeHTTP(w, r)
	})
}
